import triton
import triton.language as tl


# compile: compact x_ptr=*f32 next_ptr=*i32 y_ptr=*f32
# buffer: x f32[6] iota
# buffer: next i32[1] zeros
# buffer: y f32[6] zeros
# launch: 6 x next y
@triton.jit
def compact(x_ptr, next_ptr, y_ptr):  #~ A021
    x = tl.load(x_ptr + tl.program_id(0))
    if x > 2.0:
        at = tl.atomic_add(next_ptr, 1)
        tl.store(y_ptr + at, x)
