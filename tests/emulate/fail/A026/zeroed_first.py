import triton
import triton.language as tl


# compile: scatter x_ptr=*i32 y_ptr=*f32
# buffer: x i32[8] iota
# buffer: y f32[16] empty
# launch: 1 x y
@triton.jit
def scatter(x_ptr, y_ptr):
    at = tl.arange(0, 16)
    tl.store(y_ptr + at, at * 0.0)
    tl.debug_barrier()
    tl.store(y_ptr + tl.load(x_ptr + at, mask=at < 8, other=0), 1.0, mask=at < 8)  #~ A026
