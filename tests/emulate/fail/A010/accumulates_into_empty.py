import triton
import triton.language as tl


# compile: accumulate x_ptr=*f32 y_ptr=*f32 BM=4 BN=8
# buffer: x f32[32] iota
# buffer: y f32[32] empty
# launch: 1 x(4,8) y(4,8)
@triton.jit
def accumulate(x_ptr, y_ptr, BM: tl.constexpr, BN: tl.constexpr):
    offsets = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    y = tl.load(y_ptr + offsets)  #~ A010
    tl.store(y_ptr + offsets, y + tl.load(x_ptr + offsets))
