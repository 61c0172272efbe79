# compile: chained x_ptr=*f32 n=i32
# compile: tuples x_ptr=*f32 n=i32
# compile: of_functions x_ptr=*f32 F=fn:double
# compile: of_types x_ptr=*f32 D=dtype:f16
# compile: packed xs=[*f32;*i32;i32] u=u64 b=bool
# compile: asked x_ptr=*f32 bias=None A="gelu"
# compile: variadic x_ptr=*f32 n=i32
# compile: constants x_ptr=*f32
# compile: static x_ptr=*f32 n=i32
# compile: picked x_ptr=*f32 n=i32
import triton
import triton.language as tl
from triton import cdiv

SIZES: tl.constexpr = tl.constexpr((2, 4, 8))
TWICE = tl.constexpr(2)
FOUR = TWICE * 2
KIND = tl.constexpr("relu")
plain = 7
inner = tl.exp


@triton.constexpr_function
def half_of(n):
    total = 0
    for i in [n, n, n]:
        total += i
    return total // 6 if n > 1 else n


@triton.jit
def double(v):
    return v * 2


@triton.jit
def apply(F: tl.constexpr, v, times: tl.constexpr = plain):
    for _ in tl.static_range(times - 5):
        v = F(v)
    return v


@triton.jit
def chained(x_ptr, n):
    if 0 < n <= 4 < n + 1:
        tl.store(x_ptr, 1.0)
    if 1 < FOUR < 8:
        tl.store(x_ptr, 2.0)


@triton.jit
def tuples(x_ptr, n):
    pair = (n, n + 1, 2.0)
    first, (second, third) = pair[0], pair[1:]
    for i in range(n):
        pair = (pair[1], pair[0] + i, pair[2] * 2)
    more = pair[::-1] + (third,)
    tl.store(x_ptr, more[0] + first + second + len(more))


@triton.jit
def of_functions(x_ptr, F: tl.constexpr):
    tl.store(x_ptr, apply(F, tl.load(x_ptr)) + apply(inner, tl.load(x_ptr), times=6))


@triton.jit
def of_types(x_ptr, D: tl.constexpr):
    v = tl.load(x_ptr).to(D)
    if v.dtype == tl.float16 and D.value.primitive_bitwidth == 16:
        v += 1
    tl.store(x_ptr, v)


@triton.jit
def packed(xs, u, b):
    at = xs[1] + (u % 4)
    if b:
        tl.store(xs[0] + xs[2], tl.load(at))


@triton.jit
def asked(x_ptr, bias, A: tl.constexpr):
    v = tl.load(x_ptr)
    if bias is not None:
        v += tl.load(bias)
    if A == "relu":
        v = tl.maximum(v, 0.0)
    elif A in ("gelu", "silu") and isinstance(v, tl.tensor) and not isinstance(A, int):
        v = tl.exp(v)
    tl.static_assert(A != KIND, f"not {A}")
    tl.store(x_ptr, v)


@triton.jit
def total(*args):
    sum = args[0]
    for i in tl.static_range(1, len(args)):
        sum += args[i]
    return sum


@triton.jit
def variadic(x_ptr, n):
    more = (n, 3)
    tl.store(x_ptr, total(n, *more, tl.load(x_ptr)))


@triton.jit
def constants(x_ptr):
    N: tl.constexpr = half_of(SIZES[1])
    at = tl.arange(0, cdiv(N * 2, 1)) + SIZES[2]
    tl.store(x_ptr + at, [s * FOUR for s in SIZES if s > 2][0])


@triton.jit
def static(x_ptr, n):
    acc = 0.0
    for i in tl.static_range(3, -1, -2):
        acc += i
    for j in tl.range(0, n, num_stages=2, flatten=True, warp_specialize=False, disallow_acc_multi_buffer=True, loop_unroll_factor=4):
        acc += j
        if j > 2:
            pass
    tl.static_print("acc", acc)
    tl.device_print("acc", acc)
    tl.store(x_ptr, acc)


@triton.jit
def sign(v):
    if v > 0:
        return 1, v
    elif v < 0:
        return -1, -v
    return 0, v


@triton.jit
def picked(x_ptr, n):
    which, size = sign(n)
    if n > 3:
        a, b = 1.0, which
    else:
        a, b = 2.0, size
    tl.store(x_ptr, (a if n > 5 else a + 1) + b)
