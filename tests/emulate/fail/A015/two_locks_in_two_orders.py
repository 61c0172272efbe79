import triton
import triton.language as tl


# compile: both lock_ptr=*i32 count_ptr=*i32
# buffer: lock i32[2] zeros
# buffer: count i32[1] zeros
# launch: 2 lock count
@triton.jit
def both(lock_ptr, count_ptr):
    pid = tl.program_id(0)
    while tl.atomic_cas(lock_ptr + pid, 0, 1) == 1:
        pass
    tl.atomic_add(count_ptr, 1)
    while tl.atomic_add(count_ptr, 0) < 2:
        pass
    while tl.atomic_cas(lock_ptr + 1 - pid, 0, 1) == 1:  #~ A015
        pass
    tl.atomic_xchg(lock_ptr + 1 - pid, 0)
    tl.atomic_xchg(lock_ptr + pid, 0)
