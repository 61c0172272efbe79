"""1-D adaptive average pooling: the mean over bins [floor(q W / Q), ceil((q + 1) W / Q)).

A tile is BE output elements (n, c, q), flattened, by BT positions of a window of BIN_W, the largest
bin; the loop runs over the whole window.
"""

import triton
import triton.language as tl


@triton.jit
def adaptive_avgpool1d_tile(
    tile, x_ptr, y_ptr,
    N, C, W, Q, BIN_W,
    x_stride_n, x_stride_c, x_stride_w,
    y_stride_n, y_stride_c, y_stride_q,
    # fuse: params
    BE: tl.constexpr, BT: tl.constexpr,
):
    e = tile * BE + tl.arange(0, BE)
    n = e // (C * Q)
    c = e // Q % C
    q = e % Q
    w0 = q * W // Q
    w1 = ((q + 1) * W + Q - 1) // Q
    total = tl.zeros((BE,), dtype=tl.float32)
    for start in range(0, BIN_W, BT):
        t = start + tl.arange(0, BT)
        w = w0[:, None] + t[None, :]
        # fuse: load X at n=n[:, None] if n[:, None] < N, c=c[:, None] if n[:, None] < N,
        #   w=w if w < w1[:, None]
        x = tl.load(
            x_ptr + n[:, None] * x_stride_n + c[:, None] * x_stride_c
            + w * x_stride_w,
            mask=(n[:, None] < N) & (w < w1[:, None]),
            other=0.0,
        )
        total += tl.sum(x.to(tl.float32), axis=1)
    y = tl.div_rn(total, ((w1 - w0)).to(tl.float32))
    # fuse: value y at n=n if n < N, c=c if n < N, q=q if n < N
    # fuse: store Y at n=n if n < N, c=c if n < N, q=q if n < N
    tl.store(
        y_ptr + n * y_stride_n + c * y_stride_c + q * y_stride_q,
        y,
        mask=n < N,
    )


@triton.jit
def adaptive_avgpool1d_kernel(
    x_ptr, y_ptr,
    N, C, W, Q, BIN_W,
    x_stride_n, x_stride_c, x_stride_w,
    y_stride_n, y_stride_c, y_stride_q,
    # fuse: params
    BE: tl.constexpr, BT: tl.constexpr,
):
    adaptive_avgpool1d_tile(
        tl.program_id(0), x_ptr, y_ptr,
        N, C, W, Q, BIN_W,
        x_stride_n, x_stride_c, x_stride_w,
        y_stride_n, y_stride_c, y_stride_q,
        # fuse: args
        BE, BT,
    )


@triton.jit
def adaptive_avgpool1d_kernel_loop(
    x_ptr, y_ptr,
    N, C, W, Q, BIN_W,
    x_stride_n, x_stride_c, x_stride_w,
    y_stride_n, y_stride_c, y_stride_q,
    WORK,
    # fuse: params
    BE: tl.constexpr, BT: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        adaptive_avgpool1d_tile(
            tile, x_ptr, y_ptr,
            N, C, W, Q, BIN_W,
            x_stride_n, x_stride_c, x_stride_w,
            y_stride_n, y_stride_c, y_stride_q,
            # fuse: args
            BE, BT,
        )
