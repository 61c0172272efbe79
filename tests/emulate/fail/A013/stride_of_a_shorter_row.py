import triton
import triton.language as tl


# compile: rows y_ptr=*i32 stride=i32
# buffer: y i32[32] empty
# launch: 1 y 6
# otherwise: A006
@triton.jit
def rows(y_ptr, stride):
    m = tl.arange(0, 4)
    n = tl.arange(0, 8)
    tl.store(y_ptr + m[:, None] * stride + n[None, :], m[:, None] * 10 + n[None, :])  #~ A013
