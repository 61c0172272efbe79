import triton
import triton.language as tl


# compile: counts y_ptr=*i32
# buffer: y i32[4] empty
# launch: 2 y
@triton.jit
def counts(y_ptr):
    tl.atomic_add(y_ptr + tl.arange(0, 4), 1)  #~ A010
