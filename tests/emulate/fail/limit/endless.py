import triton
import triton.language as tl


# compile: spin y_ptr=*i32 n=i32
# buffer: y i32[1] zeros
# launch: 1 y 1
# fuel: 1000
@triton.jit
def spin(y_ptr, n):
    i = 0
    while i < n:
        i = i * n
    tl.store(y_ptr, i)
