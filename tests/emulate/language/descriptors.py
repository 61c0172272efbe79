# compile: descriptors x_ptr=*f32 y_ptr=*f32 n=i32
# buffer: x f32[16] iota
# buffer: y f32[16] zeros
# launch: 1 x y 4
# value: y 0 0 0 0 0 2 4 6 8 10 12 14 16 18 20 22
import triton
import triton.language as tl


@triton.jit
def descriptors(x_ptr, y_ptr, n):
    x = tl.make_tensor_descriptor(x_ptr, shape=[n, n], strides=[4, 1], block_shape=[4, 4])
    y = tl.make_tensor_descriptor(y_ptr, [n, n], [4, 1], [4, 4])
    v = x.load([-1, 0])
    y.store([0, 0], v * 2)
