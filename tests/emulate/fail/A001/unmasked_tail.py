import triton
import triton.language as tl


# compile: copy x_ptr=*f32 y_ptr=*f32 BLOCK=16
# buffer: x f32[20] iota
# buffer: y f32[32] empty
# launch: 2 x y
@triton.jit
def copy(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)  #~ A001
    tl.store(y_ptr + offsets, x)
