# compile: older x_ptr=*f32 y_ptr=*f32 n=i32
# buffer: x f32[16] iota
# buffer: y f32[17] zeros
# launch: 1 x y 4
# value: y 0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 8
import triton
import triton.language as tl


@triton.jit
def older(x_ptr, y_ptr, n):
    """What Triton had before descriptors were objects, and what it took back since."""
    x = tl._experimental_make_tensor_descriptor(x_ptr, shape=[n, n], strides=[4, 1], block_shape=[4, 4])
    y = tl._experimental_make_tensor_descriptor(y_ptr, shape=[n, n], strides=[4, 1], block_shape=[4, 4])
    v = tl._experimental_descriptor_load(x, [0, 0], [4, 4], tl.float32)
    tl._experimental_descriptor_store(y, v * 2, [0, 0])
    tl.store(y_ptr + 16, tl._log2(tl.constexpr(256)))
