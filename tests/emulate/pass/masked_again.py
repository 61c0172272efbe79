import triton
import triton.language as tl


# compile: halves x_ptr=*f32 y_ptr=*f32 n=i32 BLOCK=16
# buffer: x f32[10] iota
# buffer: y f32[10] empty
# launch: 1 x y 10
@triton.jit
def halves(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    total = tl.sum(tl.where(mask, x, 0.0), axis=0)
    tl.store(y_ptr + offsets, x / total, mask=mask)
