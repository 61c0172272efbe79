import triton
import triton.language as tl


# compile: logarithms x_ptr=*f32 y_ptr=*f32
# buffer: x f32[16] -1
# buffer: y f32[16] empty
# launch: 2 x y
@triton.jit
def logarithms(x_ptr, y_ptr):
    at = tl.program_id(0) * 8 + tl.arange(0, 8)
    x = tl.load(x_ptr + at)
    scaled = tl.log(x) * 0.5  #~ A022
    tl.store(y_ptr + at, scaled + 1.0)
