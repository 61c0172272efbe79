# lint: ascend910b1
import triton
import triton.language as tl


@triton.jit
def softplus(x_ptr, y_ptr, n):
    for i in range(tl.program_id(0), n, tl.num_programs(0)):
        x = tl.load(x_ptr + i).to(tl.float64)
        y = tl.log(1.0 + tl.exp(x)) + tl.abs(x)  #~ N023
        tl.store(y_ptr + i, y.to(tl.float32))
