import triton
import triton.language as tl


# compile: copy x_ptr=*f32 y_ptr=*f32 n=i32 BLOCK=16
# buffer: x f32[32] iota
# buffer: y f32[32] empty
# launch: 2 x y 32
@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n  #~ A025
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x)
