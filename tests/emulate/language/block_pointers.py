# compile: block_pointers x_ptr=*f32 y_ptr=*f32 n=i32
# buffer: x f32[12] iota
# buffer: y f32[12] zeros
# launch: 1 x y 6
# value: y 0 2 4 6 8 10 12 14 16 18 20 22
import triton
import triton.language as tl


@triton.jit
def block_pointers(x_ptr, y_ptr, n):
    x = tl.make_block_ptr(base=x_ptr, shape=(2, n), strides=(n, 1), offsets=(0, 0), block_shape=(2, 4), order=(1, 0))
    y = tl.make_block_ptr(y_ptr, (2, n), (n, 1), (0, 0), (2, 4), (1, 0))
    for _ in range(0, n, 4):
        v = tl.load(x, boundary_check=(0, 1), padding_option="zero")
        tl.store(y, v * 2, boundary_check=(0, 1))
        x = tl.advance(x, (0, 4))
        y = y.advance((0, 4))
