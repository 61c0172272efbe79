import triton
import triton.language as tl


# compile: count y_ptr=*i32 n=i32
# buffer: y i32[1] zeros
# launch: 1 y 20000
# fuel: 1000
@triton.jit
def count(y_ptr, n):
    i = 0
    while i < n:
        i = i + 1  #~ L001
    tl.store(y_ptr, i)
