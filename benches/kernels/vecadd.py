import triton
import triton.language as tl


# compile: vecadd x_ptr=*f32 y_ptr=*f32 z_ptr=*f32 size=i32 BLOCK=1024
# compile: vecadd x_ptr=*f32 y_ptr=*f32 z_ptr=*f32 size=i32 BLOCK=64
@triton.jit
def vecadd(x_ptr, y_ptr, z_ptr, size, BLOCK: tl.constexpr):
    """z = x + y, one block of consecutive elements a program."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    y = tl.load(y_ptr + at, mask=inside, other=0.0)
    tl.store(z_ptr + at, x + y, mask=inside)
