# ban: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = B()

    def forward(self, v):
        return self.b(v)


class B(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = C()

    def forward(self, v):
        return self.c(v)


class C(nn.Module):
    def forward(self, v):
        return last(*[v])


def last(v):
    return torch.exp(v)  #~ F001


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * 2.0, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = A()

    def forward(self, x):
        y = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return self.a(y)
