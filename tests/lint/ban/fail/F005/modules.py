# ban: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(4)

    def forward(self, v):
        return self.norm(v)  #~ F005


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * 2.0, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 1)
        self.linear = nn.Linear(4, 4)
        self.layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])
        self.block = Block()

    def forward(self, x):
        y = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        a = self.conv(y)  #~ F005
        b = self.linear.forward(a)  #~ F005
        for layer in self.layers:
            b = layer(b)  #~ F005
        return self.block(b)
