import triton
import triton.language as tl


@triton.jit
def softmax(y_ptr, x_ptr, width, y_stride, x_stride, BLOCK: tl.constexpr):
    """Softmax of one row a program; the row fits in a block."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < width
    x = tl.load(x_ptr + row * x_stride + column, mask=inside, other=-float("inf"))
    e = tl.exp(x - tl.max(x))
    tl.store(y_ptr + row * y_stride + column, e / tl.sum(e), mask=inside)
