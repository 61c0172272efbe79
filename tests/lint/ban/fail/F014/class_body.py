# ban: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * 2.0, mask=i < n)


class Base(nn.Module):
    if torch.cuda.is_available():  #~ F014
        scale = 2.0

    def __getattr__(self, name):  #~ F014
        return name


class ModelNew(Base):
    """Doubles."""

    columns = 40
    sizes: tuple = (1, -2)
    weight = 3.0  #~ F014
    table = torch.zeros(3)  #~ F014
    training = False  #~ F014

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(3))
        self.register_buffer("forward", None)  #~ F014
        self.helper, self.size = None, 3  #~ F014
        self.training = True

    def extra_repr(self):
        return "doubles"

    def helper(self, x):
        return x

    def _call_impl(self, x):  #~ F014
        return x

    @torch.no_grad()
    def forward(self, x):
        y = torch.empty_like(x)
        double_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y

    forward = helper  #~ F014
