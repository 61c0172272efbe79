import triton
import triton.language as tl


# compile: fill y_ptr=*f32 M=i32 N=i32 BM=4 BN=8
# buffer: y f32[21] empty
#~ A006
# launch: 1 y(3,7) 3 7
@triton.jit
def fill(y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.arange(0, BM)[:, None]
    n = tl.arange(0, BN)[None, :]
    tl.store(y_ptr + m * N + n, 1.0, mask=(m < M) & (n < N - 1))
