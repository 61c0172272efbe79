import triton
import triton.language as tl


# compile: mean x_ptr=*f32 y_ptr=*f32 n=i32
# buffer: x f32[8] zeros
# buffer: y f32[8] empty
# launch: 1 x y 8
@triton.jit
def mean(x_ptr, y_ptr, n):
    at = tl.arange(0, 8)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    total = tl.sum(x)
    tl.store(y_ptr + at, (x + 1.0) / total)  #~ A022
