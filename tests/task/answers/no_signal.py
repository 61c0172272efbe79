# task: constant
# Fails: the task cannot tell kernels apart.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ones_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x * 0.0 + 1.0, mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        ones_kernel[(1,)](x, y, x.numel(), BLOCK=64)
        return y
