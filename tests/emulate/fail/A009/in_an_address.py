import triton
import triton.language as tl


# compile: split x_ptr=*f32 y_ptr=*f32 groups=i32 BLOCK=16
# buffer: x f32[16] iota
# buffer: y f32[16] empty
# launch: 1 x y 0
@triton.jit
def split(x_ptr, y_ptr, groups, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets // groups)  #~ A009
    tl.store(y_ptr + offsets, x)
