# ban: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


def launch(a, b):
    scale_kernel[(1,)](a, b, a.numel(), BLOCK=256)
    return b


class Inner(nn.Module):
    def forward(self, v):
        return launch(v, torch.empty_like(v))


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * 2.0, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        linear = nn.Linear(4, 4)
        self.weight = nn.Parameter(linear.weight.clone() * 2.0)
        self.width = 4 * 2
        self.inner = Inner()

    def forward(self, x):
        y = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        b, c = x.shape
        n = b * c + x.size(0) // 2 - x.stride(1)
        if x.dim() != 2 or x.dtype != torch.float32:
            raise ValueError(f"a matrix of fp32, not {x.shape}")
        block = min(1024, triton.next_power_of_2(max(n, 1)))
        z = torch.zeros((b, self.width), dtype=x.dtype, device=x.device)
        grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
        scale_kernel[grid](y.view(-1), z, n, BLOCK=block)
        launch(z, self.weight.reshape(-1))
        w = self.inner(z)
        out = w.permute(1, 0) if b > 1 else w.transpose(0, 1)
        return out.view(c, b)
