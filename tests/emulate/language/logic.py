# compile: logic x_ptr=*f32 m_ptr=*bool y_ptr=*f32 N=3
# buffer: x f32[4] iota
# buffer: m bool[4] 1
# buffer: y f32[19] zeros
# launch: 1 x m y
# value: y 0 1 1 0 1 0 0 1 1 1 1 1 1 0 0 1 3 7 0
import triton
import triton.language as tl


@triton.jit
def logic(x_ptr, m_ptr, y_ptr, N: tl.constexpr):
    """`and` and `or` as methods: of truth values lane by lane, and of numbers that are known as Python's."""
    at = tl.arange(0, 4)
    x = tl.load(x_ptr + at)
    m = tl.load(m_ptr + at)
    tl.store(y_ptr + at, (x > 0).logical_and(x < 3))
    tl.store(y_ptr + 4 + at, (x < 1).logical_or(x == 3))
    tl.store(y_ptr + 8 + at, (x > 5).logical_or(m))
    tl.store(y_ptr + 12 + at, (x < 1).logical_or((x > 2).logical_and(m)))
    tl.store(y_ptr + 16, (0 < N).logical_and(N))
    tl.store(y_ptr + 17, (N > 5).logical_or(7))
    tl.store(y_ptr + 18, N.logical_and(0))
