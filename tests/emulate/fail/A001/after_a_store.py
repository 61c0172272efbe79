import triton
import triton.language as tl


# compile: turned y_ptr=*f32 z_ptr=*f32
# buffer: y f32[64] zeros
# buffer: z f32[8] zeros
# launch: 1 y z
@triton.jit
def turned(y_ptr, z_ptr):
    m = tl.arange(0, 8)
    tl.store(y_ptr + m[:, None] + m[None, :], 1.0)
    tl.debug_barrier()
    # Some lanes are read before the one that is beyond the end.
    v = tl.load(y_ptr + m[None, :] * 8 + m[:, None] * 2)  #~ A001
    tl.store(z_ptr + m, tl.sum(v, axis=1))
