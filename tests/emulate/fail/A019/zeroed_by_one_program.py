import triton
import triton.language as tl


# compile: counts x_ptr=*i32 y_ptr=*i32
# buffer: x i32[8] iota
# buffer: y i32[8] zeros
# launch: 2 x y
# otherwise: A021
@triton.jit
def counts(x_ptr, y_ptr):
    at = tl.arange(0, 8)
    if tl.program_id(0) == 0:
        tl.store(y_ptr + at, 0)
    tl.atomic_add(y_ptr + at, tl.load(x_ptr + at))  #~ A019
