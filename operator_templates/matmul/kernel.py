"""y = a @ b over any number of batch axes, with operands by strides.

A tile is BM rows by BN columns of one product; one loop runs over K in steps of BK.
"""

import triton
import triton.language as tl


@triton.jit
def matmul_tile(
    tile, a_ptr, b_ptr, y_ptr,
    B, M, N, K,
    a_stride_b, a_stride_m, a_stride_k,
    b_stride_b, b_stride_k, b_stride_n,
    y_stride_b, y_stride_m, y_stride_n,
    # fuse: params
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    b = tile // (tiles_m * tiles_n)
    m = tile // tiles_n % tiles_m * BM + tl.arange(0, BM)
    n = tile % tiles_n * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        # fuse: load A at b=b, m=m[:, None] if m[:, None] < M, k=k[None, :] if k[None, :] < K
        left = tl.load(
            a_ptr + b * a_stride_b + m[:, None] * a_stride_m + k[None, :] * a_stride_k,
            mask=(m[:, None] < M) & (k[None, :] < K),
            other=0.0,
        )
        # fuse: load B at b=b, k=k[:, None] if k[:, None] < K, n=n[None, :] if n[None, :] < N
        right = tl.load(
            b_ptr + b * b_stride_b + k[:, None] * b_stride_k + n[None, :] * b_stride_n,
            mask=(k[:, None] < K) & (n[None, :] < N),
            other=0.0,
        )
        acc += tl.dot(left, right, input_precision=PRECISION)
    # fuse: value acc at b=b, m=m[:, None] if m[:, None] < M, n=n[None, :] if n[None, :] < N
    # fuse: store Y at b=b, m=m[:, None] if m[:, None] < M, n=n[None, :] if n[None, :] < N
    tl.store(
        y_ptr + b * y_stride_b + m[:, None] * y_stride_m + n[None, :] * y_stride_n,
        acc,
        mask=(m[:, None] < M) & (n[None, :] < N),
    )


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, y_ptr,
    B, M, N, K,
    a_stride_b, a_stride_m, a_stride_k,
    b_stride_b, b_stride_k, b_stride_n,
    y_stride_b, y_stride_m, y_stride_n,
    # fuse: params
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    matmul_tile(
        tl.program_id(0), a_ptr, b_ptr, y_ptr,
        B, M, N, K,
        a_stride_b, a_stride_m, a_stride_k,
        b_stride_b, b_stride_k, b_stride_n,
        y_stride_b, y_stride_m, y_stride_n,
        # fuse: args
        PRECISION, BM, BN, BK,
    )


@triton.jit
def matmul_kernel_loop(
    a_ptr, b_ptr, y_ptr,
    B, M, N, K,
    a_stride_b, a_stride_m, a_stride_k,
    b_stride_b, b_stride_k, b_stride_n,
    y_stride_b, y_stride_m, y_stride_n,
    WORK,
    # fuse: params
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        matmul_tile(
            tile, a_ptr, b_ptr, y_ptr,
            B, M, N, K,
            a_stride_b, a_stride_m, a_stride_k,
            b_stride_b, b_stride_k, b_stride_n,
            y_stride_b, y_stride_m, y_stride_n,
            # fuse: args
            PRECISION, BM, BN, BK,
        )
