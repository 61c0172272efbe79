# compile: atomics y_ptr=*i32
# buffer: y i32[8] zeros
# launch: 4 y
# value: y 4 3 1 7 22 0 0 0
import triton
import triton.language as tl


@triton.jit
def atomics(y_ptr):
    pid = tl.program_id(0)
    tl.atomic_add(y_ptr, 1, sem="relaxed")
    tl.atomic_max(y_ptr + 1, pid)
    tl.atomic_cas(y_ptr + 2, 0, 1)
    if pid == 3:
        tl.atomic_xchg(y_ptr + 3, 7)
    at = tl.arange(0, 8)
    if pid == 0:
        tl.atomic_add(y_ptr + 4 + at * 0, at, mask=at >= 4)
