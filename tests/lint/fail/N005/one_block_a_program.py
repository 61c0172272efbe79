# lint: ascend910b3
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr = 1024):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  #~ N005
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)  #~ N020
    tl.store(y_ptr + i, x * 2.0, mask=i < n)
