# compile: conv x_ptr=*f32 w_ptr=*f32 y_ptr=*f32 N=1 C=i32 H=i32 W=i32 K=i32 P=i32 Q=i32 R=i32 S=i32 stride_h=1 stride_w=1 pad_h=1 pad_w=1 BM=64 BN=64 BK=32
# compile: conv x_ptr=*f16 w_ptr=*f16 y_ptr=*f32 N=i32 C=i32 H=i32 W=i32 K=i32 P=i32 Q=i32 R=3 S=3 stride_h=i32 stride_w=i32 pad_h=i32 pad_w=i32 BM=16 BN=32 BK=64
import triton
import triton.language as tl


@triton.jit
def conv(x_ptr, w_ptr, y_ptr, N, C, H, W, K, P, Q, R, S, stride_h, stride_w, pad_h, pad_w,
         BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # A product of output pixels by filters over the taps, with x gathered on the fly.
    pixel = tl.program_id(0) * BM + tl.arange(0, BM)
    filter = tl.program_id(1) * BN + tl.arange(0, BN)
    image = pixel // (P * Q)
    in_image = pixel % (P * Q)
    p = in_image // Q
    q = in_image % Q
    taps = C * R * S
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, taps, BK):
        tap = start + tl.arange(0, BK)
        c = tap // (R * S)
        in_window = tap % (R * S)
        r = in_window // S
        s = in_window % S
        h = p[:, None] * stride_h + r[None, :] - pad_h
        w = q[:, None] * stride_w + s[None, :] - pad_w
        inside = (h >= 0) & (h < H) & (w >= 0) & (w < W) & (image[:, None] < N) & (c[None, :] < C)
        x = tl.load(x_ptr + ((image[:, None] * C + c[None, :]) * H + h) * W + w, mask=inside, other=0.0)
        wanted = (tap[:, None] < taps) & (filter[None, :] < K)
        weight = tl.load(w_ptr + filter[None, :] * taps + tap[:, None], mask=wanted, other=0.0)
        acc = tl.dot(x, weight, acc, input_precision="ieee")
    wanted = (pixel[:, None] < N * P * Q) & (filter[None, :] < K)
    tl.store(y_ptr + (image[:, None] * K + filter[None, :]) * (P * Q) + in_image[:, None], acc, mask=wanted)
