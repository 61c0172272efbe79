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
# compile: no_target_has_it x_ptr=*f32
# compile: parameter_of_it x_ptr=*f8e4m3fnuz
# compile: bits_of_it x_ptr=*u8
# compile: elements_of_a_number x_ptr=*f32
# compile: not_of_one_bit x_ptr=*i32
# compile: gone x_ptr=*f16
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


@triton.jit
def no_target_has_it(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr).to(tl.float8e4b8).to(tl.float32))


@triton.jit
def parameter_of_it(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr))


@triton.jit
def bits_of_it(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr).to(tl.float8e5b16, bitcast=True).to(tl.uint8, bitcast=True))


@triton.jit
def elements_of_a_number(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr).to(tl.load(x_ptr).dtype.element_ty))


@triton.jit
def not_of_one_bit(x_ptr):
    v = tl.load(x_ptr)
    tl.store(x_ptr, v.logical_and(v).to(tl.int32))


@triton.jit
def gone(x_ptr):
    at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    v = tl.load(x_ptr + at)
    tl.store(x_ptr + at, tl.dot(v, v, trans_b=True).to(tl.float16))
