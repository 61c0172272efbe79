# compile: conv2d x_ptr=*f32 w_ptr=*f32 y_ptr=*f32 N=i32 C=i32 H=i32 W=i32 K=i32 P=i32 Q=i32 R=i32 S=i32 PAD=i32 BM=16 BN=16 BK=16
# buffer: x f32[150]
# buffer: w f32[108]
# buffer: y f32[100]
# launch: 2,1 x w y 1 3 7 7 4 5 5 3 3 0
import triton
import triton.language as tl


@triton.jit
def conv2d(x_ptr, w_ptr, y_ptr, N, C, H, W, K, P, Q, R, S, PAD,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    gm = tl.program_id(0) * BM + tl.arange(0, BM)
    gn = tl.program_id(1) * BN + tl.arange(0, BN)
    n = gm // (P * Q)
    npq = gm % (P * Q)
    p = npq // Q
    q = npq % Q
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    GK = C * R * S
    for k0 in range(0, GK, BK):
        gk = k0 + tl.arange(0, BK)
        c = gk // (R * S)
        rs = gk % (R * S)
        h = p[:, None] + (rs // S)[None, :] - PAD
        w = q[:, None] + (rs % S)[None, :] - PAD
        mx = (h >= 0) & (h < H) & (w >= 0) & (w < W) & (n[:, None] < N) & (c[None, :] < C)
        x = tl.load(x_ptr + ((n[:, None] * C + c[None, :]) * H + h) * W + w, mask=mx, other=0.0)
        mw = (gk[:, None] < GK) & (gn[None, :] < K)
        wt = tl.load(w_ptr + gn[None, :] * GK + gk[:, None], mask=mw, other=0.0)
        acc = tl.dot(x, wt, acc, input_precision="ieee")
    my = (gm[:, None] < N * P * Q) & (gn[None, :] < K)
    tl.store(y_ptr + (n[:, None] * K + gn[None, :]) * (P * Q) + npq[:, None], acc, mask=my)
