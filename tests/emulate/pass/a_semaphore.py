import triton
import triton.language as tl


# compile: two_at_once free_ptr=*i32 y_ptr=*i32
# buffer: free i32[1] 2
# buffer: y i32[1] zeros
# launch: 6 free y
# value: free 2
# value: y 6
@triton.jit
def two_at_once(free_ptr, y_ptr):
    got = tl.atomic_add(free_ptr, -1)
    while got <= 0:
        tl.atomic_add(free_ptr, 1)
        got = tl.atomic_add(free_ptr, -1)
    tl.atomic_add(y_ptr, 1)
    tl.atomic_add(free_ptr, 1)
