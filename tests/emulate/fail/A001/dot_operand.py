import triton
import triton.language as tl


# compile: product a_ptr=*f32 b_ptr=*f32 c_ptr=*f32 K=i32 BM=16 BN=16 BK=16
# buffer: a f32[384] iota
# buffer: b f32[384] iota
# buffer: c f32[256] empty
# launch: 1 a(16,24) b(24,16) c(16,16) 24
@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        b = tl.load(b_ptr + k[:, None] * BN + n[None, :])  #~ A001
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + m[:, None] * BN + n[None, :], acc)
