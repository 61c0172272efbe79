# lint: ascend910b1
import triton
import triton.language as tl


@triton.jit
def narrow(x_ptr, y_ptr, n):
    for i in range(tl.program_id(0), n, tl.num_programs(0)):
        x = tl.load(x_ptr + i)
        tl.store(y_ptr + i, x.to(tl.float8e5).to(tl.float32))  #~ N024
