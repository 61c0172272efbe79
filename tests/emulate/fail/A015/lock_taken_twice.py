import triton
import triton.language as tl


# compile: twice lock_ptr=*i32
# buffer: lock i32[1] zeros
# launch: 3 lock
@triton.jit
def twice(lock_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:  #~ A015
        pass
    if tl.program_id(0) != 1:
        tl.atomic_xchg(lock_ptr, 0)
