"""3-D adaptive average pooling: the mean over bins [floor(u D / U), ceil((u + 1) D / U)), rows and columns alike.

A tile is BE output elements (n, c, u, p, q), flattened, by BT positions of a window of BIN_D by BIN_H by
BIN_W, the largest bin; the loop runs over the whole window.
"""

import triton
import triton.language as tl


@triton.jit
def adaptive_avgpool3d_tile(
    tile, x_ptr, y_ptr,
    N, C, D, H, W, U, P, Q, BIN_D, BIN_H, BIN_W,
    x_stride_n, x_stride_c, x_stride_d, x_stride_h, x_stride_w,
    y_stride_n, y_stride_c, y_stride_u, y_stride_p, y_stride_q,
    # fuse: params
    BE: tl.constexpr, BT: tl.constexpr,
):
    e = tile * BE + tl.arange(0, BE)
    n = e // (C * U * P * Q)
    c = e // (U * P * Q) % C
    u = e // (P * Q) % U
    p = e // Q % P
    q = e % Q
    d0 = u * D // U
    d1 = ((u + 1) * D + U - 1) // U
    h0 = p * H // P
    h1 = ((p + 1) * H + P - 1) // P
    w0 = q * W // Q
    w1 = ((q + 1) * W + Q - 1) // Q
    total = tl.zeros((BE,), dtype=tl.float32)
    for start in range(0, BIN_D * BIN_H * BIN_W, BT):
        t = start + tl.arange(0, BT)
        d = d0[:, None] + (t // (BIN_H * BIN_W))[None, :]
        h = h0[:, None] + (t // BIN_W % BIN_H)[None, :]
        w = w0[:, None] + (t % BIN_W)[None, :]
        # fuse: load X at n=n[:, None] if n[:, None] < N, c=c[:, None] if n[:, None] < N,
        #   d=d if d < d1[:, None], h=h if h < h1[:, None], w=w if w < w1[:, None]
        x = tl.load(
            x_ptr + n[:, None] * x_stride_n + c[:, None] * x_stride_c
            + d * x_stride_d + h * x_stride_h + w * x_stride_w,
            mask=(n[:, None] < N) & (d < d1[:, None]) & (h < h1[:, None]) & (w < w1[:, None]),
            other=0.0,
        )
        total += tl.sum(x.to(tl.float32), axis=1)
    y = tl.div_rn(total, ((d1 - d0) * (h1 - h0) * (w1 - w0)).to(tl.float32))
    # fuse: value y at n=n if n < N, c=c if n < N, u=u if n < N, p=p if n < N, q=q if n < N
    # fuse: store Y at n=n if n < N, c=c if n < N, u=u if n < N, p=p if n < N, q=q if n < N
    tl.store(
        y_ptr + n * y_stride_n + c * y_stride_c + u * y_stride_u + p * y_stride_p + q * y_stride_q,
        y,
        mask=n < N,
    )


@triton.jit
def adaptive_avgpool3d_kernel(
    x_ptr, y_ptr,
    N, C, D, H, W, U, P, Q, BIN_D, BIN_H, BIN_W,
    x_stride_n, x_stride_c, x_stride_d, x_stride_h, x_stride_w,
    y_stride_n, y_stride_c, y_stride_u, y_stride_p, y_stride_q,
    # fuse: params
    BE: tl.constexpr, BT: tl.constexpr,
):
    adaptive_avgpool3d_tile(
        tl.program_id(0), x_ptr, y_ptr,
        N, C, D, H, W, U, P, Q, BIN_D, BIN_H, BIN_W,
        x_stride_n, x_stride_c, x_stride_d, x_stride_h, x_stride_w,
        y_stride_n, y_stride_c, y_stride_u, y_stride_p, y_stride_q,
        # fuse: args
        BE, BT,
    )


@triton.jit
def adaptive_avgpool3d_kernel_loop(
    x_ptr, y_ptr,
    N, C, D, H, W, U, P, Q, BIN_D, BIN_H, BIN_W,
    x_stride_n, x_stride_c, x_stride_d, x_stride_h, x_stride_w,
    y_stride_n, y_stride_c, y_stride_u, y_stride_p, y_stride_q,
    WORK,
    # fuse: params
    BE: tl.constexpr, BT: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        adaptive_avgpool3d_tile(
            tile, x_ptr, y_ptr,
            N, C, D, H, W, U, P, Q, BIN_D, BIN_H, BIN_W,
            x_stride_n, x_stride_c, x_stride_d, x_stride_h, x_stride_w,
            y_stride_n, y_stride_c, y_stride_u, y_stride_p, y_stride_q,
            # fuse: args
            BE, BT,
        )
