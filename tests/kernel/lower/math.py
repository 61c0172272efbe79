# compile: unary x_ptr=*f32 n=i32 BLOCK=32
# compile: binary x_ptr=*f32 h_ptr=*f16 b_ptr=*bf16 i_ptr=*i32 u_ptr=*u32 l_ptr=*i64 c_ptr=*i8 BLOCK=32
# compile: integers i_ptr=*i32 u_ptr=*u8 n=i64 s=f32
# compile: choices x_ptr=*f32 i_ptr=*i64 n=i32
# compile: casts x_ptr=*f32 h_ptr=*f16 b_ptr=*bf16 d_ptr=*f64 i_ptr=*i8 u_ptr=*u16 l_ptr=*i64
# compile: fp8 x_ptr=*f32 a_ptr=*f8e4m3 b_ptr=*f8e5m2
import triton
import triton.language as tl
from triton.language import math
from triton.language.extra import libdevice


@triton.jit
def unary(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.exp(x) + tl.exp2(x) - tl.log(x) * tl.log2(x) / tl.sqrt(x)
    y += tl.sqrt_rn(x) + math.rsqrt(x) + tl.sin(x) + x.cos()
    y += tl.erf(x) + tl.floor(x) + tl.math.ceil(x) + tl.abs(x)
    y = tl.sigmoid(y) + tl.fma(x, y, 2.0) + tl.div_rn(x, y) + tl.fdiv(x, 3)
    y = tl.softmax(y) + libdevice.div_rn(x, y)
    tl.store(x_ptr + at, -y)


@triton.jit
def binary(x_ptr, h_ptr, b_ptr, i_ptr, u_ptr, l_ptr, c_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    h = tl.load(h_ptr + at)
    b = tl.load(b_ptr + at)
    i = tl.load(i_ptr + at)
    u = tl.load(u_ptr + at)
    l = tl.load(l_ptr + at)
    c = tl.load(c_ptr + at)
    tl.store(x_ptr + at, x * h + b)
    tl.store(h_ptr + at, h * 2 + h / 3 - 0.1)
    tl.store(b_ptr + at, b * b + b / b + 1)
    tl.store(x_ptr + at, h + b)
    tl.store(x_ptr + at, i / 3)
    tl.store(i_ptr + at, i + u)
    tl.store(l_ptr + at, i + l)
    tl.store(l_ptr + u, l // 3 % 5)
    tl.store(u_ptr + at, u // 3 % 5)
    tl.store(i_ptr + at, c + c * 3)
    tl.store(i_ptr + at, c + i)
    tl.store(x_ptr + at, x % 2.5 + i)
    tl.store(x_ptr + at, l * 0.5)


@triton.jit
def integers(i_ptr, u_ptr, n, s):
    i = tl.load(i_ptr)
    u = tl.load(u_ptr)
    a = (i & 3) | (i ^ 5) | ~i
    a = a << 2 >> 1
    v = u >> 1
    big = 1 << 31
    tl.store(i_ptr, a + v)
    tl.store(i_ptr, n * 4 + big)
    tl.store(i_ptr - 1, tl.abs(i) + -i)
    tl.store(i_ptr, tl.cdiv(i, 7) + tl.minimum(i, 3) + tl.maximum(u, v))
    tl.store(i_ptr, s * 2 + i)
    tl.store(i_ptr + 1, min(i, 3, 9) + max(i, n))


@triton.jit
def choices(x_ptr, i_ptr, n):
    at = tl.arange(0, 16)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    i = tl.load(i_ptr + at)
    a = tl.where(x > 0, x, 0)
    b = tl.where(x < 0.0, 0.0, x)
    c = tl.where(i == n, x, a + b)
    d = tl.maximum(c, 0.0) + tl.minimum(c, 6.0, propagate_nan=tl.PropagateNan.ALL)
    e = tl.where(n > 3, d, 1.0)
    f = tl.where((x != x) & (i >= 2) | (n <= 7), e, -1)
    g = tl.where(not (n > 2), f, f + 1)
    tl.store(x_ptr + at, g, mask=i < 7)
    tl.store(x_ptr + at, 1)
    tl.store(x_ptr, 2.5, mask=n > 1)


@triton.jit
def casts(x_ptr, h_ptr, b_ptr, d_ptr, i_ptr, u_ptr, l_ptr):
    at = tl.arange(0, 16)
    x = tl.load(x_ptr + at)
    h = tl.load(h_ptr + at)
    b = tl.load(b_ptr + at)
    i = tl.load(i_ptr + at)
    tl.store(h_ptr + at, x)
    tl.store(b_ptr + at, h)
    tl.store(d_ptr + at, x)
    tl.store(d_ptr + at, h)
    tl.store(h_ptr + at, b)
    tl.store(x_ptr + at, tl.load(d_ptr + at))
    tl.store(i_ptr + at, x)
    tl.store(u_ptr + at, x)
    tl.store(u_ptr + at, h)
    tl.store(l_ptr + at, i)
    tl.store(l_ptr + at, tl.load(u_ptr + at))
    tl.store(i_ptr + at, tl.load(l_ptr + at))
    tl.store(x_ptr + at, tl.load(u_ptr + at).to(tl.float32) + i.to(tl.float32))
    tl.store(x_ptr + at, (x > 0).to(tl.float32) + (x < 1).to(tl.int32))
    tl.store(x_ptr + at, i.to(tl.int1).to(tl.float32))
    tl.store(x_ptr + at, x.to(tl.int32, bitcast=True) + tl.cast(x, tl.int64))
    tl.store(u_ptr + at, h.to(tl.uint16, bitcast=True))
    tl.store(x_ptr.to(tl.pointer_type(tl.int32)) + at, 1)


@triton.jit
def fp8(x_ptr, a_ptr, b_ptr):
    at = tl.arange(0, 16)
    x = tl.load(x_ptr + at)
    a = tl.load(a_ptr + at)
    b = tl.load(b_ptr + at)
    tl.store(x_ptr + at, a.to(tl.float32) + b.to(tl.float16))
    tl.store(a_ptr + at, x)
    tl.store(b_ptr + at, x.to(tl.float16))
