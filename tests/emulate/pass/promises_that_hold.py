import triton
import triton.language as tl


# compile: promised x_ptr=*f32 n=i32 stride=i32 BLOCK=16
# buffer: x f32[64] zeros
# launch: 4 x 64 8
# value: x 1*64
@triton.jit
def promised(x_ptr, n, stride, BLOCK: tl.constexpr):
    tl.assume(n > 0)
    stride = tl.multiple_of(stride, 8)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.max_contiguous(tl.multiple_of(at % n, BLOCK), BLOCK)
    row = tl.max_constancy(at // 4, 4)
    p = tl.multiple_of(x_ptr + at, 16)
    m = tl.arange(0, 4)
    tile = tl.max_contiguous(tl.multiple_of(m[:, None] * stride + m[None, :], (1, 8)), (1, 4))
    tl.store(p, 1.0 + (row - at // 4) + tl.sum(tl.sum((tile - tile).to(tl.float32), 1), 0), mask=at < n)
