import triton
import triton.language as tl


# compile: fill y_ptr=*f32 n=i32 BLOCK=16
# buffer: y f32[20] empty
# launch: 2 y 21
@triton.jit
def fill(y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, 1.0, mask=offsets < n)  #~ A002
