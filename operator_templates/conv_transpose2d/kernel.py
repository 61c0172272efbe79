"""2-D transposed convolution as an implicit matrix product.

Rows are the output positions (n, p, q), columns the output channels of one group, and one flattened loop runs
over the products (c, r, s). An output position meets every STRIDE-th tap only, so the positions are
split into phases of equal remainder, and each phase walks its own taps; with a dilation there is one
phase, and taps that meet no element of x are masked. `J` counts the output channels of one group.
"""

import triton
import triton.language as tl


@triton.jit
def conv_transpose2d_tile(
    tile, x_ptr, w_ptr, y_ptr,
    N, C, H, W, P, Q, J, R, S,
    x_stride_n, x_stride_c, x_stride_h, x_stride_w,
    w_stride_c, w_stride_j, w_stride_r, w_stride_s,
    y_stride_n, y_stride_k, y_stride_p, y_stride_q,
    # fuse: params
    STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
    DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, PHASES_H: tl.constexpr,
    PHASES_W: tl.constexpr, GROUPS: tl.constexpr, PRECISION: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, BK: tl.constexpr,
):
    rows_p = tl.cdiv(P, PHASES_H)
    rows_q = tl.cdiv(Q, PHASES_W)
    M = N * rows_p * rows_q
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(J, BN)
    CG = C // GROUPS
    phase = tile // (tiles_m * tiles_n * GROUPS)
    group = tile // (tiles_m * tiles_n) % GROUPS
    gm = tile // tiles_n % tiles_m * BM + tl.arange(0, BM)
    j = tile % tiles_n * BN + tl.arange(0, BN)
    k = group * J + j
    n = gm // (rows_p * rows_q)
    phase_p = phase // PHASES_W
    phase_q = phase % PHASES_W
    p = phase_p + PHASES_H * (gm // rows_q % rows_p)
    q = phase_q + PHASES_W * (gm % rows_q)
    # Taps of one phase lie PHASES apart, from the first that meets an element of x.
    taps_r = tl.cdiv(R, PHASES_H)
    taps_s = tl.cdiv(S, PHASES_W)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, CG * taps_r * taps_s, BK):
        gk = start + tl.arange(0, BK)
        c = gk // (taps_r * taps_s)
        cx = group * CG + c
        r = (phase_p + PAD_H) % PHASES_H + PHASES_H * (gk // taps_s % taps_r)
        s = (phase_q + PAD_W) % PHASES_W + PHASES_W * (gk % taps_s)
        steps_h = (p + PAD_H)[:, None] - (r * DILATION_H)[None, :]
        steps_w = (q + PAD_W)[:, None] - (s * DILATION_W)[None, :]
        at_h = steps_h // STRIDE_H
        at_w = steps_w // STRIDE_W
        on_h = (r[None, :] < R) & (steps_h >= 0) & (steps_h % STRIDE_H == 0) & (at_h < H)
        on_w = (s[None, :] < S) & (steps_w >= 0) & (steps_w % STRIDE_W == 0) & (at_w < W)
        # fuse: load X at n=n[:, None] if gm[:, None] < M, c=cx[None, :] if c[None, :] < CG,
        #   h=at_h if on_h, w=at_w if on_w
        x = tl.load(
            x_ptr + n[:, None] * x_stride_n + cx[None, :] * x_stride_c
            + at_h * x_stride_h + at_w * x_stride_w,
            mask=(gm[:, None] < M) & (c[None, :] < CG) & on_h & on_w,
            other=0.0,
        )
        # fuse: load W at c=cx[:, None] if c[:, None] < CG, j=j[None, :] if j[None, :] < J,
        #   r=r[:, None] if r[:, None] < R, s=s[:, None] if s[:, None] < S
        weight = tl.load(
            w_ptr + cx[:, None] * w_stride_c + j[None, :] * w_stride_j
            + r[:, None] * w_stride_r + s[:, None] * w_stride_s,
            mask=(c[:, None] < CG) & (j[None, :] < J) & (r[:, None] < R) & (s[:, None] < S),
            other=0.0,
        )
        acc += tl.dot(x, weight, input_precision=PRECISION)
    # fuse: value acc at n=n[:, None] if gm[:, None] < M, k=k[None, :] if j[None, :] < J,
    #   p=p[:, None] if p[:, None] < P, q=q[:, None] if q[:, None] < Q
    # fuse: store Y at n=n[:, None] if gm[:, None] < M, k=k[None, :] if j[None, :] < J,
    #   p=p[:, None] if p[:, None] < P, q=q[:, None] if q[:, None] < Q
    tl.store(
        y_ptr + n[:, None] * y_stride_n + k[None, :] * y_stride_k
        + p[:, None] * y_stride_p + q[:, None] * y_stride_q,
        acc,
        mask=(gm[:, None] < M) & (j[None, :] < J) & (p[:, None] < P) & (q[:, None] < Q),
    )


@triton.jit
def conv_transpose2d_kernel(
    x_ptr, w_ptr, y_ptr,
    N, C, H, W, P, Q, J, R, S,
    x_stride_n, x_stride_c, x_stride_h, x_stride_w,
    w_stride_c, w_stride_j, w_stride_r, w_stride_s,
    y_stride_n, y_stride_k, y_stride_p, y_stride_q,
    # fuse: params
    STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
    DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, PHASES_H: tl.constexpr,
    PHASES_W: tl.constexpr, GROUPS: tl.constexpr, PRECISION: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, BK: tl.constexpr,
):
    conv_transpose2d_tile(
        tl.program_id(0), x_ptr, w_ptr, y_ptr,
        N, C, H, W, P, Q, J, R, S,
        x_stride_n, x_stride_c, x_stride_h, x_stride_w,
        w_stride_c, w_stride_j, w_stride_r, w_stride_s,
        y_stride_n, y_stride_k, y_stride_p, y_stride_q,
        # fuse: args
        STRIDE_H, STRIDE_W, PAD_H, PAD_W, DILATION_H, DILATION_W, PHASES_H, PHASES_W, GROUPS,
        PRECISION, BM, BN, BK,
    )


@triton.jit
def conv_transpose2d_kernel_loop(
    x_ptr, w_ptr, y_ptr,
    N, C, H, W, P, Q, J, R, S,
    x_stride_n, x_stride_c, x_stride_h, x_stride_w,
    w_stride_c, w_stride_j, w_stride_r, w_stride_s,
    y_stride_n, y_stride_k, y_stride_p, y_stride_q,
    WORK,
    # fuse: params
    STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
    DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, PHASES_H: tl.constexpr,
    PHASES_W: tl.constexpr, GROUPS: tl.constexpr, PRECISION: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, BK: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        conv_transpose2d_tile(
            tile, x_ptr, w_ptr, y_ptr,
            N, C, H, W, P, Q, J, R, S,
            x_stride_n, x_stride_c, x_stride_h, x_stride_w,
            w_stride_c, w_stride_j, w_stride_r, w_stride_s,
            y_stride_n, y_stride_k, y_stride_p, y_stride_q,
            # fuse: args
            STRIDE_H, STRIDE_W, PAD_H, PAD_W, DILATION_H, DILATION_W, PHASES_H, PHASES_W,
            GROUPS, PRECISION, BM, BN, BK,
        )
