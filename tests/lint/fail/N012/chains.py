# lint: ascend910_9372
import triton
import triton.language as tl


@triton.jit
def inside(x_ptr, y_ptr, n, m, FIRST: tl.constexpr = True, BLOCK: tl.constexpr = 64):
    for i in range(tl.program_id(0), n, tl.num_programs(0)):
        if FIRST and BLOCK > 1:
            if i > 0 and i < m:  #~ N012
                tl.store(y_ptr + i, tl.load(x_ptr + i))
            if i == 0 or i == m:  #~ N012
                tl.store(y_ptr + i, 0.0)
