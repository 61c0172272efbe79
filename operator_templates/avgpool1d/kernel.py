"""1-D average pooling.

The divisor is the window's size when COUNT_PAD, else the number of taps inside x.

A tile is BR rows, each one channel of one item, by BQ positions; the window is walked tap by tap.
"""

import triton
import triton.language as tl


@triton.jit
def avgpool1d_tile(
    tile, x_ptr, y_ptr,
    N, C, W, Q,
    x_stride_n, x_stride_c, x_stride_w,
    y_stride_n, y_stride_c, y_stride_q,
    # fuse: params
    KERNEL_W: tl.constexpr, STRIDE_W: tl.constexpr, DILATION_W: tl.constexpr,
    PAD_W: tl.constexpr, COUNT_PAD: tl.constexpr, BR: tl.constexpr, BQ: tl.constexpr,
):
    tiles_q = tl.cdiv(Q, BQ)
    row = tile // tiles_q * BR + tl.arange(0, BR)
    n = row // C
    c = row % C
    q = tile % tiles_q * BQ + tl.arange(0, BQ)
    total = tl.zeros((BR, BQ), dtype=tl.float32)
    count = tl.zeros((BR, BQ), dtype=tl.float32)
    if COUNT_PAD:
        count += KERNEL_W
    for s in range(KERNEL_W):
        w = q * STRIDE_W + (s * DILATION_W - PAD_W)
        # fuse: load X at n=n[:, None] if n[:, None] < N, c=c[:, None] if n[:, None] < N,
        #   w=w[None, :] if ((w >= 0) & (w < W))[None, :]
        x = tl.load(
            x_ptr + n[:, None] * x_stride_n + c[:, None] * x_stride_c + w[None, :] * x_stride_w,
            mask=(n[:, None] < N) & ((w >= 0) & (w < W))[None, :],
            other=0.0,
        )
        total += x.to(tl.float32)
        if not COUNT_PAD:
            count += ((w >= 0) & (w < W))[None, :].to(tl.float32)
    y = tl.div_rn(total, count)
    # fuse: value y at n=n[:, None] if n[:, None] < N, c=c[:, None] if n[:, None] < N,
    #   q=q[None, :] if q[None, :] < Q
    # fuse: store Y at n=n[:, None] if n[:, None] < N, c=c[:, None] if n[:, None] < N,
    #   q=q[None, :] if q[None, :] < Q
    tl.store(
        y_ptr + n[:, None] * y_stride_n + c[:, None] * y_stride_c + q[None, :] * y_stride_q,
        y,
        mask=(n[:, None] < N) & (q[None, :] < Q),
    )


@triton.jit
def avgpool1d_kernel(
    x_ptr, y_ptr,
    N, C, W, Q,
    x_stride_n, x_stride_c, x_stride_w,
    y_stride_n, y_stride_c, y_stride_q,
    # fuse: params
    KERNEL_W: tl.constexpr, STRIDE_W: tl.constexpr, DILATION_W: tl.constexpr,
    PAD_W: tl.constexpr, COUNT_PAD: tl.constexpr, BR: tl.constexpr, BQ: tl.constexpr,
):
    avgpool1d_tile(
        tl.program_id(0), x_ptr, y_ptr,
        N, C, W, Q,
        x_stride_n, x_stride_c, x_stride_w,
        y_stride_n, y_stride_c, y_stride_q,
        # fuse: args
        KERNEL_W, STRIDE_W, DILATION_W, PAD_W, COUNT_PAD, BR, BQ,
    )


@triton.jit
def avgpool1d_kernel_loop(
    x_ptr, y_ptr,
    N, C, W, Q,
    x_stride_n, x_stride_c, x_stride_w,
    y_stride_n, y_stride_c, y_stride_q,
    WORK,
    # fuse: params
    KERNEL_W: tl.constexpr, STRIDE_W: tl.constexpr, DILATION_W: tl.constexpr,
    PAD_W: tl.constexpr, COUNT_PAD: tl.constexpr, BR: tl.constexpr, BQ: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        avgpool1d_tile(
            tile, x_ptr, y_ptr,
            N, C, W, Q,
            x_stride_n, x_stride_c, x_stride_w,
            y_stride_n, y_stride_c, y_stride_q,
            # fuse: args
            KERNEL_W, STRIDE_W, DILATION_W, PAD_W, COUNT_PAD, BR, BQ,
        )
