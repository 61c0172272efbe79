import triton
import triton.language as tl


# compile: copy x_ptr=*f32 y_ptr=*f32 BLOCK=16
# buffer: x f32[16] empty
# buffer: y f32[16] empty
# launch: 1 x y
@triton.jit
def copy(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets))  #~ A010
