//! Bound texts of convolutions and matrix products.

use super::*;

#[test]
fn convolution_alone() {
    let mut b = Builder::new();
    let (x, w) = (b.input("x", &[1, 3, 16, 16]), b.weight("w", &[8, 3, 3, 3], Role::Weight { fan_in: 27 }));
    let (conv, _) = b.node(conv_op(1, 1), &[Some(x), Some(w)], &[1, 8, 16, 16]);
    check(
        &bind_contiguous(&b.graph, &Cluster::of(conv)),
        expect![[r#"
        @triton.jit
        def conv2d_resnet_tile(
            tile, x_ptr, w_ptr, y_ptr,
            N, C, H, W, K, P, Q, R, S,
            x_stride_n, x_stride_c, x_stride_h, x_stride_w,
            w_stride_k, w_stride_c, w_stride_r, w_stride_s,
            y_stride_n, y_stride_k, y_stride_p, y_stride_q,
            STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
            DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
            PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
        ):
            M = N * P * Q
            KG = K // GROUPS
            tiles_m = tl.cdiv(M, BM)
            tiles_n = tl.cdiv(KG, BN)
            group = tile // (tiles_m * tiles_n)
            gm = tile // tiles_n % tiles_m * BM + tl.arange(0, BM)
            gn = tile % tiles_n * BN + tl.arange(0, BN)
            n = gm // (P * Q)
            p = gm // Q % P
            q = gm % Q
            k = group * KG + gn
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for start in range(0, C * R * S, BK):
                gk = start + tl.arange(0, BK)
                c = gk // (R * S)
                r = gk // S % R
                s = gk % S
                cx = group * C + c
                h = (p * STRIDE_H - PAD_H)[:, None] + (r * DILATION_H)[None, :]
                w = (q * STRIDE_W - PAD_W)[:, None] + (s * DILATION_W)[None, :]
                x = tl.load(
                    x_ptr + n[:, None] * x_stride_n + cx[None, :] * x_stride_c
                    + h * x_stride_h + w * x_stride_w,
                    mask=(gm[:, None] < M) & (c[None, :] < C)
                    & (h >= 0) & (h < H) & (w >= 0) & (w < W),
                    other=0.0,
                )
                weight = tl.load(
                    w_ptr + k[None, :] * w_stride_k + c[:, None] * w_stride_c
                    + r[:, None] * w_stride_r + s[:, None] * w_stride_s,
                    mask=(gn[None, :] < KG) & (c[:, None] < C),
                    other=0.0,
                )
                acc += tl.dot(x, weight, input_precision=PRECISION)
            tl.store(
                y_ptr + n[:, None] * y_stride_n + k[None, :] * y_stride_k
                + p[:, None] * y_stride_p + q[:, None] * y_stride_q,
                acc,
                mask=(gm[:, None] < M) & (gn[None, :] < KG),
            )


        @triton.jit
        def conv2d_resnet_kernel(
            x_ptr, w_ptr, y_ptr,
            N, C, H, W, K, P, Q, R, S,
            x_stride_n, x_stride_c, x_stride_h, x_stride_w,
            w_stride_k, w_stride_c, w_stride_r, w_stride_s,
            y_stride_n, y_stride_k, y_stride_p, y_stride_q,
            STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
            DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
            PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
        ):
            conv2d_resnet_tile(
                tl.program_id(0), x_ptr, w_ptr, y_ptr,
                N, C, H, W, K, P, Q, R, S,
                x_stride_n, x_stride_c, x_stride_h, x_stride_w,
                w_stride_k, w_stride_c, w_stride_r, w_stride_s,
                y_stride_n, y_stride_k, y_stride_p, y_stride_q,
                STRIDE_H, STRIDE_W, PAD_H, PAD_W, DILATION_H, DILATION_W, GROUPS,
                PRECISION, BM, BN, BK,
            )
    "#]],
        expect![[r#"
            template conv2d_resnet
            operand x: f32 [1, 3, 16, 16] Read
            operand w: f32 [8, 3, 3, 3] Read
            operand y: f32 [1, 8, 16, 16] Write
            N = x.shape[0]  # 1
            C = w.shape[1]  # 3
            H = x.shape[2]  # 16
            W = x.shape[3]  # 16
            K = w.shape[0]  # 8
            P = y.shape[2]  # 16
            Q = y.shape[3]  # 16
            R = w.shape[2]  # 3
            S = w.shape[3]  # 3
            BM = 64  # 64
            GROUPS = 1  # 1
            BN = 16  # 16
            conv2d_resnet_kernel[triton.cdiv(N * P * Q, BM) * triton.cdiv(K // GROUPS, BN) * GROUPS (4), 1 (1), 1 (1)] warps 4 stages 3
              x_ptr = x
              w_ptr = w
              y_ptr = y
              N = N (1)
              C = C (3)
              H = H (16)
              W = W (16)
              K = K (8)
              P = P (16)
              Q = Q (16)
              R = R (3)
              S = S (3)
              x_stride_n = x.stride(0) (768)
              x_stride_c = x.stride(1) (256)
              x_stride_h = x.stride(2) (16)
              x_stride_w = x.stride(3) (1)
              w_stride_k = w.stride(0) (27)
              w_stride_c = w.stride(1) (9)
              w_stride_r = w.stride(2) (3)
              w_stride_s = w.stride(3) (1)
              y_stride_n = y.stride(0) (2048)
              y_stride_k = y.stride(1) (256)
              y_stride_p = y.stride(2) (16)
              y_stride_q = y.stride(3) (1)
              STRIDE_H = constexpr 1 (1)
              STRIDE_W = constexpr 1 (1)
              PAD_H = constexpr 1 (1)
              PAD_W = constexpr 1 (1)
              DILATION_H = constexpr 1 (1)
              DILATION_W = constexpr 1 (1)
              GROUPS = constexpr GROUPS (1)
              PRECISION = constexpr "ieee"
              BM = constexpr BM (64)
              BN = constexpr BN (16)
              BK = constexpr 32 (32)
        "#]],
    );
}

#[test]
fn convolution_with_bias_residual_and_relu() {
    let mut b = Builder::new();
    let (x, w) = (b.input("x", &[1, 3, 16, 16]), b.weight("w", &[8, 3, 3, 3], Role::Weight { fan_in: 27 }));
    let bias = b.weight("bias", &[8], Role::Bias);
    let skip = b.input("skip", &[1, 8, 16, 16]);
    let (conv, y) = b.node(conv_op(1, 1), &[Some(x), Some(w), Some(bias)], &[1, 8, 16, 16]);
    let (add, sum) = b.map("add", "add(r0, r1)", &[y, skip]);
    let (relu, _) = b.map("relu", "max_nan(r0, 0.0)", &[sum]);
    let cluster = Cluster { anchor: conv, prologues: vec![], epilogues: vec![add, relu] };
    check(
        &bind_contiguous(&b.graph, &cluster),
        expect![[r#"
        @triton.jit
        def conv2d_resnet_tile(
            tile, x_ptr, w_ptr, y_ptr,
            N, C, H, W, K, P, Q, R, S,
            x_stride_n, x_stride_c, x_stride_h, x_stride_w,
            w_stride_k, w_stride_c, w_stride_r, w_stride_s,
            y_stride_n, y_stride_k, y_stride_p, y_stride_q,
            bias_ptr, bias_stride_k,
            residual_ptr, residual_stride_k, residual_stride_p, residual_stride_q,
            STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
            DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
            PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
        ):
            M = N * P * Q
            KG = K // GROUPS
            tiles_m = tl.cdiv(M, BM)
            tiles_n = tl.cdiv(KG, BN)
            group = tile // (tiles_m * tiles_n)
            gm = tile // tiles_n % tiles_m * BM + tl.arange(0, BM)
            gn = tile % tiles_n * BN + tl.arange(0, BN)
            n = gm // (P * Q)
            p = gm // Q % P
            q = gm % Q
            k = group * KG + gn
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for start in range(0, C * R * S, BK):
                gk = start + tl.arange(0, BK)
                c = gk // (R * S)
                r = gk // S % R
                s = gk % S
                cx = group * C + c
                h = (p * STRIDE_H - PAD_H)[:, None] + (r * DILATION_H)[None, :]
                w = (q * STRIDE_W - PAD_W)[:, None] + (s * DILATION_W)[None, :]
                x = tl.load(
                    x_ptr + n[:, None] * x_stride_n + cx[None, :] * x_stride_c
                    + h * x_stride_h + w * x_stride_w,
                    mask=(gm[:, None] < M) & (c[None, :] < C)
                    & (h >= 0) & (h < H) & (w >= 0) & (w < W),
                    other=0.0,
                )
                weight = tl.load(
                    w_ptr + k[None, :] * w_stride_k + c[:, None] * w_stride_c
                    + r[:, None] * w_stride_r + s[:, None] * w_stride_s,
                    mask=(gn[None, :] < KG) & (c[:, None] < C),
                    other=0.0,
                )
                acc += tl.dot(x, weight, input_precision=PRECISION)
            bias = tl.load(bias_ptr + k[None, :] * bias_stride_k, mask=gn[None, :] < KG, other=0.0)
            acc_bias = acc + bias
            residual = tl.load(
                residual_ptr + k[None, :] * residual_stride_k + p[:, None] * residual_stride_p
                + q[:, None] * residual_stride_q,
                mask=(gn[None, :] < KG) & (gm[:, None] < M),
                other=0.0,
            )
            acc_add = acc_bias + residual
            acc_relu = tl.where(acc_add < 0, 0, acc_add)
            tl.store(
                y_ptr + n[:, None] * y_stride_n + k[None, :] * y_stride_k
                + p[:, None] * y_stride_p + q[:, None] * y_stride_q,
                acc_relu,
                mask=(gm[:, None] < M) & (gn[None, :] < KG),
            )


        @triton.jit
        def conv2d_resnet_kernel(
            x_ptr, w_ptr, y_ptr,
            N, C, H, W, K, P, Q, R, S,
            x_stride_n, x_stride_c, x_stride_h, x_stride_w,
            w_stride_k, w_stride_c, w_stride_r, w_stride_s,
            y_stride_n, y_stride_k, y_stride_p, y_stride_q,
            bias_ptr, bias_stride_k,
            residual_ptr, residual_stride_k, residual_stride_p, residual_stride_q,
            STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
            DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
            PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
        ):
            conv2d_resnet_tile(
                tl.program_id(0), x_ptr, w_ptr, y_ptr,
                N, C, H, W, K, P, Q, R, S,
                x_stride_n, x_stride_c, x_stride_h, x_stride_w,
                w_stride_k, w_stride_c, w_stride_r, w_stride_s,
                y_stride_n, y_stride_k, y_stride_p, y_stride_q,
                bias_ptr, bias_stride_k,
                residual_ptr, residual_stride_k, residual_stride_p, residual_stride_q,
                STRIDE_H, STRIDE_W, PAD_H, PAD_W, DILATION_H, DILATION_W, GROUPS,
                PRECISION, BM, BN, BK,
            )
    "#]],
        expect![[r#"
            template conv2d_resnet
            operand x: f32 [1, 3, 16, 16] Read
            operand w: f32 [8, 3, 3, 3] Read
            operand bias: f32 [8] Read
            operand residual: f32 [1, 8, 16, 16] Read
            operand y: f32 [1, 8, 16, 16] Write
            N = x.shape[0]  # 1
            C = w.shape[1]  # 3
            H = x.shape[2]  # 16
            W = x.shape[3]  # 16
            K = w.shape[0]  # 8
            P = y.shape[2]  # 16
            Q = y.shape[3]  # 16
            R = w.shape[2]  # 3
            S = w.shape[3]  # 3
            BM = 64  # 64
            GROUPS = 1  # 1
            BN = 16  # 16
            conv2d_resnet_kernel[triton.cdiv(N * P * Q, BM) * triton.cdiv(K // GROUPS, BN) * GROUPS (4), 1 (1), 1 (1)] warps 4 stages 3
              x_ptr = x
              w_ptr = w
              y_ptr = y
              N = N (1)
              C = C (3)
              H = H (16)
              W = W (16)
              K = K (8)
              P = P (16)
              Q = Q (16)
              R = R (3)
              S = S (3)
              x_stride_n = x.stride(0) (768)
              x_stride_c = x.stride(1) (256)
              x_stride_h = x.stride(2) (16)
              x_stride_w = x.stride(3) (1)
              w_stride_k = w.stride(0) (27)
              w_stride_c = w.stride(1) (9)
              w_stride_r = w.stride(2) (3)
              w_stride_s = w.stride(3) (1)
              y_stride_n = y.stride(0) (2048)
              y_stride_k = y.stride(1) (256)
              y_stride_p = y.stride(2) (16)
              y_stride_q = y.stride(3) (1)
              bias_ptr = bias
              bias_stride_k = bias.stride(0) (1)
              residual_ptr = residual
              residual_stride_k = residual.stride(1) (256)
              residual_stride_p = residual.stride(2) (16)
              residual_stride_q = residual.stride(3) (1)
              STRIDE_H = constexpr 1 (1)
              STRIDE_W = constexpr 1 (1)
              PAD_H = constexpr 1 (1)
              PAD_W = constexpr 1 (1)
              DILATION_H = constexpr 1 (1)
              DILATION_W = constexpr 1 (1)
              GROUPS = constexpr GROUPS (1)
              PRECISION = constexpr "ieee"
              BM = constexpr BM (64)
              BN = constexpr BN (16)
              BK = constexpr 32 (32)
        "#]],
    );
}

#[test]
fn matmul_with_a_row_added() {
    let mut b = Builder::new();
    let (x, w) = (b.input("x", &[1, 2048]), b.weight("w", &[2048, 1000], Role::Weight { fan_in: 2048 }));
    let row = b.weight("row", &[1000], Role::Bias);
    let (matmul, y) = b.node(Op::MatMul, &[Some(x), Some(w)], &[1, 1000]);
    let (add, _) = b.map("add", "add(r0, r1)", &[y, row]);
    let cluster = Cluster { anchor: matmul, prologues: vec![], epilogues: vec![add] };
    check(
        &bind_contiguous(&b.graph, &cluster),
        expect![[r#"
        @triton.jit
        def matmul_tile(
            tile, a_ptr, b_ptr, y_ptr,
            B, M, N, K,
            a_stride_b, a_stride_m, a_stride_k,
            b_stride_b, b_stride_k, b_stride_n,
            y_stride_b, y_stride_m, y_stride_n,
            bias_ptr, bias_stride_n,
            PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
        ):
            tiles_m = tl.cdiv(M, BM)
            tiles_n = tl.cdiv(N, BN)
            b = tile // (tiles_m * tiles_n)
            m = tile // tiles_n % tiles_m * BM + tl.arange(0, BM)
            n = tile % tiles_n * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for start in range(0, K, BK):
                k = start + tl.arange(0, BK)
                left = tl.load(
                    a_ptr + b * a_stride_b + m[:, None] * a_stride_m + k[None, :] * a_stride_k,
                    mask=(m[:, None] < M) & (k[None, :] < K),
                    other=0.0,
                )
                right = tl.load(
                    b_ptr + b * b_stride_b + k[:, None] * b_stride_k + n[None, :] * b_stride_n,
                    mask=(k[:, None] < K) & (n[None, :] < N),
                    other=0.0,
                )
                acc += tl.dot(left, right, input_precision=PRECISION)
            bias = tl.load(bias_ptr + n[None, :] * bias_stride_n, mask=n[None, :] < N, other=0.0)
            acc_add = acc + bias
            tl.store(
                y_ptr + b * y_stride_b + m[:, None] * y_stride_m + n[None, :] * y_stride_n,
                acc_add,
                mask=(m[:, None] < M) & (n[None, :] < N),
            )


        @triton.jit
        def matmul_kernel(
            a_ptr, b_ptr, y_ptr,
            B, M, N, K,
            a_stride_b, a_stride_m, a_stride_k,
            b_stride_b, b_stride_k, b_stride_n,
            y_stride_b, y_stride_m, y_stride_n,
            bias_ptr, bias_stride_n,
            PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
        ):
            matmul_tile(
                tl.program_id(0), a_ptr, b_ptr, y_ptr,
                B, M, N, K,
                a_stride_b, a_stride_m, a_stride_k,
                b_stride_b, b_stride_k, b_stride_n,
                y_stride_b, y_stride_m, y_stride_n,
                bias_ptr, bias_stride_n,
                PRECISION, BM, BN, BK,
            )
    "#]],
        expect![[r#"
            template matmul
            operand a: f32 [1, 2048] Read
            operand b: f32 [2048, 1000] Read
            operand bias: f32 [1000] Read
            operand y: f32 [1, 1000] Write
            B = 1  # 1
            M = a.shape[0]  # 1
            N = b.shape[1]  # 1000
            K = a.shape[1]  # 2048
            BM = 16  # 16
            BN = 16  # 16
            matmul_kernel[triton.cdiv(M, BM) * triton.cdiv(N, BN) * B (63), 1 (1), 1 (1)] warps 4 stages 3
              a_ptr = a
              b_ptr = b
              y_ptr = y
              B = B (1)
              M = M (1)
              N = N (1000)
              K = K (2048)
              a_stride_b = 0 (0)
              a_stride_m = a.stride(0) (2048)
              a_stride_k = a.stride(1) (1)
              b_stride_b = 0 (0)
              b_stride_k = b.stride(0) (1000)
              b_stride_n = b.stride(1) (1)
              y_stride_b = 0 (0)
              y_stride_m = y.stride(0) (1000)
              y_stride_n = y.stride(1) (1)
              bias_ptr = bias
              bias_stride_n = bias.stride(0) (1)
              PRECISION = constexpr "ieee"
              BM = constexpr BM (16)
              BN = constexpr BN (16)
              BK = constexpr 128 (128)
        "#]],
    );
}

#[test]
fn batch_axes_that_broadcast_both_ways_are_cut() {
    let mut b = Builder::new();
    let (x, y) = (b.input("x", &[2, 1, 4, 20]), b.input("y", &[3, 20, 6]));
    let (matmul, _) = b.node(Op::MatMul, &[Some(x), Some(y)], &[2, 3, 4, 6]);
    check(
        &bind_contiguous(&b.graph, &Cluster::of(matmul)),
        expect![[r#"
            @triton.jit
            def matmul_tile(
                tile, a_ptr, b_ptr, y_ptr,
                B, M, N, K,
                a_stride_m, a_stride_k,
                b_stride_k, b_stride_n,
                y_stride_b, y_stride_m, y_stride_n,
                B1,
                a_stride_b0,
                b_stride_b1,
                PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            ):
                tiles_m = tl.cdiv(M, BM)
                tiles_n = tl.cdiv(N, BN)
                b = tile // (tiles_m * tiles_n)
                m = tile // tiles_n % tiles_m * BM + tl.arange(0, BM)
                n = tile % tiles_n * BN + tl.arange(0, BN)
                acc = tl.zeros((BM, BN), dtype=tl.float32)
                for start in range(0, K, BK):
                    k = start + tl.arange(0, BK)
                    b0 = b // B1
                    left = tl.load(
                        a_ptr + b0 * a_stride_b0 + m[:, None] * a_stride_m + k[None, :] * a_stride_k,
                        mask=(m[:, None] < M) & (k[None, :] < K),
                        other=0.0,
                    )
                    b1 = b % B1
                    right = tl.load(
                        b_ptr + b1 * b_stride_b1 + k[:, None] * b_stride_k + n[None, :] * b_stride_n,
                        mask=(k[:, None] < K) & (n[None, :] < N),
                        other=0.0,
                    )
                    acc += tl.dot(left, right, input_precision=PRECISION)
                tl.store(
                    y_ptr + b * y_stride_b + m[:, None] * y_stride_m + n[None, :] * y_stride_n,
                    acc,
                    mask=(m[:, None] < M) & (n[None, :] < N),
                )


            @triton.jit
            def matmul_kernel(
                a_ptr, b_ptr, y_ptr,
                B, M, N, K,
                a_stride_m, a_stride_k,
                b_stride_k, b_stride_n,
                y_stride_b, y_stride_m, y_stride_n,
                B1,
                a_stride_b0,
                b_stride_b1,
                PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            ):
                matmul_tile(
                    tl.program_id(0), a_ptr, b_ptr, y_ptr,
                    B, M, N, K,
                    a_stride_m, a_stride_k,
                    b_stride_k, b_stride_n,
                    y_stride_b, y_stride_m, y_stride_n,
                    B1,
                    a_stride_b0,
                    b_stride_b1,
                    PRECISION, BM, BN, BK,
                )
        "#]],
        expect![[r#"
            template matmul
            operand a: f32 [2, 1, 4, 20] Read
            operand b: f32 [3, 20, 6] Read
            operand y: f32 [2, 3, 4, 6] Write
            B = y.shape[0] * y.shape[1]  # 6
            M = a.shape[2]  # 4
            N = b.shape[2]  # 6
            K = a.shape[3]  # 20
            BM = 16  # 16
            BN = 16  # 16
            matmul_kernel[triton.cdiv(M, BM) * triton.cdiv(N, BN) * B (6), 1 (1), 1 (1)] warps 4 stages 3
              a_ptr = a
              b_ptr = b
              y_ptr = y
              B = B (6)
              M = M (4)
              N = N (6)
              K = K (20)
              a_stride_m = a.stride(2) (20)
              a_stride_k = a.stride(3) (1)
              b_stride_k = b.stride(1) (6)
              b_stride_n = b.stride(2) (1)
              y_stride_b = y.stride(1) (24)
              y_stride_m = y.stride(2) (6)
              y_stride_n = y.stride(3) (1)
              B1 = b.shape[0] (3)
              a_stride_b0 = a.stride(0) (80)
              b_stride_b1 = b.stride(0) (120)
              PRECISION = constexpr "ieee"
              BM = constexpr BM (16)
              BN = constexpr BN (16)
              BK = constexpr 32 (32)
        "#]],
    );
}
