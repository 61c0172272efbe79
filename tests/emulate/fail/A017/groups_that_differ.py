import triton
import triton.language as tl


# compile: groups x_ptr=*f32 y_ptr=*f32
# buffer: x f32[8] iota
# buffer: y f32[16] zeros
# launch: 1 x y
@triton.jit
def groups(x_ptr, y_ptr):
    at = tl.arange(0, 16)
    group = tl.max_constancy(at // 2, 4)  #~ A017
    tl.store(y_ptr + at, tl.load(x_ptr + group))
