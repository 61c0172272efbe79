# ban: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


def helper(v):
    return inner(v)


def inner(v):
    return torch.abs(v)  #~ F001


class Layer(nn.Module):
    def forward(self, v):
        return torch.exp(v)  #~ F001


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * 2.0, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer()

    def forward(self, x):
        y = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        a = helper(y)
        b = self.method(a)
        return self.layer(b)

    def method(self, v):
        return torch.sqrt(v)  #~ F001
