import triton
import triton.language as tl


# compile: last y_ptr=*f32 BLOCK=8
# buffer: y f32[8] empty
# launch: 1 y
@triton.jit
def last(y_ptr, BLOCK: tl.constexpr):
    m = tl.arange(0, BLOCK)
    n = tl.arange(0, BLOCK)
    value = m[:, None] + n[None, :] * 0.25
    tl.store(y_ptr + m[:, None] * 0 + n[None, :], value, mask=m[:, None] > 5)  #~ A013
