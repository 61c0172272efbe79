import triton
import triton.language as tl


# compile: kept y_ptr=*f32 n=i32
# buffer: y f32[16] zeros
# launch: 2 y 1
@triton.jit
def kept(y_ptr, n):
    m = tl.arange(0, 4)
    a = tl.arange(0, 4)
    # Twice the largest int32 is -2: the scalar is false, but nobody knows that it is. (`or` with what is false keeps the doubt.)
    small = ((2147483647 << n) > 0) | (n > 8)
    tl.store(y_ptr + (m[:, None] ^ a[None, :]), 1.0, mask=small & (m[:, None] + a[None, :] < 9))  #~ A011
