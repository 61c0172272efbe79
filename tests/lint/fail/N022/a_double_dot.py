# lint: ascend910b1 a_ptr=*f32
import triton
import triton.language as tl


@triton.jit
def square(a_ptr, c_ptr, n, B: tl.constexpr = 32):
    m = tl.arange(0, B)
    at = m[:, None] * B + m[None, :]
    mask = (m[:, None] + m[None, :] * 0.0) < 32.0
    a = tl.load(a_ptr + at, mask=mask, other=0.0).to(tl.float64)  #~ N010
    c = tl.dot(a, a)  #~ N022
    tl.store(c_ptr + at, c.to(tl.float32), mask=mask)  #~ N010
