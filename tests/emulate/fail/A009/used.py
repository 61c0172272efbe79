import triton
import triton.language as tl


# compile: divide x_ptr=*i32 y_ptr=*i32 BLOCK=16
# buffer: x i32[16] iota
# buffer: y i32[16] empty
# launch: 1 x y
@triton.jit
def divide(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, 100 // x)  #~ A009
