import triton
import triton.language as tl


# compile: choose x_ptr=*i32 y_ptr=*f32 n=i32
# buffer: x i32[4] iota
# buffer: y f32[1] empty
# launch: 1 x y 0
@triton.jit
def choose(x_ptr, y_ptr, n):
    x = tl.load(x_ptr, mask=n > 0)
    if x > 2:  #~ A005
        tl.store(y_ptr, 1.0)
    else:
        tl.store(y_ptr, 2.0)
