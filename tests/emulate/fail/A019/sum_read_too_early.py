import triton
import triton.language as tl


# compile: totals x_ptr=*f32 y_ptr=*f32 z_ptr=*f32
# buffer: x f32[8] iota
# buffer: y f32[1] zeros
# buffer: z f32[2] zeros
# launch: 2 x y z
@triton.jit
def totals(x_ptr, y_ptr, z_ptr):
    at = tl.program_id(0) * 4 + tl.arange(0, 4)
    tl.atomic_add(y_ptr, tl.sum(tl.load(x_ptr + at)), sem="relaxed")  #~ A019
    tl.store(z_ptr + tl.program_id(0), tl.load(y_ptr) * 0.0)
