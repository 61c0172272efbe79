import triton
import triton.language as tl


# compile: added x_ptr=*f32 y_ptr=*f32 n=i32
# buffer: x f32[8] iota
# buffer: y f32[8] zeros
# launch: 1 x y 5
@triton.jit
def added(x_ptr, y_ptr, n):
    at = tl.arange(0, 8)
    tl.atomic_add(y_ptr + at, tl.load(x_ptr + at, mask=at < n))  #~ A003
