# lint: sm_90 sm_80 gfx942 BLOCK=100
import triton
import triton.language as tl


@triton.jit
def fill(y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  #~ G004
    tl.store(y_ptr + i, 0.0, mask=i < n)
