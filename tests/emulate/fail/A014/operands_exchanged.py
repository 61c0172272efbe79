import triton
import triton.language as tl


# compile: relu x_ptr=*f32 y_ptr=*f32 n=i32 BLOCK=8
# buffer: x f32[12] iota read
# buffer: y f32[12] 1
# launch: 2 x y 12
@triton.jit
def relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    v = tl.load(y_ptr + offsets, mask=mask)
    tl.store(x_ptr + offsets, tl.maximum(v, 0.0), mask=mask)  #~ A014
