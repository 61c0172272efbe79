import triton
import triton.language as tl


# compile: turned y_ptr=*f32 z_ptr=*f32
# buffer: y f32[64] zeros
# buffer: z f32[8] zeros
# launch: 1 y z
@triton.jit
def turned(y_ptr, z_ptr):
    m = tl.arange(0, 8)
    # What the load has read before it was found wrong is nothing that this store may collide with when the program is
    # run once more to say why.
    tl.store(y_ptr + m[:, None] + m[None, :], 1.0)
    v = tl.load(y_ptr + m[None, :] * 8 + m[:, None])  #~ A016
    tl.store(z_ptr + m, tl.sum(v, axis=1))
