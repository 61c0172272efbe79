# lint: ascend910b2c ROWS=16 COLUMNS=4
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    for start in range(tl.program_id(0) * ROWS, n, tl.num_programs(0) * ROWS):
        i = start + tl.arange(0, ROWS)
        at = i[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
        x = tl.load(x_ptr + at, mask=i[:, None] < n, other=0.0)  #~ N010 N020
        tl.store(y_ptr + at, x, mask=i[:, None] < n)  #~ N010
