# lint: ascend910b4 BLOCK=16384
import triton
import triton.language as tl


@triton.jit
def mix(a_ptr, b_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        mask = i < n  #~ N020
        a = tl.load(a_ptr + i, mask=mask, other=0.0)
        b = tl.load(b_ptr + i, mask=mask, other=0.0)  #~ N006
        tl.store(y_ptr + i, a * b + a, mask=mask)
