# compile: reductions x_ptr=*i32 f_ptr=*f32 y_ptr=*i32
# buffer: x i32[8] iota
# buffer: f f32[8] iota
# buffer: y i32[48] zeros
# launch: 1 x f y
# value: y 28 7 0 7 0 7 11 36 8 8 6 2 4 3 0 0 0 1 3 6 10 15 21 28 0 0 2 6 12 20 30 42 7 6 5 4 3 2 1 0 0 2 4 6 8 10 12 14
import triton
import triton.language as tl


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def added(a, b):
    return a + b


@triton.jit
def reductions(x_ptr, f_ptr, y_ptr):
    at = tl.arange(0, 8)
    x = tl.load(x_ptr + at)
    f = tl.load(f_ptr + at)
    tl.store(y_ptr, tl.sum(x, axis=0))
    tl.store(y_ptr + 1, tl.max(x, axis=0))
    tl.store(y_ptr + 2, tl.min(x, axis=0))
    tl.store(y_ptr + 3, tl.argmax(f, axis=0))
    tl.store(y_ptr + 4, tl.xor_sum(x, axis=0))
    tl.store(y_ptr + 5, tl.reduce(x, 0, larger))
    tl.store(y_ptr + 6, tl.reduce_or(x, axis=0) + 4)
    tl.store(y_ptr + 7, tl.reduce(x + 1, axis=0, combine_fn=added))
    tl.store(y_ptr + 8, tl.sum(x * 0 + 1, 0))
    tl.store(y_ptr + 9, triton.next_power_of_2(7))
    tl.store(y_ptr + 10, triton.cdiv(23, 4))
    first, second = tl.swizzle2d(3, 0, 4, 4, 2)
    tl.store(y_ptr + 11, first)
    tl.store(y_ptr + 12, first + second)
    tl.store(y_ptr + 13, tl.gather(x, x, 0).dtype.primitive_bitwidth // 10)
    tl.store(y_ptr + 16 + at, tl.cumsum(x, axis=0))
    tl.store(y_ptr + 24 + at, tl.associative_scan(x, 0, added) * 0 + tl.gather(x, x, 0) * (x - 1) * (x > 0))
    tl.store(y_ptr + 32 + at, tl.sort(x, descending=True))
    tl.store(y_ptr + 40 + at, tl.associative_scan(x * 0 + 2, axis=0, combine_fn=added) - 2)
