# lint: sm_90
import triton
import triton.language as tl


# run: sizes that are said by others
#   args:
#     x_ptr: f32[rows, n]
#     y_ptr: f32[rows]
#     rows: 4
#     n: 100
#     BLOCK: next_power_of_2(n)
#     HALF: BLOCK // 2
#     WIDTH: x_ptr.shape[1]
#   grid: rows
@triton.jit
def sums(x_ptr, y_ptr, rows, n, BLOCK: tl.constexpr, HALF: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, WIDTH, HALF):
        at = start + tl.arange(0, HALF)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
        total += tl.sum(x)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
    tl.store(y_ptr + row, total + tl.sum(x))
