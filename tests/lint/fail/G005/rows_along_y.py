# lint: sm_90 gfx942
import triton
import triton.language as tl


@triton.jit
def fill(y_ptr, n, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.program_id(1) * n + tl.program_id(0), 0.0)


def launch(y):
    fill[(1, 100000)](y, 1, BLOCK=64)  #~ G005
    fill[(100000, 1)](y, 1, BLOCK=64)
