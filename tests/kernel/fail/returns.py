# compile: static_mismatch x_ptr=*f32 FLAG=True
# compile: runtime_mismatch x_ptr=*f32
import triton
import triton.language as tl


@triton.jit
def pick(v, FLAG: tl.constexpr):
    if FLAG:
        return v, v
    return v


@triton.jit
def static_mismatch(x_ptr, FLAG: tl.constexpr):
    a, b = pick(tl.load(x_ptr), FLAG)
    tl.store(x_ptr, a + b)


@triton.jit
def choose(v):
    if v > 0:
        return v
    return 1


@triton.jit
def runtime_mismatch(x_ptr):
    tl.store(x_ptr, choose(tl.load(x_ptr)))
