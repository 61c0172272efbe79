# ban: lenient
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * 2.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        a = x.contiguous().clone().detach()
        b = a.unsqueeze(0).squeeze(0).flatten().expand(4, -1).to(torch.float32)
        c = torch.full((4,), 1.0, device=x.device)
        d = torch.arange(4)
        e = torch.tensor([1.0])
        scale_kernel[(1,)](b, c, 4, BLOCK=256)
        return c
