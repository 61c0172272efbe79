# lint: sm_90 sm_80
import triton
import triton.language as tl


@triton.jit
def fill(y_ptr, n, BLOCK: tl.constexpr = 64):  #~ G003
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 0.0, mask=i < n)


def launch(y, n):
    fill[(n,)](y, n, num_warps=6)
