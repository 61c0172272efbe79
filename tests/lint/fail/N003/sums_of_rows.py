# lint: none
import triton
import triton.language as tl


@triton.jit
def row_sum(x, AXIS: tl.constexpr):
    return tl.sum(x, axis=0)  #~ N003


@triton.jit
def rows(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    top = tl.max(x, 0)  #~ N003
    low = x.min(axis=0)  #~ N003
    tile = x[:, None] + x[None, :]
    fine = tl.sum(tl.sum(tile, axis=1))
    tl.store(y_ptr, row_sum(x, 0) + top + low + fine)
