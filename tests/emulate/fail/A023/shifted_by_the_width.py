import triton
import triton.language as tl


# compile: bits x_ptr=*i32 y_ptr=*i32
# buffer: x i32[64] iota
# buffer: y i32[64] empty
# launch: 1 x y
@triton.jit
def bits(x_ptr, y_ptr):
    at = tl.arange(0, 64)
    tl.store(y_ptr + at, 1024 >> tl.load(x_ptr + at))  #~ A023
