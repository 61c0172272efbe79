"""3-D convolution as an implicit matrix product.

Rows are the output positions (n, u, p, q), columns the output channels of one group, and one flattened
loop runs over the products (c, t, r, s). Padding, stride and dilation are in the address of x; what
falls outside x is masked to zero. `C` counts the input channels of one group.
"""

import triton
import triton.language as tl


@triton.jit
def conv3d_tile(
    tile, x_ptr, w_ptr, y_ptr,
    N, C, D, H, W, K, U, P, Q, T, R, S,
    x_stride_n, x_stride_c, x_stride_d, x_stride_h, x_stride_w,
    w_stride_k, w_stride_c, w_stride_t, w_stride_r, w_stride_s,
    y_stride_n, y_stride_k, y_stride_u, y_stride_p, y_stride_q,
    # fuse: params
    STRIDE_D: tl.constexpr, STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_D: tl.constexpr,
    PAD_H: tl.constexpr, PAD_W: tl.constexpr, DILATION_D: tl.constexpr,
    DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    M = N * U * P * Q
    KG = K // GROUPS
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(KG, BN)
    group = tile // (tiles_m * tiles_n)
    gm = tile // tiles_n % tiles_m * BM + tl.arange(0, BM)
    gn = tile % tiles_n * BN + tl.arange(0, BN)
    n = gm // (U * P * Q)
    u = gm // (P * Q) % U
    p = gm // Q % P
    q = gm % Q
    k = group * KG + gn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, C * T * R * S, BK):
        gk = start + tl.arange(0, BK)
        c = gk // (T * R * S)
        t = gk // (R * S) % T
        r = gk // S % R
        s = gk % S
        cx = group * C + c
        d = (u * STRIDE_D - PAD_D)[:, None] + (t * DILATION_D)[None, :]
        h = (p * STRIDE_H - PAD_H)[:, None] + (r * DILATION_H)[None, :]
        w = (q * STRIDE_W - PAD_W)[:, None] + (s * DILATION_W)[None, :]
        # fuse: load X at n=n[:, None] if gm[:, None] < M, c=cx[None, :] if c[None, :] < C,
        #   d=d if (d >= 0) & (d < D), h=h if (h >= 0) & (h < H), w=w if (w >= 0) & (w < W)
        x = tl.load(
            x_ptr + n[:, None] * x_stride_n + cx[None, :] * x_stride_c
            + d * x_stride_d + h * x_stride_h + w * x_stride_w,
            mask=(gm[:, None] < M) & (c[None, :] < C)
            & (d >= 0) & (d < D)
            & (h >= 0) & (h < H)
            & (w >= 0) & (w < W),
            other=0.0,
        )
        # fuse: load W at k=k[None, :] if gn[None, :] < KG, c=c[:, None] if c[:, None] < C,
        #   t=t[:, None], r=r[:, None], s=s[:, None]
        weight = tl.load(
            w_ptr + k[None, :] * w_stride_k + c[:, None] * w_stride_c
            + t[:, None] * w_stride_t + r[:, None] * w_stride_r + s[:, None] * w_stride_s,
            mask=(gn[None, :] < KG) & (c[:, None] < C),
            other=0.0,
        )
        acc += tl.dot(x, weight, input_precision=PRECISION)
    # fuse: value acc at n=n[:, None] if gm[:, None] < M, k=k[None, :] if gn[None, :] < KG,
    #   u=u[:, None] if gm[:, None] < M, p=p[:, None] if gm[:, None] < M,
    #   q=q[:, None] if gm[:, None] < M
    # fuse: store Y at n=n[:, None] if gm[:, None] < M, k=k[None, :] if gn[None, :] < KG,
    #   u=u[:, None] if gm[:, None] < M, p=p[:, None] if gm[:, None] < M,
    #   q=q[:, None] if gm[:, None] < M
    tl.store(
        y_ptr + n[:, None] * y_stride_n + k[None, :] * y_stride_k
        + u[:, None] * y_stride_u + p[:, None] * y_stride_p + q[:, None] * y_stride_q,
        acc,
        mask=(gm[:, None] < M) & (gn[None, :] < KG),
    )


@triton.jit
def conv3d_kernel(
    x_ptr, w_ptr, y_ptr,
    N, C, D, H, W, K, U, P, Q, T, R, S,
    x_stride_n, x_stride_c, x_stride_d, x_stride_h, x_stride_w,
    w_stride_k, w_stride_c, w_stride_t, w_stride_r, w_stride_s,
    y_stride_n, y_stride_k, y_stride_u, y_stride_p, y_stride_q,
    # fuse: params
    STRIDE_D: tl.constexpr, STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_D: tl.constexpr,
    PAD_H: tl.constexpr, PAD_W: tl.constexpr, DILATION_D: tl.constexpr,
    DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    conv3d_tile(
        tl.program_id(0), x_ptr, w_ptr, y_ptr,
        N, C, D, H, W, K, U, P, Q, T, R, S,
        x_stride_n, x_stride_c, x_stride_d, x_stride_h, x_stride_w,
        w_stride_k, w_stride_c, w_stride_t, w_stride_r, w_stride_s,
        y_stride_n, y_stride_k, y_stride_u, y_stride_p, y_stride_q,
        # fuse: args
        STRIDE_D, STRIDE_H, STRIDE_W, PAD_D, PAD_H, PAD_W, DILATION_D, DILATION_H, DILATION_W,
        GROUPS, PRECISION, BM, BN, BK,
    )


@triton.jit
def conv3d_kernel_loop(
    x_ptr, w_ptr, y_ptr,
    N, C, D, H, W, K, U, P, Q, T, R, S,
    x_stride_n, x_stride_c, x_stride_d, x_stride_h, x_stride_w,
    w_stride_k, w_stride_c, w_stride_t, w_stride_r, w_stride_s,
    y_stride_n, y_stride_k, y_stride_u, y_stride_p, y_stride_q,
    WORK,
    # fuse: params
    STRIDE_D: tl.constexpr, STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_D: tl.constexpr,
    PAD_H: tl.constexpr, PAD_W: tl.constexpr, DILATION_D: tl.constexpr,
    DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        conv3d_tile(
            tile, x_ptr, w_ptr, y_ptr,
            N, C, D, H, W, K, U, P, Q, T, R, S,
            x_stride_n, x_stride_c, x_stride_d, x_stride_h, x_stride_w,
            w_stride_k, w_stride_c, w_stride_t, w_stride_r, w_stride_s,
            y_stride_n, y_stride_k, y_stride_u, y_stride_p, y_stride_q,
            # fuse: args
            STRIDE_D, STRIDE_H, STRIDE_W, PAD_D, PAD_H, PAD_W, DILATION_D, DILATION_H,
            DILATION_W, GROUPS, PRECISION, BM, BN, BK,
        )
