# lint: ascend910b1
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr = 64):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i)  #~ N015
        x += tl.load(x_ptr + i, mask=i < n)  #~ N015 N020
        x += tl.load(x_ptr + i, i < n, 0.0)
        x += tl.load(x_ptr)
        tl.store(y_ptr + i, x)  #~ N015
