# lint: ascend910b1 y_ptr=*i64
import triton
import triton.language as tl


@triton.jit
def count(x_ptr, y_ptr, n):
    for i in range(tl.program_id(0), n, tl.num_programs(0)):
        tl.atomic_add(y_ptr + tl.load(x_ptr + i).to(tl.int32), 1)  #~ N025
