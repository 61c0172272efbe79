# task: scale
# Holds: forward leaves the launch to a method, and the seed comes first.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, w_ptr, b_ptr, y_ptr, n, columns, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    w = tl.load(w_ptr + at, mask=mask, other=0.0)
    b = tl.load(b_ptr + at % columns, mask=mask, other=0.0)
    tl.store(y_ptr + at, x * w + b, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, rows, columns):
        torch.manual_seed(0)
        super().__init__()
        self.weight = nn.Parameter(torch.rand(rows, columns))
        shift = nn.Linear(1, columns)
        self.bias = nn.Parameter(shift.bias.clone())

    def forward(self, x):
        return self.launch(x, torch.empty_like(x))

    def launch(self, x, y):
        n = x.numel()
        scale_kernel[(triton.cdiv(n, 64),)](x, self.weight, self.bias, y, n, x.shape[1], BLOCK=64)
        return y
