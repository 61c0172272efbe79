# ban: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl
import functools
import torch as t
from torch import matmul as mm

act = torch.sin


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * 2.0, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = torch.cos
        self.table = {"erf": torch.erf}

    def forward(self, x):
        y = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        f = torch.relu
        a = mm(y, y)  #~ F001
        b = t.sigmoid(a)  #~ F001
        c = f(b)  #~ F001
        d = act(c)  #~ F001
        e = getattr(torch, "tanh")(d)  #~ F001
        g = (lambda v: torch.exp(v))(e)  #~ F001
        h = self.act(g)  #~ F001
        i = self.table["erf"](h)  #~ F001
        return functools.partial(torch.clamp, min=0.0)(i)  #~ F001
