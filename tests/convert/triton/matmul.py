# compile: matmul a_ptr=*f32 b_ptr=*f32 c_ptr=*f32 M=i32 N=i32 K=i32 BM=16 BN=16 BK=16
# buffer: a f32[800]
# buffer: b f32[1000]
# buffer: c f32[500]
# launch: 2,2 a b c 20 25 40
import triton
from triton import language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_at = a_ptr + (m[:, None] * K + k[None, :])
    b_at = b_ptr + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        left = K - start
        a = tl.load(a_at, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        b = tl.load(b_at, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
        a_at += BK
        b_at += BK * N
    c_at = c_ptr + m[:, None] * N + n[None, :]
    tl.store(c_at, acc, mask=(m[:, None] < M) & (n[None, :] < N))


def launch(a, b, c, M, N, K):
    matmul[(triton.cdiv(M, 16), triton.cdiv(N, 16))](a, b, c, M, N, K, BM=16, BN=16, BK=16)
