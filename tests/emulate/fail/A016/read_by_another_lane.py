import triton
import triton.language as tl


# compile: turned x_ptr=*f32 y_ptr=*f32
# buffer: x f32[16] zeros
# buffer: y f32[16] zeros
# launch: 1 x y
@triton.jit
def turned(x_ptr, y_ptr):
    at = tl.arange(0, 16)
    tl.store(x_ptr + at, at * 0.5)
    tl.store(y_ptr + at, tl.load(x_ptr + 15 - at))  #~ A016
