# lint: ascend910b2
import triton
import triton.language as tl


@triton.jit
def fill(y_ptr, n, BLOCK: tl.constexpr = 64):
    half: tl.constexpr = BLOCK // 2  #~ N018
    for start in range(tl.program_id(0) * half, n, tl.num_programs(0) * half):
        i = start + tl.arange(0, half)
        tl.store(y_ptr + i, 0.0, mask=i < n)  #~ N020
