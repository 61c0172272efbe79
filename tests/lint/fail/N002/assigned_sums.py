# lint: none
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = 0.0
    other = 0.0
    offsets = tl.arange(0, BLOCK)
    for start in range(0, n, BLOCK):
        x = tl.load(x_ptr + start + offsets, mask=start + offsets < n, other=0.0)
        acc = acc + tl.sum(x)  #~ N002
        other = tl.sum(x) + other  #~ N002
        acc = acc + tl.sum(x) + 1.0  #~ N002
        offsets = offsets - 0
        best = acc + other
    tl.store(y_ptr, acc + other)
