import triton
import triton.language as tl


# compile: limited x_ptr=*f32 y_ptr=*f32 n=i32 BLOCK=16
# buffer: x f32[20] iota
# buffer: y f32[20] empty
# launch: 5 x y 20
@triton.jit
def limited(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    if start >= n:
        return
    offsets = start + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, x, mask=offsets < n)
