import triton
import triton.language as tl


# compile: matmul a_ptr=*f32 b_ptr=*f32 c_ptr=*f32 M=i32 N=i32 K=i32 a_stride_m=i32 a_stride_k=i32 b_stride_k=i32 b_stride_n=i32 c_stride_m=i32 c_stride_n=i32 BM=64 BN=64 BK=32 GROUP=8
# compile: matmul a_ptr=*f32 b_ptr=*f32 c_ptr=*f32 M=i32 N=i32 K=i32 a_stride_m=i32 a_stride_k=i32 b_stride_k=i32 b_stride_n=i32 c_stride_m=i32 c_stride_n=i32 BM=16 BN=32 BK=16 GROUP=2
@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, a_stride_m, a_stride_k, b_stride_k, b_stride_n, c_stride_m, c_stride_n,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):
    """C = A·B, one BM×BN tile a program; GROUP rows of tiles share their columns of B."""
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    band = pid // (GROUP * tiles_n)
    height = min(tiles_m - band * GROUP, GROUP)
    within = pid % (GROUP * tiles_n)
    tile_m = band * GROUP + within % height
    tile_n = within // height
    m = tile_m * BM + tl.arange(0, BM)
    n = tile_n * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_at = a_ptr + (m % M)[:, None] * a_stride_m + k[None, :] * a_stride_k
    b_at = b_ptr + k[:, None] * b_stride_k + (n % N)[None, :] * b_stride_n
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = K - step * BK
        a = tl.load(a_at, mask=k[None, :] < left, other=0.0)
        b = tl.load(b_at, mask=k[:, None] < left, other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
        a_at += BK * a_stride_k
        b_at += BK * b_stride_k
    c_at = c_ptr + m[:, None] * c_stride_m + n[None, :] * c_stride_n
    tl.store(c_at, acc, mask=(m[:, None] < M) & (n[None, :] < N))
