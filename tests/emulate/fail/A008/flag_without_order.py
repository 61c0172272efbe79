import triton
import triton.language as tl


# compile: relaxed flag_ptr=*i32 x_ptr=*f32 y_ptr=*f32
# buffer: flag i32[1] zeros
# buffer: x f32[1] zeros
# buffer: y f32[1] zeros
# launch: 2 flag x y
@triton.jit
def relaxed(flag_ptr, x_ptr, y_ptr):
    if tl.program_id(0) == 0:
        tl.store(x_ptr, 7.0)
        tl.atomic_xchg(flag_ptr, 1, sem="relaxed")
    else:
        while tl.atomic_add(flag_ptr, 0, sem="relaxed") == 0:
            pass
        tl.store(y_ptr, tl.load(x_ptr))  #~ A008
