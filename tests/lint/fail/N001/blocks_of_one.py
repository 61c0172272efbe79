# lint: none
import triton
import triton.language as tl


ONE = 1


@triton.jit
def mean(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((1,), dtype=tl.float32)  #~ N001
    least = tl.full([ONE, 1], 3.0, tl.float32)  #~ N001
    most = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in range(tl.program_id(0), n, tl.num_programs(0)):
        acc += tl.load(x_ptr + i)
    tl.store(y_ptr + tl.arange(0, 1), acc / n)
