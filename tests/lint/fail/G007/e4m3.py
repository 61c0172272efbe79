# lint: sm_80
import triton
import triton.language as tl


@triton.jit
def narrow(x_ptr, y_ptr, n):
    x = tl.load(x_ptr + tl.program_id(0))
    tl.store(y_ptr + tl.program_id(0), x.to(tl.float8e4nv).to(tl.float32))  #~ G007
