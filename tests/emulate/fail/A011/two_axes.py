import triton
import triton.language as tl


# compile: tile x_ptr=*f32 y_ptr=*f32 stride=i32 BM=4 BN=8
# buffer: x f32[64] iota
# buffer: y f32[32] empty
# launch: 1 x y 1431655766
# otherwise: A001
@triton.jit
def tile(x_ptr, y_ptr, stride, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.arange(0, BM)[:, None]
    n = tl.arange(0, BN)[None, :]
    x = tl.load(x_ptr + (m * stride + n), mask=m * stride + n < 64, other=0.0)  #~ A011
    tl.store(y_ptr + m * BN + n, x)
