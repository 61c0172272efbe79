import triton
import triton.language as tl


# compile: flag y_ptr=*f32
# buffer: y f32[1] empty
# launch: 2,2 y
@triton.jit
def flag(y_ptr):
    tl.store(y_ptr, 1.0)  #~ A007
