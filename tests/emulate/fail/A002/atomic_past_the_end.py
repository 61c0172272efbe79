import triton
import triton.language as tl


# compile: counts y_ptr=*i32
# buffer: y i32[8] zeros
# launch: 1 y
@triton.jit
def counts(y_ptr):
    tl.atomic_add(y_ptr + tl.arange(0, 16), 1)  #~ A002
