@triton.jit
def add_kernel(a_ptr, b_ptr, y_ptr, N, a_stride_m, b_stride_m, b_stride_n, BN: tl.constexpr):
    m = tl.program_id(0)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    a = tl.load(a_ptr + m * a_stride_m + n, mask=n < N, other=0.0)
    b = tl.load(b_ptr + m * b_stride_m + n * b_stride_n, mask=n < N, other=0.0)
    tl.store(y_ptr + m * N + n, a + b, mask=n < N)
