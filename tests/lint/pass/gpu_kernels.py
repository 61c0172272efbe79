# lint: none sm_90 sm_80 gfx942 BM=64 BN=64 BK=32 BLOCK=1024
import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * tl.cdiv(N, BN), tl.num_programs(0)):
        m = tile // tl.cdiv(N, BN) * BM + tl.arange(0, BM)
        n = tile % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for start in range(0, K, BK):
            k = start + tl.arange(0, BK)
            a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
            b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
            acc += tl.dot(a, b)
        tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    x = tl.load(x_ptr + row + i, mask=i < n, other=float("-inf"))
    power = tl.exp(x - tl.max(x))
    tl.store(y_ptr + row + i, power / tl.sum(power), mask=i < n)


@triton.jit
def columns(x_ptr, y_ptr, n, BM: tl.constexpr, BN: tl.constexpr):
    # Axes of two-dimensional blocks are no findings, nor are sums that begin with something else.
    m, n_ = tl.arange(0, BM), tl.arange(0, BN)
    tile = tl.load(x_ptr + m[:, None] * BN + n_[None, :], mask=m[:, None] < n, other=0.0)
    total = tl.sum(tile, axis=0)
    shifted = n_ + 1
    offsets = tl.where(shifted < BN, shifted, 0)
    tl.store(y_ptr + offsets, total, mask=n_ < n)
