# lint: ascend910b1 x_ptr=*f64 y_ptr=*u32
import triton
import triton.language as tl


@triton.jit
def count(x_ptr, y_ptr, n):
    for i in range(tl.program_id(0), n, tl.num_programs(0)):
        x = tl.load(x_ptr + i)  #~ N021
        tl.store(y_ptr + i, x.to(tl.int32))  #~ N021
