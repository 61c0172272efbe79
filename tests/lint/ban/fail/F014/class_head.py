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


def other(cls):
    return nn.Identity


class Meta(type):
    pass  #~ F010


@other  #~ F014
class ModelNew(nn.Identity, metaclass=Meta):  #~ F014 F014
    @staticmethod  #~ F014
    def forward(x):
        y = torch.empty_like(x)
        double_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
