import triton
import triton.language as tl


# compile: tile x_ptr=*f32 y_ptr=*f32 M=i32 N=i32 BM=8 BN=8
# buffer: x f32[30] iota
# buffer: y f32[30] empty
# launch: 1 x(5,6) y(5,6) 5 6
@triton.jit
def tile(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    offsets = m[:, None] * N + n[None, :]
    x = tl.load(x_ptr + offsets, mask=n[None, :] < N, other=0.0)  #~ A001
    tl.store(y_ptr + offsets, x, mask=(m[:, None] < M) & (n[None, :] < N))
