# lint: none
import triton
import triton.language as tl


@triton.jit
def half(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    y = tl.float16(x) + tl.float16(x * 2.0)  #~ N016
    tl.store(y_ptr + i, y, mask=i < n)
