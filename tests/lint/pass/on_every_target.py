# lint: none all
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, factor: tl.constexpr = 2.0, BLOCK: tl.constexpr = 1024):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        # Compared as fp32: a vector instruction on an NPU.
        mask = i.to(tl.float32) < n
        x = tl.load(x_ptr + i, mask=mask, other=0.0)
        acc = 0.0
        acc += tl.sum(x)
        tl.store(y_ptr + i, x * factor + acc, mask=mask)
