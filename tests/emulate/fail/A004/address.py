import triton
import triton.language as tl


# compile: gather x_ptr=*f32 i_ptr=*i32 y_ptr=*f32 n=i32 BLOCK=16
# buffer: x f32[32] iota
# buffer: i i32[10] iota
# buffer: y f32[16] empty
# launch: 1 x i y 10
@triton.jit
def gather(x_ptr, i_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    index = tl.load(i_ptr + offsets, mask=offsets < n)
    x = tl.load(x_ptr + index)  #~ A004
    tl.store(y_ptr + offsets, x)
