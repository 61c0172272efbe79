import triton
import triton.language as tl


# compile: scale x_ptr=*f32 s_ptr=*f32 y_ptr=*f32 BLOCK=8
# buffer: x f32[8] iota read
# buffer: s f32[4] 2 read
# buffer: y f32[8] empty
# launch: 1 x s y
@triton.jit
def scale(x_ptr, s_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    s = tl.load(s_ptr + 3)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets) * s)
    tl.store(s_ptr + 3, s)  #~ A014
