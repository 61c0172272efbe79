import triton
import triton.language as tl


# compile: waits flag_ptr=*i32 y_ptr=*f32
# buffer: flag i32[2] zeros
# buffer: y f32[2] zeros
# launch: 2 flag y
@triton.jit
def waits(flag_ptr, y_ptr):
    pid = tl.program_id(0)
    if pid == 0:
        while tl.load(flag_ptr, volatile=True) == 0:  #~ A015
            pass
    tl.store(y_ptr + pid, 1.0)
    tl.atomic_xchg(flag_ptr + pid, 1)
