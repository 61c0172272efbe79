import triton
import triton.language as tl


# compile: row x_ptr=*f32 y_ptr=*f32 row=i32 stride=i32 BLOCK=16
# buffer: x f32[64] iota
# buffer: y f32[16] empty
# launch: 1 x y 65536 65536
@triton.jit
def row(x_ptr, y_ptr, row, stride, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + (row * stride + offsets))  #~ A011
    tl.store(y_ptr + offsets, x)
