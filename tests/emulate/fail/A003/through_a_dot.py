import triton
import triton.language as tl


# compile: product a_ptr=*f32 b_ptr=*f32 c_ptr=*f32 M=i32 BM=16 BN=16 BK=16
# buffer: a f32[192] iota
# buffer: b f32[256] iota
# buffer: c f32[256] empty
# launch: 1 a(12,16) b(16,16) c(16,16) 12
@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = tl.load(a_ptr + m[:, None] * BK + k[None, :], mask=m[:, None] < M)
    b = tl.load(b_ptr + k[:, None] * BN + n[None, :])
    c = tl.dot(a, b, input_precision="ieee")
    tl.store(c_ptr + m[:, None] * BN + n[None, :], c)  #~ A003
