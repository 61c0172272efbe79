import triton
import triton.language as tl


# compile: shifted x_ptr=*f32
# buffer: x f32[20] zeros
# launch: 1 x
@triton.jit
def shifted(x_ptr):
    at = tl.arange(0, 16)
    tl.store(tl.multiple_of(x_ptr + 1 + at, 16), 1.0)  #~ A017
