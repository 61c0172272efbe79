import triton
import triton.language as tl


# compile: relu x_ptr=*f32 y_ptr=*f32
# buffer: x f32[4] zeros
# buffer: y f32[12] empty
# launch: 1 x y
# value: y 0*4 1*4 0*4
@triton.jit
def relu(x_ptr, y_ptr):
    at = tl.arange(0, 4)
    x = tl.load(x_ptr + at)
    nan = x / x
    tl.store(y_ptr + at, tl.maximum(nan, 0.0))
    kept = tl.maximum(nan, 0.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(y_ptr + 4 + at, tl.where(kept != kept, 1.0, 0.0))
    tl.store(y_ptr + 8 + at, tl.minimum(0.0, nan))
