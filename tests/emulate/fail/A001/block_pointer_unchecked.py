import triton
import triton.language as tl


# compile: tile x_ptr=*f32 y_ptr=*f32 M=i32 N=i32 B=8
# buffer: x f32[30] iota
# buffer: y f32[30] empty
# launch: 1 x(5,6) y(5,6) 5 6
@triton.jit
def tile(x_ptr, y_ptr, M, N, B: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (0, 0), (B, B), (1, 0))
    y = tl.make_block_ptr(y_ptr, (M, N), (N, 1), (0, 0), (B, B), (1, 0))
    tl.store(y, tl.load(x, boundary_check=(1,), padding_option="zero"), boundary_check=(0, 1))  #~ A001
