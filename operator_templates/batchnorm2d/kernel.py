"""Inference-mode batch normalisation, y = (x - mean) / sqrt(var + epsilon) * scale + bias.

A tile is BR rows, each one channel of one image, by BS positions of that plane.
"""

import triton
import triton.language as tl


@triton.jit
def batchnorm2d_tile(
    tile, x_ptr, scale_ptr, bias_ptr, mean_ptr, var_ptr, y_ptr,
    N, C, S,
    x_stride_n, x_stride_c, x_stride_s,
    scale_stride_c, bias_stride_c, mean_stride_c, var_stride_c,
    y_stride_n, y_stride_c, y_stride_s,
    # fuse: params
    EPSILON: tl.constexpr, BR: tl.constexpr, BS: tl.constexpr,
):
    tiles_s = tl.cdiv(S, BS)
    row = tile // tiles_s * BR + tl.arange(0, BR)
    s = tile % tiles_s * BS + tl.arange(0, BS)
    n = row // C
    c = row % C
    # fuse: load MEAN at c=c if n < N
    mean = tl.load(mean_ptr + c * mean_stride_c, mask=n < N, other=0.0)
    # fuse: load VAR at c=c if n < N
    var = tl.load(var_ptr + c * var_stride_c, mask=n < N, other=1.0)
    # fuse: load SCALE at c=c if n < N
    scale = tl.load(scale_ptr + c * scale_stride_c, mask=n < N, other=0.0)
    # fuse: load BIAS at c=c if n < N
    bias = tl.load(bias_ptr + c * bias_stride_c, mask=n < N, other=0.0)
    factor = tl.div_rn(scale.to(tl.float32), tl.sqrt_rn(var.to(tl.float32) + EPSILON))
    # fuse: load X at n=n[:, None] if n[:, None] < N, c=c[:, None] if n[:, None] < N,
    #   s=s[None, :] if s[None, :] < S
    x = tl.load(
        x_ptr + n[:, None] * x_stride_n + c[:, None] * x_stride_c + s[None, :] * x_stride_s,
        mask=(n[:, None] < N) & (s[None, :] < S),
        other=0.0,
    )
    centred = x.to(tl.float32) - mean.to(tl.float32)[:, None]
    y = centred * factor[:, None] + bias.to(tl.float32)[:, None]
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
def batchnorm2d_kernel(
    x_ptr, scale_ptr, bias_ptr, mean_ptr, var_ptr, y_ptr,
    N, C, S,
    x_stride_n, x_stride_c, x_stride_s,
    scale_stride_c, bias_stride_c, mean_stride_c, var_stride_c,
    y_stride_n, y_stride_c, y_stride_s,
    # fuse: params
    EPSILON: tl.constexpr, BR: tl.constexpr, BS: tl.constexpr,
):
    batchnorm2d_tile(
        tl.program_id(0), x_ptr, scale_ptr, bias_ptr, mean_ptr, var_ptr, y_ptr,
        N, C, S,
        x_stride_n, x_stride_c, x_stride_s,
        scale_stride_c, bias_stride_c, mean_stride_c, var_stride_c,
        y_stride_n, y_stride_c, y_stride_s,
        # fuse: args
        EPSILON, BR, BS,
    )


@triton.jit
def batchnorm2d_kernel_loop(
    x_ptr, scale_ptr, bias_ptr, mean_ptr, var_ptr, y_ptr,
    N, C, S,
    x_stride_n, x_stride_c, x_stride_s,
    scale_stride_c, bias_stride_c, mean_stride_c, var_stride_c,
    y_stride_n, y_stride_c, y_stride_s,
    WORK,
    # fuse: params
    EPSILON: tl.constexpr, BR: tl.constexpr, BS: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        batchnorm2d_tile(
            tile, x_ptr, scale_ptr, bias_ptr, mean_ptr, var_ptr, y_ptr,
            N, C, S,
            x_stride_n, x_stride_c, x_stride_s,
            scale_stride_c, bias_stride_c, mean_stride_c, var_stride_c,
            y_stride_n, y_stride_c, y_stride_s,
            # fuse: args
            EPSILON, BR, BS,
        )
