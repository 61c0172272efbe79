import triton
import triton.language as tl


# compile: softmax y_ptr=*f32 x_ptr=*f32 width=i32 y_stride=i32 x_stride=i32 BLOCK=1024
# compile: softmax y_ptr=*f32 x_ptr=*f32 width=i32 y_stride=i32 x_stride=i32 BLOCK=64
@triton.jit
def softmax(y_ptr, x_ptr, width, y_stride, x_stride, BLOCK: tl.constexpr):
    """Softmax of one row a program; the row fits in a block."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < width
    x = tl.load(x_ptr + row * x_stride + column, mask=inside, other=-float("inf"))
    e = tl.exp(x - tl.max(x))
    tl.store(y_ptr + row * y_stride + column, e / tl.sum(e), mask=inside)
