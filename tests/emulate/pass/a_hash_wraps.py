import triton
import triton.language as tl


# compile: hash y_ptr=*i32 BLOCK=16
# buffer: y i32[16] empty
# launch: 1 y
@triton.jit
def hash(y_ptr, BLOCK: tl.constexpr):
    x = tl.arange(0, BLOCK) * 747796405 + 277803737
    x = (x ^ (x >> 13)) * 277803737
    tl.store(y_ptr + tl.arange(0, BLOCK), x ^ (x >> 16))
