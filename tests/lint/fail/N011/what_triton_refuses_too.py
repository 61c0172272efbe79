# lint: ascend910_9381
import triton
import triton.language as tl


@triton.jit
def search(x_ptr, y_ptr, n):
    for i in range(tl.program_id(0), n, tl.num_programs(0)):
        if i > 100:
            break  #~ N011 K002
        if i > 50:
            continue  #~ N011
        half = lambda x: x / 2  #~ N011
        tl.store(y_ptr + i, tl.load(x_ptr + i))
