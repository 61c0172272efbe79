# lint: ascend910b2 BLOCK=65536 x_ptr=*i8 y_ptr=*i8
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)  #~ N009
        x = tl.load(x_ptr + i, mask=i < n, other=0)  #~ N020
        tl.store(y_ptr + i, x, mask=i < n)
