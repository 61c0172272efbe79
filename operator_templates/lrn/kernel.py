"""Local response normalisation, y = x / (bias + alpha / size * sum of x * x) ** beta.

The sum runs over the window of SIZE channels around each one, cut at the ends. A tile is BR rows, each
one channel of one image, by BS positions of that plane; the window is walked channel by channel.
The base of the power is positive: bias is, and alpha is not negative.
"""

import triton
import triton.language as tl


@triton.jit
def lrn_tile(
    tile, x_ptr, y_ptr,
    N, C, S,
    x_stride_n, x_stride_u, x_stride_s,
    y_stride_n, y_stride_c, y_stride_s,
    # fuse: params
    SIZE: tl.constexpr, ALPHA: tl.constexpr, BETA: tl.constexpr, BIAS: tl.constexpr,
    BR: tl.constexpr, BS: tl.constexpr,
):
    tiles_s = tl.cdiv(S, BS)
    row = tile // tiles_s * BR + tl.arange(0, BR)
    s = tile % tiles_s * BS + tl.arange(0, BS)
    n = row // C
    c = row % C
    total = tl.zeros((BR, BS), dtype=tl.float32)
    for t in range(SIZE):
        u = c + (t - (SIZE - 1) // 2)
        # fuse: load X at n=n[:, None] if n[:, None] < N, u=u[:, None] if ((u >= 0) & (u < C))[:, None],
        #   s=s[None, :] if s[None, :] < S
        near = tl.load(
            x_ptr + n[:, None] * x_stride_n + u[:, None] * x_stride_u + s[None, :] * x_stride_s,
            mask=(n[:, None] < N) & ((u >= 0) & (u < C))[:, None] & (s[None, :] < S),
            other=0.0,
        )
        near = near.to(tl.float32)
        total += near * near
    # fuse: load X at n=n[:, None] if n[:, None] < N, u=c[:, None] if n[:, None] < N,
    #   s=s[None, :] if s[None, :] < S
    x = tl.load(
        x_ptr + n[:, None] * x_stride_n + c[:, None] * x_stride_u + s[None, :] * x_stride_s,
        mask=(n[:, None] < N) & (s[None, :] < S),
        other=0.0,
    )
    base = BIAS + ALPHA / SIZE * total
    y = x.to(tl.float32) * tl.exp(-BETA * tl.log(base))
    # fuse: value y at n=n[:, None] if n[:, None] < N, c=c[:, None] if n[:, None] < N,
    #   s=s[None, :] if s[None, :] < S
    # fuse: store Y at n=n[:, None] if n[:, None] < N, c=c[:, None] if n[:, None] < N,
    #   s=s[None, :] if s[None, :] < S
    tl.store(
        y_ptr + n[:, None] * y_stride_n + c[:, None] * y_stride_c + s[None, :] * y_stride_s,
        y,
        mask=(n[:, None] < N) & (s[None, :] < S),
    )


@triton.jit
def lrn_kernel(
    x_ptr, y_ptr,
    N, C, S,
    x_stride_n, x_stride_u, x_stride_s,
    y_stride_n, y_stride_c, y_stride_s,
    # fuse: params
    SIZE: tl.constexpr, ALPHA: tl.constexpr, BETA: tl.constexpr, BIAS: tl.constexpr,
    BR: tl.constexpr, BS: tl.constexpr,
):
    lrn_tile(
        tl.program_id(0), x_ptr, y_ptr,
        N, C, S,
        x_stride_n, x_stride_u, x_stride_s,
        y_stride_n, y_stride_c, y_stride_s,
        # fuse: args
        SIZE, ALPHA, BETA, BIAS,
        BR, BS,
    )


@triton.jit
def lrn_kernel_loop(
    x_ptr, y_ptr,
    N, C, S,
    x_stride_n, x_stride_u, x_stride_s,
    y_stride_n, y_stride_c, y_stride_s,
    WORK,
    # fuse: params
    SIZE: tl.constexpr, ALPHA: tl.constexpr, BETA: tl.constexpr, BIAS: tl.constexpr,
    BR: tl.constexpr, BS: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        lrn_tile(
            tile, x_ptr, y_ptr,
            N, C, S,
            x_stride_n, x_stride_u, x_stride_s,
            y_stride_n, y_stride_c, y_stride_s,
            # fuse: args
            SIZE, ALPHA, BETA, BIAS,
            BR, BS,
        )
