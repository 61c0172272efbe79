"""1-D maximum pooling; padding is minus infinity and NaN is kept.

A tile is BR rows, each one channel of one item, by BQ positions; the window is walked tap by tap.
"""

import triton
import triton.language as tl


@triton.jit
def maxpool1d_tile(
    tile, x_ptr, y_ptr,
    N, C, W, Q,
    x_stride_n, x_stride_c, x_stride_w,
    y_stride_n, y_stride_c, y_stride_q,
    # fuse: params
    KERNEL_W: tl.constexpr, STRIDE_W: tl.constexpr, DILATION_W: tl.constexpr,
    PAD_W: tl.constexpr, BR: tl.constexpr, BQ: tl.constexpr,
):
    tiles_q = tl.cdiv(Q, BQ)
    row = tile // tiles_q * BR + tl.arange(0, BR)
    n = row // C
    c = row % C
    q = tile % tiles_q * BQ + tl.arange(0, BQ)
    best = tl.full((BR, BQ), float("-inf"), dtype=tl.float32)
    for s in range(KERNEL_W):
        w = q * STRIDE_W + (s * DILATION_W - PAD_W)
        # fuse: load X at n=n[:, None] if n[:, None] < N, c=c[:, None] if n[:, None] < N,
        #   w=w[None, :] if ((w >= 0) & (w < W))[None, :]
        x = tl.load(
            x_ptr + n[:, None] * x_stride_n + c[:, None] * x_stride_c + w[None, :] * x_stride_w,
            mask=(n[:, None] < N) & ((w >= 0) & (w < W))[None, :],
            other=float("-inf"),
        )
        best = tl.maximum(best, x.to(tl.float32), propagate_nan=tl.PropagateNan.ALL)
    # fuse: value best at n=n[:, None] if n[:, None] < N, c=c[:, None] if n[:, None] < N,
    #   q=q[None, :] if q[None, :] < Q
    # fuse: store Y at n=n[:, None] if n[:, None] < N, c=c[:, None] if n[:, None] < N,
    #   q=q[None, :] if q[None, :] < Q
    tl.store(
        y_ptr + n[:, None] * y_stride_n + c[:, None] * y_stride_c + q[None, :] * y_stride_q,
        best,
        mask=(n[:, None] < N) & (q[None, :] < Q),
    )


@triton.jit
def maxpool1d_kernel(
    x_ptr, y_ptr,
    N, C, W, Q,
    x_stride_n, x_stride_c, x_stride_w,
    y_stride_n, y_stride_c, y_stride_q,
    # fuse: params
    KERNEL_W: tl.constexpr, STRIDE_W: tl.constexpr, DILATION_W: tl.constexpr,
    PAD_W: tl.constexpr, BR: tl.constexpr, BQ: tl.constexpr,
):
    maxpool1d_tile(
        tl.program_id(0), x_ptr, y_ptr,
        N, C, W, Q,
        x_stride_n, x_stride_c, x_stride_w,
        y_stride_n, y_stride_c, y_stride_q,
        # fuse: args
        KERNEL_W, STRIDE_W, DILATION_W, PAD_W, BR, BQ,
    )


@triton.jit
def maxpool1d_kernel_loop(
    x_ptr, y_ptr,
    N, C, W, Q,
    x_stride_n, x_stride_c, x_stride_w,
    y_stride_n, y_stride_c, y_stride_q,
    WORK,
    # fuse: params
    KERNEL_W: tl.constexpr, STRIDE_W: tl.constexpr, DILATION_W: tl.constexpr,
    PAD_W: tl.constexpr, BR: tl.constexpr, BQ: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        maxpool1d_tile(
            tile, x_ptr, y_ptr,
            N, C, W, Q,
            x_stride_n, x_stride_c, x_stride_w,
            y_stride_n, y_stride_c, y_stride_q,
            # fuse: args
            KERNEL_W, STRIDE_W, DILATION_W, PAD_W, BR, BQ,
        )
