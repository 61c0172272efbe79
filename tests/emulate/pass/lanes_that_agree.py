# Lanes of one store meet where their values are equal, or where all but one are masked off; and columns
# lie between the elements of rows.
import triton
import triton.language as tl


# compile: agree y_ptr=*f32 n=i32 BLOCK=16
# buffer: y f32[152] empty
# launch: 1 y 8
@triton.jit
def agree(y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets % n, (offsets % n) * 0.5)
    tl.store(y_ptr + n + offsets % n, offsets * 0.5, mask=offsets >= n)
    row = tl.arange(0, 4)
    square = row[:, None] * 0 + offsets[None, :] % n
    tl.store(y_ptr + 2 * n + square, 1.0)
    column = (offsets // 4) * 32 + offsets % 4
    tl.store(y_ptr + 3 * n + column[:, None] + 4 * tl.arange(0, 8)[None, :], column[:, None] * 1.0)
