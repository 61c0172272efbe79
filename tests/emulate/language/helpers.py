# compile: helpers x_ptr=*f32 y_ptr=*f32 n=i32
# buffer: x f32[4] iota
# buffer: y f32[8] zeros
# launch: 1 x y 4
# value: y 6 5 2 9 12 1 6 0
import triton
import triton.language as tl

from beside.scales import scaled
from beside import scales

FACTOR: tl.constexpr = tl.constexpr(3)
PLAIN = 7


@triton.jit
def twice(v, times: tl.constexpr = 2):
    return v * times


@triton.jit
def apply(F: tl.constexpr, v):
    return F(v)


@triton.jit
def least_and_greatest(v) -> tl.tensor:
    return tl.min(v, axis=0), tl.max(v, axis=0)


@triton.jit
def clipped(v, limit: float):
    if v > limit:
        return limit
    return v


@triton.jit
def total(first, second, *rest):
    sum = first + second
    for i in tl.static_range(len(rest)):
        sum += rest[i]
    return sum


@triton.jit
def helpers(x_ptr: tl.tensor, y_ptr, n: int, unused: tl.constexpr = PLAIN):
    x = tl.load(x_ptr + tl.arange(0, 4))
    low, high = least_and_greatest(x)
    tl.store(y_ptr, twice(high))
    tl.store(y_ptr + 1, twice(high, times=1) + low + 2)
    tl.store(y_ptr + 2, clipped(high, 2.0))
    tl.store(y_ptr + 3, scaled(high, FACTOR))
    tl.store(y_ptr + 4, scales.scaled(high, scales.FOUR))
    parts = (low, 1.0)
    tl.store(y_ptr + 5, total(*parts, 0))
    tl.store(y_ptr + 6, apply(twice, high))
