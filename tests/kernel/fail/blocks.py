# compile: gather_rank x_ptr=*f32
# compile: gather_float x_ptr=*f32
# compile: histogram_narrow x_ptr=*i8
# compile: split_last x_ptr=*f32
# compile: sort_axis x_ptr=*f32
# compile: topk_count x_ptr=*f32
# compile: library_type x_ptr=*f16
# compile: rounding_wider x_ptr=*f32
# compile: rounding_name x_ptr=*f32
# compile: high_narrow x_ptr=*i8
# compile: combine_type x_ptr=*f32
# compile: combine_count x_ptr=*f32
# compile: asm_runtime x_ptr=*f32
# compile: scaled_format a_ptr=*u8 x_ptr=*f32
# compile: scaled_scales a_ptr=*u8 x_ptr=*f32
# compile: batch x_ptr=*f16
# compile: eight a_ptr=*f8e4m3
# compile: eight_from_double d_ptr=*f64 a_ptr=*f8e4m3
# compile: squeezed x_ptr=*f32
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def gather_rank(x_ptr):
    at = tl.arange(0, 16)
    x = tl.load(x_ptr + at)
    tl.store(x_ptr + at[None, :], tl.gather(x, at[None, :], 0))


@triton.jit
def gather_float(x_ptr):
    at = tl.arange(0, 16)
    x = tl.load(x_ptr + at)
    tl.store(x_ptr + at, tl.gather(x, x, 0))


@triton.jit
def histogram_narrow(x_ptr):
    at = tl.arange(0, 16)
    tl.store(x_ptr + at, tl.histogram(tl.load(x_ptr + at), 16))


@triton.jit
def split_last(x_ptr):
    at = tl.arange(0, 16)
    a, b = tl.split(tl.load(x_ptr + at))
    tl.store(x_ptr + at, a + b)


@triton.jit
def sort_axis(x_ptr):
    at = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(x_ptr + at, tl.sort(tl.load(x_ptr + at), dim=0))


@triton.jit
def topk_count(x_ptr):
    at = tl.arange(0, 16)
    tl.store(x_ptr + tl.arange(0, 4), tl.topk(tl.load(x_ptr + at), 3))


@triton.jit
def library_type(x_ptr):
    at = tl.arange(0, 16)
    tl.store(x_ptr + at, libdevice.tanh(tl.load(x_ptr + at)))


@triton.jit
def rounding_wider(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr).to(tl.float64, fp_downcast_rounding="rtz"))


@triton.jit
def rounding_name(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr).to(tl.float16, fp_downcast_rounding="up"))


@triton.jit
def high_narrow(x_ptr):
    tl.store(x_ptr, tl.umulhi(tl.load(x_ptr), tl.load(x_ptr)))


@triton.jit
def widens(a, b):
    return (a + b).to(tl.float64)


@triton.jit
def combine_type(x_ptr):
    at = tl.arange(0, 16)
    tl.store(x_ptr + at, tl.associative_scan(tl.load(x_ptr + at), 0, widens))


@triton.jit
def forgets(a, i, b, j):
    return a + b


@triton.jit
def combine_count(x_ptr):
    at = tl.arange(0, 16)
    x = tl.load(x_ptr + at)
    a, b = tl.reduce((x, x), 0, forgets)
    tl.store(x_ptr, a + b)


@triton.jit
def asm_runtime(x_ptr):
    text = tl.load(x_ptr)
    tl.store(x_ptr, tl.inline_asm_elementwise(text, "=f,f", [text], dtype=tl.float32, is_pure=True, pack=1))


@triton.jit
def scaled_format(a_ptr, x_ptr):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    a = tl.load(a_ptr + at)
    tl.store(x_ptr + at, tl.dot_scaled(a, None, "e3m2", a, None, "e4m3"))


@triton.jit
def scaled_scales(a_ptr, x_ptr):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    a = tl.load(a_ptr + at)
    tl.store(x_ptr + at, tl.dot_scaled(a, a, "e4m3", a, None, "e4m3"))


@triton.jit
def batch(x_ptr):
    m = tl.arange(0, 16)
    four = tl.load(x_ptr + tl.arange(0, 4)[:, None, None] * 256 + m[None, :, None] * 16 + m[None, None, :])
    two = tl.load(x_ptr + tl.arange(0, 2)[:, None, None] * 256 + m[None, :, None] * 16 + m[None, None, :])
    tl.store(x_ptr, tl.sum(tl.dot(four, two)))


@triton.jit
def eight(a_ptr):
    at = tl.arange(0, 16)
    a = tl.load(a_ptr + at)
    tl.store(a_ptr + at, a + a)


@triton.jit
def eight_from_double(d_ptr, a_ptr):
    tl.store(a_ptr, tl.load(d_ptr))


@triton.jit
def squeezed(x_ptr):
    at = tl.arange(0, 16)
    tl.store(x_ptr + at, tl.squeeze(tl.load(x_ptr + at), 0))
