import triton
import triton.language as tl


# compile: locked lock_ptr=*i32 y_ptr=*f32
# buffer: lock i32[1] zeros
# buffer: y f32[8] zeros
# launch: 6 lock y
# value: lock 0
# value: y 15*8
@triton.jit
def locked(lock_ptr, y_ptr):
    at = tl.arange(0, 8)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    y = tl.load(y_ptr + at)
    tl.store(y_ptr + at, y + tl.program_id(0))
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)
