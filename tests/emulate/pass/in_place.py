import triton
import triton.language as tl


# compile: relu x_ptr=*f32 n=i32 BLOCK=16
# buffer: x f32[40] -3
# launch: 3 x 40
@triton.jit
def relu(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, tl.where(x < 0, 0.0, x), mask=offsets < n)
