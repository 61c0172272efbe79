# compile: matmul a_ptr=*f32 b_ptr=*f32 c_ptr=*f32 M=i32 N=i32 K=i32 a_m=i32 a_k=1 b_k=i32 b_n=1 c_m=i32 c_n=1 BM=64 BN=64 BK=32 GROUP=8
import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, a_m, a_k, b_k, b_n, c_m, c_n,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    # Tiles are walked in groups of GROUP rows, so that neighbours in time share operands.
    tile = tl.program_id(axis=0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    per_group = GROUP * tiles_n
    group = tile // per_group
    first_m = group * GROUP
    rows = min(tiles_m - first_m, GROUP)
    tile_m = first_m + ((tile % per_group) % rows)
    tile_n = (tile % per_group) // rows
    m = (tile_m * BM + tl.arange(0, BM)) % M
    n = (tile_n * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    a_at = a_ptr + (m[:, None] * a_m + k[None, :] * a_k)
    b_at = b_ptr + (k[:, None] * b_k + n[None, :] * b_n)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = K - step * BK
        a = tl.load(a_at, mask=k[None, :] < left, other=0.0)
        b = tl.load(b_at, mask=k[:, None] < left, other=0.0)
        acc = tl.dot(a, b, acc)
        a_at += BK * a_k
        b_at += BK * b_k
    m = tile_m * BM + tl.arange(0, BM)
    n = tile_n * BN + tl.arange(0, BN)
    c_at = c_ptr + c_m * m[:, None] + c_n * n[None, :]
    tl.store(c_at, acc, mask=(m[:, None] < M) & (n[None, :] < N))
