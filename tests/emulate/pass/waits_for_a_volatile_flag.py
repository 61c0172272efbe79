import triton
import triton.language as tl


# compile: flags flag_ptr=*i32 x_ptr=*i32 y_ptr=*i32
# buffer: flag i32[2] zeros
# buffer: x i32[8] zeros
# buffer: y i32[8] empty
# launch: 2 flag x y
# value: y 7 6 5 4 3 2 1 0
@triton.jit
def flags(flag_ptr, x_ptr, y_ptr):
    at = tl.arange(0, 8)
    if tl.program_id(0) == 0:
        while tl.load(flag_ptr, volatile=True) == 0:
            pass
        tl.store(y_ptr + at, tl.load(x_ptr + 7 - at))
    else:
        tl.store(x_ptr + at, at)
        tl.debug_barrier()
        tl.store(flag_ptr, 1)
