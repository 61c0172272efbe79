import triton
import triton.language as tl


# compile: through x_ptr=*f32 t_ptr=*f32 y_ptr=*f32
# buffer: x f32[64] iota
# buffer: t f32[64] zeros
# buffer: y f32[64] zeros
# launch: 1 x t y
@triton.jit
def through(x_ptr, t_ptr, y_ptr):
    m = tl.arange(0, 8)
    straight = m[:, None] * 8 + m[None, :]
    across = m[None, :] * 8 + m[:, None]
    tl.store(t_ptr + straight, tl.load(x_ptr + straight))
    tl.store(y_ptr + straight, tl.load(t_ptr + across))  #~ A016
