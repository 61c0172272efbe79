# lint: ascend910b3
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr = 64):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        wide = i.to(tl.int64) * 4  #~ N020
        mask = i < n  #~ N020
        x = tl.load(x_ptr + wide, mask=mask, other=0.0)
        tl.store(y_ptr + i, x, mask=i.to(tl.float32) < n)
