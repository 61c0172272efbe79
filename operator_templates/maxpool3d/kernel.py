"""3-D maximum pooling; padding is minus infinity and NaN is kept.

A tile is BP rows (u, p) by BQ columns of one channel of one item; the window is walked tap by tap.
"""

import triton
import triton.language as tl


@triton.jit
def maxpool3d_tile(
    tile, x_ptr, y_ptr,
    N, C, D, H, W, U, P, Q,
    x_stride_n, x_stride_c, x_stride_d, x_stride_h, x_stride_w,
    y_stride_n, y_stride_c, y_stride_u, y_stride_p, y_stride_q,
    # fuse: params
    KERNEL_D: tl.constexpr, KERNEL_H: tl.constexpr, KERNEL_W: tl.constexpr,
    STRIDE_D: tl.constexpr, STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr,
    DILATION_D: tl.constexpr, DILATION_H: tl.constexpr, DILATION_W: tl.constexpr,
    PAD_D: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr, BP: tl.constexpr,
    BQ: tl.constexpr,
):
    tiles_p = tl.cdiv(U * P, BP)
    tiles_q = tl.cdiv(Q, BQ)
    plane = tile // (tiles_p * tiles_q)
    n = plane // C
    c = plane % C
    row = tile // tiles_q % tiles_p * BP + tl.arange(0, BP)
    u = row // P
    p = row % P
    q = tile % tiles_q * BQ + tl.arange(0, BQ)
    best = tl.full((BP, BQ), float("-inf"), dtype=tl.float32)
    for t in range(KERNEL_D):
        d = u * STRIDE_D + (t * DILATION_D - PAD_D)
        for r in range(KERNEL_H):
            h = p * STRIDE_H + (r * DILATION_H - PAD_H)
            on = (d >= 0) & (d < D) & (h >= 0) & (h < H)
            for s in range(KERNEL_W):
                w = q * STRIDE_W + (s * DILATION_W - PAD_W)
                # fuse: load X at n=n, c=c, d=d[:, None] if ((d >= 0) & (d < D))[:, None],
                #   h=h[:, None] if ((h >= 0) & (h < H))[:, None], w=w[None, :] if ((w >= 0) & (w < W))[None, :]
                x = tl.load(
                    x_ptr + n * x_stride_n + c * x_stride_c
                    + d[:, None] * x_stride_d + h[:, None] * x_stride_h + w[None, :] * x_stride_w,
                    mask=on[:, None] & ((w >= 0) & (w < W))[None, :],
                    other=float("-inf"),
                )
                best = tl.maximum(best, x.to(tl.float32), propagate_nan=tl.PropagateNan.ALL)
    # fuse: value best at n=n, c=c, u=u[:, None] if u[:, None] < U, p=p[:, None] if u[:, None] < U,
    #   q=q[None, :] if q[None, :] < Q
    # fuse: store Y at n=n, c=c, u=u[:, None] if u[:, None] < U, p=p[:, None] if u[:, None] < U,
    #   q=q[None, :] if q[None, :] < Q
    tl.store(
        y_ptr + n * y_stride_n + c * y_stride_c
        + u[:, None] * y_stride_u + p[:, None] * y_stride_p + q[None, :] * y_stride_q,
        best,
        mask=(u[:, None] < U) & (q[None, :] < Q),
    )


@triton.jit
def maxpool3d_kernel(
    x_ptr, y_ptr,
    N, C, D, H, W, U, P, Q,
    x_stride_n, x_stride_c, x_stride_d, x_stride_h, x_stride_w,
    y_stride_n, y_stride_c, y_stride_u, y_stride_p, y_stride_q,
    # fuse: params
    KERNEL_D: tl.constexpr, KERNEL_H: tl.constexpr, KERNEL_W: tl.constexpr,
    STRIDE_D: tl.constexpr, STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr,
    DILATION_D: tl.constexpr, DILATION_H: tl.constexpr, DILATION_W: tl.constexpr,
    PAD_D: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr, BP: tl.constexpr,
    BQ: tl.constexpr,
):
    maxpool3d_tile(
        tl.program_id(0), x_ptr, y_ptr,
        N, C, D, H, W, U, P, Q,
        x_stride_n, x_stride_c, x_stride_d, x_stride_h, x_stride_w,
        y_stride_n, y_stride_c, y_stride_u, y_stride_p, y_stride_q,
        # fuse: args
        KERNEL_D, KERNEL_H, KERNEL_W, STRIDE_D, STRIDE_H, STRIDE_W, DILATION_D, DILATION_H,
        DILATION_W, PAD_D, PAD_H, PAD_W, BP, BQ,
    )


@triton.jit
def maxpool3d_kernel_loop(
    x_ptr, y_ptr,
    N, C, D, H, W, U, P, Q,
    x_stride_n, x_stride_c, x_stride_d, x_stride_h, x_stride_w,
    y_stride_n, y_stride_c, y_stride_u, y_stride_p, y_stride_q,
    WORK,
    # fuse: params
    KERNEL_D: tl.constexpr, KERNEL_H: tl.constexpr, KERNEL_W: tl.constexpr,
    STRIDE_D: tl.constexpr, STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr,
    DILATION_D: tl.constexpr, DILATION_H: tl.constexpr, DILATION_W: tl.constexpr,
    PAD_D: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr, BP: tl.constexpr,
    BQ: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        maxpool3d_tile(
            tile, x_ptr, y_ptr,
            N, C, D, H, W, U, P, Q,
            x_stride_n, x_stride_c, x_stride_d, x_stride_h, x_stride_w,
            y_stride_n, y_stride_c, y_stride_u, y_stride_p, y_stride_q,
            # fuse: args
            KERNEL_D, KERNEL_H, KERNEL_W, STRIDE_D, STRIDE_H, STRIDE_W, DILATION_D, DILATION_H,
            DILATION_W, PAD_D, PAD_H, PAD_W, BP, BQ,
        )
