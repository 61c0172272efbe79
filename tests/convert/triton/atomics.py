# compile: histogram x_ptr=*i32 y_ptr=*i32 n=i32 BLOCK=16
# buffer: x i32[40]
# buffer: y i32[12]
# launch: 3 x y 37
import triton
import triton.language as tl


@triton.jit
def histogram(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.atomic_add(y_ptr + x + 5, 1, mask=i < n)
    tl.atomic_max(y_ptr + 11, tl.max(x))
