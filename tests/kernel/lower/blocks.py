import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def larger(a, i, b, j):
    keep = a > b
    return tl.where(keep, a, b), tl.where(keep, i, j)


# compile: scans x_ptr=*f32 i_ptr=*i8
@triton.jit
def scans(x_ptr, i_ptr):
    at = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(x_ptr + at)
    i = tl.load(i_ptr + at)
    tl.store(x_ptr + at, tl.cumsum(x, 1, reverse=True) + tl.cumprod(x, axis=0))
    best, where = tl.associative_scan((x, i), 1, larger)
    tl.store(x_ptr + at, best + where + tl.cumsum(i, -1))


# compile: moves x_ptr=*f32 i_ptr=*i32
@triton.jit
def moves(x_ptr, i_ptr):
    at = tl.arange(0, 16)
    x = tl.load(x_ptr + at)
    i = tl.load(i_ptr + at)
    pair = tl.join(x, x + 1)
    a, b = tl.split(pair)
    y = tl.interleave(a, b) + tl.cat(a, b) + tl.cat(b, a, can_reorder=True)
    tl.store(x_ptr + tl.arange(0, 32), y)
    tl.store(x_ptr + at, tl.gather(x, i, 0) + tl.flip(x))
    tl.store(i_ptr + tl.arange(0, 8), tl.histogram(i, 8) + tl.histogram(i, 8, mask=i > 2))
    low, high = tl.split(tl.load(x_ptr + tl.arange(0, 2)))
    tl.store(x_ptr, low + high + tl.reshape(tl.load(x_ptr + tl.arange(0, 1)), ()))


# compile: sorts x_ptr=*f32 h_ptr=*f16
@triton.jit
def sorts(x_ptr, h_ptr):
    at = tl.arange(0, 4)
    tl.store(x_ptr + at, tl.sort(tl.load(x_ptr + at), descending=True))
    tl.store(h_ptr + tl.arange(0, 2), tl.topk(tl.load(h_ptr + at), 2))


# compile: library x_ptr=*f32 d_ptr=*f64 i_ptr=*i32 u_ptr=*u32
@triton.jit
def library(x_ptr, d_ptr, i_ptr, u_ptr):
    at = tl.arange(0, 16)
    x = tl.load(x_ptr + at)
    d = tl.load(d_ptr + at)
    i = tl.load(i_ptr + at)
    u = tl.load(u_ptr + at)
    y = libdevice.pow(x, i) + libdevice.pow(x, 0.5) + tl.math.tanh(x) + tl.extra.cuda.libdevice.exp(x)
    y += libdevice.fma_rz(x, 2.0, x) + libdevice.int2float_rn(i) + libdevice.float_as_int(x)
    tl.store(x_ptr + at, tl.where(libdevice.isnan(x), 0.0, y))
    tl.store(d_ptr + at, libdevice.atan2(d, d))
    tl.store(i_ptr + at, libdevice.ffs(i) + libdevice.popc(i) + tl.abs(i))
    tl.store(u_ptr + at, tl.umulhi(u, u) + tl.umulhi(u, 3))
    tl.store(x_ptr + at, tl.clamp(x, 0.0, 1.0) + tl.clamp(x, x, 2.0, propagate_nan=tl.PropagateNan.ALL))
    tl.store(x_ptr + at, tl.fdiv(x, y, ieee_rounding=True) + x.to(tl.float16, fp_downcast_rounding="rtz"))


# compile: assembly x_ptr=*f32 i_ptr=*i8
@triton.jit
def assembly(x_ptr, i_ptr):
    at = tl.arange(0, 16)
    x = tl.load(x_ptr + at)
    y = tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    i = tl.load(i_ptr + at)
    a, b = tl.inline_asm_elementwise(
        """
        {
            mov.b32 $0, $2;
            not.b32 $1, $2;
        }
        """,
        constraints="=r,=r,r",
        args=[i],
        dtype=(tl.int8, tl.uint8),
        is_pure=False,
        pack=4,
    )
    tl.store(x_ptr + at, y)
    tl.store(i_ptr + at, a + b)
    tl.store(x_ptr, tl.extra.cuda.smid())


# compile: products a_ptr=*u8 s_ptr=*u8 h_ptr=*f16 x_ptr=*f32
@triton.jit
def products(a_ptr, s_ptr, h_ptr, x_ptr):
    m = tl.arange(0, 16)
    k = tl.arange(0, 32)
    a = tl.load(a_ptr + m[:, None] * 32 + k[None, :])
    scale = tl.load(s_ptr + m[:, None] * 2 + tl.arange(0, 2)[None, :])
    b = tl.load(a_ptr + tl.arange(0, 64)[:, None] * 16 + m[None, :])
    acc = tl.dot_scaled(a, scale, "e2m1", b, None, "e5m2")
    tl.store(x_ptr + m[:, None] * 16 + m[None, :], tl.dot_scaled(a, None, "e2m1", b, scale, "e4m3", acc, fast_math=True))
    at = tl.arange(0, 2)[:, None, None] * 256 + m[None, :, None] * 16 + m[None, None, :]
    h = tl.load(h_ptr + at)
    tl.store(x_ptr + at, tl.dot(h, h, input_precision="ieee"))


# compile: random x_ptr=*f32 seed=i64
@triton.jit
def random(x_ptr, seed):
    at = tl.arange(0, 16)
    tl.store(x_ptr + at, tl.rand(seed, at, n_rounds=1) + tl.randn(3, at, 1))
