# compile: half x_ptr=*f16
# compile: byte x_ptr=*i8
# compile: block_value x_ptr=*i32
# compile: wide x_ptr=*i32
# compile: semantic x_ptr=*i32
# compile: through_an_integer x_ptr=i32
# compile: compared x_ptr=*i64
# compile: small_address x_ptr=*i32
# compile: narrow x_ptr=*i32
# compile: assumed x_ptr=*i32 n=i32
# compile: axes x_ptr=*i32
# compile: modifier x_ptr=*i32
# compile: mask x_ptr=*i32
import triton
import triton.language as tl


@triton.jit
def half(x_ptr):
    tl.atomic_max(x_ptr, 1.0)


@triton.jit
def byte(x_ptr):
    tl.atomic_add(x_ptr, 1)


@triton.jit
def block_value(x_ptr):
    tl.atomic_add(x_ptr, tl.arange(0, 4))


@triton.jit
def wide(x_ptr):
    tl.atomic_add(x_ptr + tl.arange(0, 4), tl.arange(0, 8))


@triton.jit
def semantic(x_ptr):
    tl.atomic_add(x_ptr, 1, sem="seq_cst")


@triton.jit
def through_an_integer(x_ptr):
    tl.atomic_add(x_ptr, 1)


@triton.jit
def compared(x_ptr):
    tl.atomic_cas(x_ptr, 0, 1)


@triton.jit
def small_address(x_ptr):
    at = tl.load(x_ptr).to(tl.pointer_type(tl.float32))
    tl.store(at, 1.0)


@triton.jit
def narrow(x_ptr):
    tl.store(x_ptr, x_ptr.to(tl.int32))


@triton.jit
def assumed(x_ptr, n):
    tl.assume(tl.arange(0, 4) < n)


@triton.jit
def axes(x_ptr):
    at = tl.arange(0, 4)
    tl.store(x_ptr + tl.multiple_of(at[:, None] * 4 + at[None, :], 4), 1)


@triton.jit
def modifier(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr, cache_modifier=".wb"))


@triton.jit
def mask(x_ptr):
    at = tl.arange(0, 4)
    tl.atomic_add(x_ptr + at, 1, mask=at)
