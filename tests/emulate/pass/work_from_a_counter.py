import triton
import triton.language as tl


# compile: persistent next_ptr=*i32 y_ptr=*i32 n=i32
# buffer: next i32[1] zeros
# buffer: y i32[40] empty
# launch: 3 next y 40
# value: y 3*40
@triton.jit
def persistent(next_ptr, y_ptr, n):
    tile = tl.atomic_add(next_ptr, 1)
    while tile < n:
        tl.store(y_ptr + tile, 3)
        tile = tl.atomic_add(next_ptr, 1)
