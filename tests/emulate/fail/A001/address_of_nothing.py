import triton
import triton.language as tl


# compile: lost table_ptr=*i64 y_ptr=*f32
# buffer: x f32[4] iota
# buffer: table i64[2] &x 4096
# buffer: y f32[2] zeros
# launch: 2 table y
@triton.jit
def lost(table_ptr, y_ptr):
    pid = tl.program_id(0)
    x_ptr = tl.load(table_ptr + pid).to(tl.pointer_type(tl.float32))
    tl.store(y_ptr + pid, tl.load(x_ptr))  #~ A001
