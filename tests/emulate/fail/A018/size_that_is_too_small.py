import triton
import triton.language as tl


# compile: assumed x_ptr=*f32 n=i32
# buffer: x f32[16] zeros
# launch: 1 x 3
@triton.jit
def assumed(x_ptr, n):
    tl.assume(n >= 16)  #~ A018
    at = tl.arange(0, 16)
    tl.store(x_ptr + at, 1.0, mask=at < n)
