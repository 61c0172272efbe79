import triton
import triton.language as tl


# compile: scaled x_ptr=*f32 y_ptr=*f32
# buffer: x f32[4] inf
# buffer: y f32[4] empty
# launch: 1 x y
@triton.jit
def scaled(x_ptr, y_ptr):
    at = tl.arange(0, 4)
    tl.store(y_ptr + at, tl.load(x_ptr + at) * 2.0)  #~ A022
