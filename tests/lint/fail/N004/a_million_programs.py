# lint: ascend910b1 ascend910_9392
import triton
import triton.language as tl


BATCH = 16


@triton.jit
def fill(y_ptr, n, BLOCK: tl.constexpr):
    for i in range(tl.program_id(0), n, tl.num_programs(0)):
        tl.store(y_ptr + i, 0.0)


def launch(y, n):
    fill[(4096, BATCH)](y, n, BLOCK=64)  #~ N004
    fill[(4095, BATCH)](y, n, BLOCK=64)
    fill[(n,)](y, n, BLOCK=64)
