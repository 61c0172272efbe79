import triton
import triton.language as tl


# compile: shift x_ptr=*f32 n=i32 BLOCK=8
# buffer: x f32[33] iota
# launch: 4 x 32
# otherwise: A008
@triton.jit
def shift(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(x_ptr + at + 1, x, mask=at < n)  #~ A016
