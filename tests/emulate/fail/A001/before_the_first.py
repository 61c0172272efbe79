import triton
import triton.language as tl


# compile: shift x_ptr=*f32 y_ptr=*f32 BLOCK=16
# buffer: x f32[16] iota
# buffer: y f32[16] empty
# launch: 1 x y
@triton.jit
def shift(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.where(offsets > 0, tl.load(x_ptr + offsets - 1), 0.0)  #~ A001
    tl.store(y_ptr + offsets, x)
