"""1-D convolution as an implicit matrix product.

Rows are the output positions (n, q), columns the output channels of one group, and one flattened loop
runs over the products (c, s). Padding, stride and dilation are in the address of x; what falls outside
x is masked to zero. `C` counts the input channels of one group.
"""

import triton
import triton.language as tl


@triton.jit
def conv1d_tile(
    tile, x_ptr, w_ptr, y_ptr,
    N, C, W, K, Q, S,
    x_stride_n, x_stride_c, x_stride_w,
    w_stride_k, w_stride_c, w_stride_s,
    y_stride_n, y_stride_k, y_stride_q,
    # fuse: params
    STRIDE_W: tl.constexpr, PAD_W: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    M = N * Q
    KG = K // GROUPS
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(KG, BN)
    group = tile // (tiles_m * tiles_n)
    gm = tile // tiles_n % tiles_m * BM + tl.arange(0, BM)
    gn = tile % tiles_n * BN + tl.arange(0, BN)
    n = gm // Q
    q = gm % Q
    k = group * KG + gn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, C * S, BK):
        gk = start + tl.arange(0, BK)
        c = gk // S
        s = gk % S
        cx = group * C + c
        w = (q * STRIDE_W - PAD_W)[:, None] + (s * DILATION_W)[None, :]
        # fuse: load X at n=n[:, None] if gm[:, None] < M, c=cx[None, :] if c[None, :] < C,
        #   w=w if (w >= 0) & (w < W)
        x = tl.load(
            x_ptr + n[:, None] * x_stride_n + cx[None, :] * x_stride_c
            + w * x_stride_w,
            mask=(gm[:, None] < M) & (c[None, :] < C)
            & (w >= 0) & (w < W),
            other=0.0,
        )
        # fuse: load W at k=k[None, :] if gn[None, :] < KG, c=c[:, None] if c[:, None] < C,
        #   s=s[:, None]
        weight = tl.load(
            w_ptr + k[None, :] * w_stride_k + c[:, None] * w_stride_c
            + s[:, None] * w_stride_s,
            mask=(gn[None, :] < KG) & (c[:, None] < C),
            other=0.0,
        )
        acc += tl.dot(x, weight, input_precision=PRECISION)
    # fuse: value acc at n=n[:, None] if gm[:, None] < M, k=k[None, :] if gn[None, :] < KG,
    #   q=q[:, None] if gm[:, None] < M
    # fuse: store Y at n=n[:, None] if gm[:, None] < M, k=k[None, :] if gn[None, :] < KG,
    #   q=q[:, None] if gm[:, None] < M
    tl.store(
        y_ptr + n[:, None] * y_stride_n + k[None, :] * y_stride_k
        + q[:, None] * y_stride_q,
        acc,
        mask=(gm[:, None] < M) & (gn[None, :] < KG),
    )


@triton.jit
def conv1d_kernel(
    x_ptr, w_ptr, y_ptr,
    N, C, W, K, Q, S,
    x_stride_n, x_stride_c, x_stride_w,
    w_stride_k, w_stride_c, w_stride_s,
    y_stride_n, y_stride_k, y_stride_q,
    # fuse: params
    STRIDE_W: tl.constexpr, PAD_W: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    conv1d_tile(
        tl.program_id(0), x_ptr, w_ptr, y_ptr,
        N, C, W, K, Q, S,
        x_stride_n, x_stride_c, x_stride_w,
        w_stride_k, w_stride_c, w_stride_s,
        y_stride_n, y_stride_k, y_stride_q,
        # fuse: args
        STRIDE_W, PAD_W, DILATION_W, GROUPS, PRECISION, BM, BN, BK,
    )


@triton.jit
def conv1d_kernel_loop(
    x_ptr, w_ptr, y_ptr,
    N, C, W, K, Q, S,
    x_stride_n, x_stride_c, x_stride_w,
    w_stride_k, w_stride_c, w_stride_s,
    y_stride_n, y_stride_k, y_stride_q,
    WORK,
    # fuse: params
    STRIDE_W: tl.constexpr, PAD_W: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        conv1d_tile(
            tile, x_ptr, w_ptr, y_ptr,
            N, C, W, K, Q, S,
            x_stride_n, x_stride_c, x_stride_w,
            w_stride_k, w_stride_c, w_stride_s,
            y_stride_n, y_stride_k, y_stride_q,
            # fuse: args
            STRIDE_W, PAD_W, DILATION_W, GROUPS, PRECISION, BM, BN, BK,
        )
