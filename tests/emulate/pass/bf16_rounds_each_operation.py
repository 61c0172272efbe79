import triton
import triton.language as tl


# compile: sums x_ptr=*bf16 y_ptr=*bf16 z_ptr=*f32
# buffer: x bf16[16] 256
# buffer: y bf16[16] empty
# buffer: z f32[256] empty
# launch: 1 x y z
# value: y 256*16
# value: z 1048576*256
@triton.jit
def sums(x_ptr, y_ptr, z_ptr):
    at = tl.arange(0, 16)
    x = tl.load(x_ptr + at)
    # 257 is no bf16: each sum is 256 again.
    one = (x / x).to(tl.bfloat16)
    tl.store(y_ptr + at, x + one + one)
    # A dot takes bf16 operands and sums in fp32: 16 * 256 * 256.
    a = tl.broadcast_to(x[:, None], [16, 16])
    tl.store(z_ptr + at[:, None] * 16 + at[None, :], tl.dot(a, a))
