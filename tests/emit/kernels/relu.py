@triton.jit
def relu_kernel(x_ptr, y_ptr, E, BLOCK: tl.constexpr):
    e = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + e, mask=e < E, other=0.0)
    tl.store(y_ptr + e, tl.where(x < 0, 0.0, x), mask=e < E)
