# lint: ascend910_9391
import triton
import triton.language as tl


@triton.jit
def pick(x_ptr, y_ptr, n, BLOCK: tl.constexpr = 64):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        tile = x[:, None] + x[None, :]
        size = x.shape[0]
        tl.store(y_ptr + start, x[0])  #~ N013 K002
