import triton
import triton.language as tl


# compile: phases count_ptr=*i32 part_ptr=*i32 y_ptr=*i32 N=4
# buffer: count i32[1] zeros
# buffer: part i32[4] empty
# buffer: y i32[4] empty
# launch: 4 count part y
# value: y 6 7 8 9
# value: count 4
@triton.jit
def phases(count_ptr, part_ptr, y_ptr, N: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(part_ptr + pid, pid)
    tl.debug_barrier()
    tl.atomic_add(count_ptr, 1)
    while tl.atomic_add(count_ptr, 0, sem="acquire") < N:
        pass
    total = tl.sum(tl.load(part_ptr + tl.arange(0, N)))
    tl.store(y_ptr + pid, total + pid)
