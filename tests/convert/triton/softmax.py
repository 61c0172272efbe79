# compile: softmax out_ptr=*f32 in_ptr=*f32 in_stride=i32 out_stride=i32 n=i32 BLOCK=16
# buffer: o f32[48]
# buffer: x f32[48]
# launch: 4 o x 12 12 11
import triton
import triton.language as tl


@triton.jit
def softmax(out_ptr, in_ptr, in_stride, out_stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    mask = col < n
    row_ptr = in_ptr + row * in_stride
    x = tl.load(row_ptr + col, mask=mask, other=-float("inf"))
    x = x - tl.max(x)
    power = tl.exp(x)
    tl.store(out_ptr + row * out_stride + col, power / tl.sum(power), mask=mask)


def launch(o, x, rows, n):
    softmax[(rows,)](
        o, x,
        n + 1,
        n + 1,
        n,
        BLOCK=16,
        num_warps=4,
    )
