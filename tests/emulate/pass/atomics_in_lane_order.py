import triton
import triton.language as tl


# compile: count c_ptr=*i32 seen_ptr=*i32 h_ptr=*i32
# buffer: c i32[1] zeros
# buffer: seen i32[16] zeros
# buffer: h i32[4] zeros
# launch: 2 c seen h
# warns: A021
# value: c 16
# value: seen 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
# value: h 2 4 4 6
@triton.jit
def count(c_ptr, seen_ptr, h_ptr):
    at = tl.arange(0, 8)
    pid = tl.program_id(0)
    old = tl.atomic_add(c_ptr + at * 0, 1)
    tl.store(seen_ptr + pid * 8 + at, old)
    tl.atomic_add(h_ptr + (at & 3), at & 3, mask=at < 6, sem="relaxed")
    tl.atomic_add(h_ptr + (at & 3), 1, mask=at == 4)
    tl.atomic_add(h_ptr + at, -2, mask=(at == 3) & (pid == 1))
    tl.atomic_xchg(h_ptr + 3, tl.atomic_add(h_ptr + 3, 0) + 2 * pid)
