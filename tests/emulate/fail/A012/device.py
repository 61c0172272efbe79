import triton
import triton.language as tl


# compile: checked x_ptr=*f32 y_ptr=*f32 BLOCK=16
# buffer: x f32[16] iota
# buffer: y f32[16] empty
# launch: 1 x y
@triton.jit
def checked(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.device_assert(x < 12.0, "x is large")  #~ A012
    tl.store(y_ptr + offsets, x)
