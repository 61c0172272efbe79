@triton.jit
def conv_kernel(x_ptr, w_ptr, p_ptr, C, E, BLOCK: tl.constexpr):
    k = tl.program_id(0)
    e = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for c in range(0, C):
        x = tl.load(x_ptr + c * E + e, mask=e < E, other=0.0)
        acc += x * tl.load(w_ptr + k * C + c)
    tl.store(p_ptr + k * E + e, acc, mask=e < E)


@triton.jit
def bias_relu_kernel(p_ptr, e0_ptr, y_ptr, E, BLOCK: tl.constexpr, LOW: tl.constexpr):
    k = tl.program_id(0)
    e = tl.arange(0, BLOCK)
    y = tl.load(p_ptr + k * E + e, mask=e < E, other=0.0) + tl.load(e0_ptr + k)
    tl.store(y_ptr + k * E + e, tl.where(y < LOW, LOW, y), mask=e < E)
