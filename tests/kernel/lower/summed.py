import triton
import triton.language as tl


# Triton's combine pass makes a dot in tf32 of the first two, and leaves the others alone: too few rows, f64, and
# factors in the other order.
# compile: products x_ptr=*f32 y_ptr=*f32 M=16 K=8 N=32
# compile: products x_ptr=*f32 y_ptr=*f32 M=32 K=16 N=16
# compile: products x_ptr=*f32 y_ptr=*f32 M=8 K=16 N=16
# compile: products x_ptr=*f64 y_ptr=*f64 M=16 K=16 N=16
@triton.jit
def products(x_ptr, y_ptr, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr):
    m, k, n = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    x = tl.load(x_ptr + m[:, None] * K + k[None, :])
    y = tl.load(y_ptr + k[:, None] * N + n[None, :])
    sums = tl.load(x_ptr + 4096 + m[:, None] * N + n[None, :])
    for step in range(0, 2):
        sums += tl.sum(x[:, :, None] * y[None, :, :], 1)
    tl.store(x_ptr + m[:, None] * N + n[None, :], sums)


# compile: turned x_ptr=*f32 y_ptr=*f32 M=16 K=16 N=16
@triton.jit
def turned(x_ptr, y_ptr, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr):
    m, k, n = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    x = tl.load(x_ptr + m[:, None] * K + k[None, :])
    y = tl.load(y_ptr + k[:, None] * N + n[None, :])
    tl.store(x_ptr + m[:, None] * N + n[None, :], tl.sum(y[None, :, :] * x[:, :, None], 1))
