# compile: three x_ptr=*f32
# compile: runtime_size x_ptr=*f32 n=i32
# compile: assigned_size x_ptr=*f32
# compile: mismatch x_ptr=*f32
# compile: inner x_ptr=*f32
# compile: changed x_ptr=*f32 n=i32
# compile: changed_in_loop x_ptr=*f32 n=i32
# compile: half x_ptr=*f16
# compile: float_floor x_ptr=*f32
# compile: not_a_mask x_ptr=*f32
# compile: in_helper x_ptr=*f32
import triton
import triton.language as tl


@triton.jit
def three(x_ptr):
    at = tl.arange(0, 12)
    tl.store(x_ptr + at, 0.0)


@triton.jit
def runtime_size(x_ptr, n):
    at = tl.arange(0, n)
    tl.store(x_ptr + at, 0.0)


@triton.jit
def assigned_size(x_ptr):
    size = 64
    at = tl.arange(0, size)
    tl.store(x_ptr + at, 0.0)


@triton.jit
def mismatch(x_ptr):
    a = tl.load(x_ptr + tl.arange(0, 64))
    b = tl.load(x_ptr + tl.arange(0, 32))
    tl.store(x_ptr + tl.arange(0, 64), a + b)


@triton.jit
def inner(x_ptr):
    a = tl.zeros((16, 32), dtype=tl.float32)
    b = tl.zeros((16, 32), dtype=tl.float32)
    c = tl.dot(a, b)


@triton.jit
def changed(x_ptr, n):
    v = 1
    if n > 0:
        v = 1.5
    tl.store(x_ptr, v)


@triton.jit
def changed_in_loop(x_ptr, n):
    total = 0
    for i in range(n):
        total += tl.load(x_ptr + i)
    tl.store(x_ptr, total)


@triton.jit
def half(x_ptr):
    tl.store(x_ptr, tl.exp(tl.load(x_ptr)))


@triton.jit
def float_floor(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr) // 2.0)


@triton.jit
def not_a_mask(x_ptr):
    at = tl.arange(0, 16)
    tl.store(x_ptr + at, 0.0, mask=at)


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def in_helper(x_ptr):
    tl.store(x_ptr, add(x_ptr, x_ptr))
