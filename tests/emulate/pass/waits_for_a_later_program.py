import triton
import triton.language as tl


# compile: chain flag_ptr=*i32 y_ptr=*i32
# buffer: flag i32[5] zeros
# buffer: y i32[5] zeros
# launch: 4 flag y
# value: flag 1 1 1 1 0
# value: y 6 6 5 3 0
@triton.jit
def chain(flag_ptr, y_ptr):
    pid = tl.program_id(0)
    total = pid
    if pid < 3:
        while tl.atomic_add(flag_ptr + pid + 1, 0) == 0:
            pass
        total += tl.load(y_ptr + pid + 1)
    tl.store(y_ptr + pid, total)
    tl.atomic_xchg(flag_ptr + pid, 1)
