import triton
import triton.language as tl


# compile: copy x_ptr=*f32 y_ptr=*f32 n=i32 BLOCK=16
# buffer: x f32[10] iota
# buffer: y f32[16] empty
# launch: 1 x y 10
@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, x * 2.0)  #~ A003
