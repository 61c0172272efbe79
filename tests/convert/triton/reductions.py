# compile: norms x_ptr=*f32 y_ptr=*f32 stride=i32 n=i32 BLOCK=8
# buffer: x f32[60]
# buffer: y f32[12]
# launch: 3 x y 20 19
import triton
import triton.language as tl

TWICE = tl.constexpr(2)


@triton.jit
def squared(x):
    return x * x


@triton.jit
def part(x_ptr, at, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    return tl.load(x_ptr + at + i, mask=at + i < n, other=0.0)


# A pointer that moves, rows first.
@triton.jit
def norms(x_ptr, y_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    y_ptr += row * 4
    x_ptr += row * stride
    total = 0.0
    best = tl.load(x_ptr)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        total += tl.sum(squared(x)) * TWICE
        best = tl.maximum(best, tl.max(x))
    tl.store(y_ptr, total)
    tl.store(y_ptr + 1, best)
    y_ptr = y_ptr + 2
    tl.store(y_ptr - 0, tl.load(x_ptr + (n - 1)))
    tl.store(y_ptr + 1, 1.0)


@triton.jit
def head(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, BLOCK), part(x_ptr, 0, n, BLOCK))
