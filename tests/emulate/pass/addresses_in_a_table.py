import triton
import triton.language as tl


# compile: grouped table_ptr=*i64 n=i32
# buffer: a f32[4] iota
# buffer: b f32[6] iota
# buffer: table i64[3] &a &b+8 0
# launch: 2 table 4
# value: a 0 10 20 30
# value: b 0 1 20 30 40 50
@triton.jit
def grouped(table_ptr, n):
    pid = tl.program_id(0)
    x_ptr = tl.load(table_ptr + pid).to(tl.pointer_type(tl.float32))
    at = tl.arange(0, 8)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(x_ptr + at, x * 10.0, mask=at < n)
