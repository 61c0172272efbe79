import triton
import triton.language as tl


# compile: conv2d x_ptr=*f32 w_ptr=*f32 y_ptr=*f32 N=i32 C=i32 H=i32 W=i32 K=i32 P=i32 Q=i32 R=i32 S=i32 STRIDE=i32 PAD=i32 BM=64 BN=64 BK=32
# compile: conv2d x_ptr=*f32 w_ptr=*f32 y_ptr=*f32 N=i32 C=i32 H=i32 W=i32 K=i32 P=i32 Q=i32 R=i32 S=i32 STRIDE=i32 PAD=i32 BM=32 BN=16 BK=16
@triton.jit
def conv2d(
    x_ptr, w_ptr, y_ptr, N, C, H, W, K, P, Q, R, S, STRIDE, PAD,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    """Implicit GEMM over NCHW: rows are output pixels, columns filters, the sum runs over c, r, s."""
    pixel = tl.program_id(0) * BM + tl.arange(0, BM)
    filter = tl.program_id(1) * BN + tl.arange(0, BN)
    image = pixel // (P * Q)
    position = pixel % (P * Q)
    p = position // Q
    q = position % Q
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, C * R * S, BK):
        term = start + tl.arange(0, BK)
        c = term // (R * S)
        tap = term % (R * S)
        h = p[:, None] * STRIDE + (tap // S)[None, :] - PAD
        w = q[:, None] * STRIDE + (tap % S)[None, :] - PAD
        inside = (h >= 0) & (h < H) & (w >= 0) & (w < W) & (image[:, None] < N) & (c[None, :] < C)
        x = tl.load(x_ptr + ((image[:, None] * C + c[None, :]) * H + h) * W + w, mask=inside, other=0.0)
        present = (term[:, None] < C * R * S) & (filter[None, :] < K)
        weight = tl.load(w_ptr + filter[None, :] * (C * R * S) + term[:, None], mask=present, other=0.0)
        acc += tl.dot(x, weight, input_precision="ieee")
    y_at = y_ptr + (image[:, None] * K + filter[None, :]) * (P * Q) + position[:, None]
    tl.store(y_at, acc, mask=(pixel[:, None] < N * P * Q) & (filter[None, :] < K))
