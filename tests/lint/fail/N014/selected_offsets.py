# lint: ascend910_9382
import triton
import triton.language as tl


@triton.jit
def clamp(x_ptr, y_ptr, n, BLOCK: tl.constexpr = 64):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        inside = i < n  #~ N020
        safe = tl.where(inside, i, 0)  #~ N014
        x = tl.load(x_ptr + safe * 2, mask=inside, other=0.0)
        y = tl.where(x < 0, 0.0, x)
        tl.store(y_ptr + tl.where(inside, i, n), y, mask=inside)  #~ N014
