import triton
import triton.language as tl


# compile: fill y_ptr=*f32 n=i32 step=i32 BLOCK=16
# buffer: y f32[40] empty
# launch: 3 y 40 12
@triton.jit
def fill(y_ptr, n, step, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * step + tl.arange(0, BLOCK)
    value = tl.program_id(0) + offsets * 0.5
    tl.store(y_ptr + offsets, value, mask=offsets < n)  #~ A007
