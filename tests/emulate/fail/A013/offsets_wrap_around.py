import triton
import triton.language as tl


# compile: scatter y_ptr=*f32 n=i32 BLOCK=16
# buffer: y f32[8] empty
# launch: 1 y 8
@triton.jit
def scatter(y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets % n, offsets * 0.5)  #~ A013
