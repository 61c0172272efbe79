import triton
import triton.language as tl


# compile: copy x_ptr=*f32 y_ptr=*f32 n=i32 BLOCK=8
# buffer: x f32[8] iota read
# buffer: y f32[8] empty
# launch: 1 x y 8
@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, v, mask=offsets < n)
    tl.store(x_ptr + offsets, v, mask=offsets >= n)
