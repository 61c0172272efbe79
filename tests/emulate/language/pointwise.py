# compile: pointwise x_ptr=*f32 y_ptr=*f32 BLOCK=4
# buffer: x f32[4] 4
# buffer: y f32[40] zeros
# launch: 1 x y
# value: y 1 16 16 1 2 2 0 0 0.5 0.5 2 0 1 4 -5 5 0.5 0 0 0 4 4 14 9 3 0.25 4 4 1 8 2 0 0 0 0 0 0 0 0 0
import triton
import triton.language as tl
from triton.language import math


@triton.jit
def pointwise(x_ptr, y_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    four = tl.max(x, axis=0)
    none = four - 4
    tl.store(y_ptr, tl.exp(none))
    tl.store(y_ptr + 1, tl.exp2(four))
    tl.store(y_ptr + 2, tl.math.exp2(four))
    tl.store(y_ptr + 3, tl.math.exp(none))
    tl.store(y_ptr + 4, tl.log2(four))
    tl.store(y_ptr + 5, tl.math.log2(four))
    tl.store(y_ptr + 6, tl.log(four - 3))
    tl.store(y_ptr + 7, tl.math.log(four - 3))
    tl.store(y_ptr + 8, tl.rsqrt(four))
    tl.store(y_ptr + 9, tl.math.rsqrt(four))
    tl.store(y_ptr + 10, tl.sqrt(four))
    tl.store(y_ptr + 11, tl.sin(none))
    tl.store(y_ptr + 12, tl.cos(none))
    tl.store(y_ptr + 13, tl.floor(four + 0.5))
    tl.store(y_ptr + 14, (none - 4.5).floor())
    tl.store(y_ptr + 15, tl.ceil(four + 0.5))
    tl.store(y_ptr + 16, tl.sigmoid(none))
    tl.store(y_ptr + 17, tl.erf(none))
    tl.store(y_ptr + 18, tl.math.erf(none))
    tl.store(y_ptr + 19, tl.exp(none) - 1)
    tl.store(y_ptr + 20, tl.abs(-four))
    tl.store(y_ptr + 21, tl.clamp(four * 3, 0.0, 4.0))
    tl.store(y_ptr + 22, tl.fma(four, 3.0, 2.0))
    tl.store(y_ptr + 23, tl.math.fma(four, 2.0, 1.0))
    tl.store(y_ptr + 24, tl.div_rn(four, four) + tl.math.div_rn(four, four - 2))
    tl.store(y_ptr + 25, tl.max(tl.softmax(x), axis=0))
    tl.store(y_ptr + 26, tl.maximum(four, 2.0))
    tl.store(y_ptr + 27, tl.minimum(four, 9.0))
    tl.store(y_ptr + 28, tl.sub(four, 3.0))
    tl.store(y_ptr + 29, tl.where(four > 3, 8.0, 9.0))
    tl.store(y_ptr + 30, tl.cdiv(7, 4))
