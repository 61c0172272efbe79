import triton
import triton.language as tl


# compile: rows x_ptr=*f32 y_ptr=*f32 stride=i32 BM=4 BN=8
# buffer: x f32[64] iota
# buffer: y f32[32] empty
# launch: 1 x(4,8:16,1) y(4,8) 12
@triton.jit
def rows(x_ptr, y_ptr, stride, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    x = tl.load(x_ptr + m[:, None] * stride + n[None, :])  #~ A001
    tl.store(y_ptr + m[:, None] * BN + n[None, :], x)
