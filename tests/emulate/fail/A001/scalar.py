import triton
import triton.language as tl


# compile: one x_ptr=*f32 y_ptr=*f32 at=i32
# buffer: x f32[4] iota
# buffer: y f32[1] empty
# launch: 1 x y 4
@triton.jit
def one(x_ptr, y_ptr, at):
    tl.store(y_ptr, tl.load(x_ptr + at))  #~ A001
