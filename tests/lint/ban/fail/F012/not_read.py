# ban: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl
from elsewhere import compute


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * 2.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        with torch.no_grad():  #~ F012
            y = torch.relu(y)
        a = [v for v in (x, y)]  #~ F012
        b = compute(y)  #~ F012
        return self.nobody_sets_this(b)  #~ F012
