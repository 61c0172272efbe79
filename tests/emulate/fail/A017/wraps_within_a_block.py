import triton
import triton.language as tl


# compile: wrapped x_ptr=*f32 y_ptr=*f32 n=i32 BLOCK=16
# buffer: x f32[24] iota
# buffer: y f32[32] zeros
# launch: 2 x y 24
@triton.jit
def wrapped(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.max_contiguous(tl.multiple_of(at % n, BLOCK), BLOCK)  #~ A017
    tl.store(y_ptr + at, tl.load(x_ptr + row))
