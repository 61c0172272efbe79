import triton
import triton.language as tl


# compile: sums x_ptr=*f32 y_ptr=*f32 n=i32 BLOCK=8
# buffer: x f32[32] iota
# buffer: y f32[8] empty
# launch: 1 x y 4
@triton.jit
def sums(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(n):
        total += tl.load(x_ptr + i * BLOCK + at)
        tl.store(y_ptr + at, total)  #~ A026
