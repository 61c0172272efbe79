# The four kernels that are timed against Triton's interpreter.
import triton
import triton.language as tl


# compile: vecadd x_ptr=*f32 y_ptr=*f32 out_ptr=*f32 n=i32 BLOCK=1024
# compile: vecadd x_ptr=*f32 y_ptr=*f32 out_ptr=*f32 n=i32 BLOCK=64
@triton.jit
def vecadd(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


# compile: softmax out_ptr=*f32 in_ptr=*f32 in_stride=i32 out_stride=i32 columns=i32 BLOCK=1024
# compile: softmax out_ptr=*f32 in_ptr=*f32 in_stride=i32 out_stride=i32 columns=i32 BLOCK=64
@triton.jit
def softmax(out_ptr, in_ptr, in_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(in_ptr + row * in_stride + column, mask=mask, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    e = tl.exp(x)
    tl.store(out_ptr + row * out_stride + column, e / tl.sum(e, axis=0), mask=mask)


# compile: matmul a_ptr=*f32 b_ptr=*f32 c_ptr=*f32 M=i32 N=i32 K=i32 sam=i32 sak=i32 sbk=i32 sbn=i32 scm=i32 scn=i32 BM=64 BN=64 BK=32 GROUP=8
# compile: matmul a_ptr=*f32 b_ptr=*f32 c_ptr=*f32 M=i32 N=i32 K=i32 sam=i32 sak=i32 sbk=i32 sbn=i32 scm=i32 scn=i32 BM=16 BN=32 BK=16 GROUP=2
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    blocks_m = tl.cdiv(M, BM)
    blocks_n = tl.cdiv(N, BN)
    in_group = GROUP * blocks_n
    group = pid // in_group
    first = group * GROUP
    size = min(blocks_m - first, GROUP)
    pid_m = first + ((pid % in_group) % size)
    pid_n = (pid % in_group) // size
    rows = (pid_m * BM + tl.arange(0, BM)) % M
    columns = (pid_n * BN + tl.arange(0, BN)) % N
    inner = tl.arange(0, BK)
    a_ptrs = a_ptr + (rows[:, None] * sam + inner[None, :] * sak)
    b_ptrs = b_ptr + (inner[:, None] * sbk + columns[None, :] * sbn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=inner[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    m = pid_m * BM + tl.arange(0, BM)
    n = pid_n * BN + tl.arange(0, BN)
    c_ptrs = c_ptr + scm * m[:, None] + scn * n[None, :]
    tl.store(c_ptrs, acc, mask=(m[:, None] < M) & (n[None, :] < N))


# compile: conv2d x_ptr=*f32 w_ptr=*f32 y_ptr=*f32 N=i32 C=i32 H=i32 W=i32 K=i32 P=i32 Q=i32 R=i32 S=i32 stride_h=i32 stride_w=i32 pad_h=i32 pad_w=i32 BM=64 BN=64 BK=32
# compile: conv2d x_ptr=*f32 w_ptr=*f32 y_ptr=*f32 N=i32 C=i32 H=i32 W=i32 K=i32 P=i32 Q=i32 R=i32 S=i32 stride_h=i32 stride_w=i32 pad_h=i32 pad_w=i32 BM=32 BN=16 BK=16
@triton.jit
def conv2d(x_ptr, w_ptr, y_ptr, N, C, H, W, K, P, Q, R, S, stride_h, stride_w, pad_h, pad_w,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    gm = tl.program_id(0) * BM + tl.arange(0, BM)
    gn = tl.program_id(1) * BN + tl.arange(0, BN)
    n = gm // (P * Q)
    pq = gm % (P * Q)
    p = pq // Q
    q = pq % Q
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    taps = C * R * S
    for start in range(0, taps, BK):
        gk = start + tl.arange(0, BK)
        c = gk // (R * S)
        rs = gk % (R * S)
        r = rs // S
        s = rs % S
        h = p[:, None] * stride_h + r[None, :] - pad_h
        w = q[:, None] * stride_w + s[None, :] - pad_w
        inside = (h >= 0) & (h < H) & (w >= 0) & (w < W) & (n[:, None] < N) & (c[None, :] < C)
        x = tl.load(x_ptr + ((n[:, None] * C + c[None, :]) * H + h) * W + w, mask=inside, other=0.0)
        known = (gk[:, None] < taps) & (gn[None, :] < K)
        weight = tl.load(w_ptr + gn[None, :] * taps + gk[:, None], mask=known, other=0.0)
        acc = tl.dot(x, weight, acc, input_precision="ieee")
    written = (gm[:, None] < N * P * Q) & (gn[None, :] < K)
    tl.store(y_ptr + (n[:, None] * K + gn[None, :]) * (P * Q) + pq[:, None], acc, mask=written)
