import triton
import triton.language as tl


# compile: tail x_ptr=*f32 y_ptr=*f32 n=i32 B=16
# buffer: x f32[10] iota
# buffer: y f32[16] empty
# launch: 1 x y 10
@triton.jit
def tail(x_ptr, y_ptr, n, B: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (B,), (0,))
    y = tl.make_block_ptr(y_ptr, (B,), (1,), (0,), (B,), (0,))
    tl.store(y, tl.load(x, boundary_check=(0,)) * 2.0)  #~ A003
