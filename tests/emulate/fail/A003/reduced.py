import triton
import triton.language as tl


# compile: total x_ptr=*f32 y_ptr=*f32 n=i32 BLOCK=16
# buffer: x f32[10] iota
# buffer: y f32[1] empty
# launch: 1 x y 10
@triton.jit
def total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr, tl.sum(x, axis=0))  #~ A003
