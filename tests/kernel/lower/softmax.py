# compile: softmax y_ptr=*f32 x_ptr=*f32 x_stride=i32 y_stride=i32 columns=i32 BLOCK=1024
import triton
import triton.language as tl


@triton.jit
def softmax(y_ptr, x_ptr, x_stride, y_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    x = tl.load(x_ptr + row * x_stride + column, mask=inside, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    e = tl.exp(x)
    total = tl.sum(e, axis=0)
    tl.store(y_ptr + row * y_stride + column, e / total, mask=inside)
