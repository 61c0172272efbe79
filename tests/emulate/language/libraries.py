# compile: libraries x_ptr=*f32 y_ptr=*f32
# buffer: x f32[1] 4
# buffer: y f32[16] zeros
# launch: 1 x y
# value: y 0 16 8 6 0.5 0 1 4 1 0 7 1 0 0 0 0
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def libraries(x_ptr, y_ptr):
    four = tl.load(x_ptr)
    none = four - 4
    tl.store(y_ptr, libdevice.tanh(none))
    tl.store(y_ptr + 1, libdevice.pow(four, 2.0))
    tl.store(y_ptr + 2, libdevice.mul_rn(four, 2.0))
    tl.store(y_ptr + 3, libdevice.add_rn(four, 2.0))
    tl.store(y_ptr + 4, libdevice.rsqrt(four))
    tl.store(y_ptr + 5, libdevice.fast_sinf(none))
    tl.store(y_ptr + 6, libdevice.fast_cosf(none))
    tl.store(y_ptr + 7, libdevice.rint(four + 0.5))
    tl.store(y_ptr + 8, libdevice.exp(none))
    tl.store(y_ptr + 9, libdevice.erf(none))
    tl.store(y_ptr + 11, tl.math.tanh(none) + 1)
    tl.store(y_ptr + 10, libdevice.int2float_rn((four + 3).to(tl.int32)))
