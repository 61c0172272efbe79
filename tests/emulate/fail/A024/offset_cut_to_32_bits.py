import triton
import triton.language as tl


# compile: gather x_ptr=*i64 y_ptr=*i64
# buffer: x i64[16] 4294967296
# buffer: y i64[16] empty
# launch: 1 x y
@triton.jit
def gather(x_ptr, y_ptr):
    at = tl.arange(0, 16)
    row = tl.load(x_ptr + at).to(tl.int32)  #~ A024
    tl.store(y_ptr + at, row)
