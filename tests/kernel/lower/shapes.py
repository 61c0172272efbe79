# compile: reduces x_ptr=*f32 h_ptr=*f16 i_ptr=*i32 c_ptr=*i8
# compile: own_combine x_ptr=*f32 i_ptr=*i32
# compile: moves x_ptr=*f32
# compile: dots a_ptr=*f16 b_ptr=*f32 c_ptr=*i8 y_ptr=*f32 z_ptr=*i32 h_ptr=*f16
# compile: dots a_ptr=*bf16 b_ptr=*f32 c_ptr=*i8 y_ptr=*f32 z_ptr=*i32 h_ptr=*bf16
# compile: facts x_ptr=*f16 n=i32 BLOCK=16 MODE='fast'
import triton
import triton.language as tl


@triton.jit
def reduces(x_ptr, h_ptr, i_ptr, c_ptr):
    m = tl.arange(0, 16)
    n = tl.arange(0, 32)
    at = m[:, None] * 32 + n[None, :]
    x = tl.load(x_ptr + at)
    h = tl.load(h_ptr + at)
    i = tl.load(i_ptr + at)
    c = tl.load(c_ptr + at)
    tl.store(x_ptr + m, tl.sum(x, axis=1))
    tl.store(x_ptr + n, tl.max(x, 0) + tl.min(h, axis=0))
    tl.store(x_ptr, tl.sum(x) + tl.max(x))
    tl.store(h_ptr + n, tl.sum(h, 0))
    tl.store(i_ptr + m, tl.sum(c, 1) + tl.max(i, 1) + tl.min(c, -1))
    tl.store(x_ptr + at, x - tl.max(x, 1, keep_dims=True))
    tl.store(i_ptr + m, tl.sum((x > 0).to(tl.int32), 1) + tl.xor_sum(i, 1))
    tl.store(i_ptr + m, tl.argmax(x, 1))
    least, where = tl.min(x, 0, return_indices=True)
    tl.store(x_ptr + n, least + where)
    tl.store(i_ptr + n, tl.argmin(i, 0, tie_break_left=False))


@triton.jit
def product(a, b):
    return a * b


@triton.jit
def welford(mean_a, count_a, mean_b, count_b):
    count = count_a + count_b
    return mean_a + (mean_b - mean_a) * (count_b / count), count


@triton.jit
def own_combine(x_ptr, i_ptr):
    at = tl.arange(0, 64)
    x = tl.load(x_ptr + at)
    tl.store(x_ptr, tl.reduce(x, 0, product))
    mean, count = tl.reduce((x, tl.full((64,), 1.0, tl.float32)), 0, welford)
    tl.store(x_ptr + 1, mean / count)


@triton.jit
def moves(x_ptr):
    m = tl.arange(0, 16)
    n = tl.arange(0, 32)
    x = tl.load(x_ptr + m[:, None] * 32 + n)
    t = tl.trans(x) + x.T
    p = tl.permute(x[None, :, :], (2, 0, 1))
    r = tl.reshape(p, (16, 32)) + tl.reshape(x, 16, 32)
    v = tl.expand_dims(tl.ravel(r), 0)
    b = tl.broadcast_to(m[:, None], (16, 32)) + tl.zeros_like(x)
    tl.store(x_ptr + n[:, None] + m[None, :] * 32, t)
    tl.store(x_ptr + tl.arange(0, 512)[None, :], v)
    tl.store(x_ptr + m[:, None] * 32 + n, b + tl.full((1, 1), 3, tl.int32))
    tl.store(x_ptr + m, m)


@triton.jit
def dots(a_ptr, b_ptr, c_ptr, y_ptr, z_ptr, h_ptr):
    m = tl.arange(0, 32)
    at = m[:, None] * 32 + m[None, :]
    a = tl.load(a_ptr + at)
    b = tl.load(b_ptr + at)
    c = tl.load(c_ptr + at)
    acc = tl.dot(a, a)
    acc += tl.dot(b, b, input_precision="tf32x3")
    acc = tl.dot(b, b, acc, allow_tf32=False)
    acc = tl.dot(b, b, acc=acc)
    tl.store(y_ptr + at, acc)
    tl.store(z_ptr + at, tl.dot(c, c))
    tl.store(h_ptr + at, tl.dot(a, tl.trans(a)))


@triton.jit
def facts(x_ptr, n, BLOCK: tl.constexpr, MODE: tl.constexpr):
    tl.static_assert(BLOCK >= 16, "too small")
    HALF: tl.constexpr = BLOCK // 2
    wide: tl.constexpr = x_ptr.dtype.element_ty.primitive_bitwidth * 2
    at = tl.multiple_of(tl.arange(0, HALF), 8)
    tl.device_assert(n > 0, "n is positive")
    x = tl.load(x_ptr + at)
    if MODE == "fast" and wide == 32:
        x = x.to(tl.float32)
    if x.dtype == tl.float32 and x.shape[0] == HALF:
        x = x * tl.constexpr(2)
    bias = None
    if bias is not None:
        x += bias
    tl.static_print("x", x)
    tl.debug_barrier()
    tl.assume(n < 7)
    assert n != 3, "not three"
    tl.store(x_ptr + at, x.to(x_ptr.dtype.element_ty), mask=at < len((1, 2, 3)), cache_modifier=".cs")
