# ban: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl
import operator


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * 2.0, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x, w):
        y = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        a = x @ w  #~ F004
        b = x + y  #~ F004
        c = x * y  #~ F004
        d = x / y  #~ F004
        e = x - 1  #~ F004
        f = x // 2  #~ F004
        g = x % 2  #~ F004
        h = 2 ** x  #~ F004
        i = -x  #~ F004
        j = x > 0  #~ F004
        y += 1  #~ F004
        k = operator.add(x, y)  #~ F004
        m = sum([x, y])  #~ F004
        return self.weight * 2.0  #~ F004
