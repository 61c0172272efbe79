# lint: ascend910_9381
import triton
import triton.language as tl


@triton.jit
def last(x):
    return x * 2.0


@triton.jit
def search(x_ptr, y_ptr, n):
    if n == 0:
        return  #~ N011
    for i in range(tl.program_id(0), n, tl.num_programs(0)):
        j = i
        while j > 1:  #~ N011
            j = j // 2
        tl.store(y_ptr + i, last(tl.load(x_ptr + j)))
