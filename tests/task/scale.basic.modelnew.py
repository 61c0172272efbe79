"""Model of scale.py in Triton: 1 launch of 1 kernel.

Made for the shapes and types that `forward` names; it refuses others.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_tile(
    tile,
    E1,
    a_ptr,
    b_ptr,
    c_ptr,
    y_ptr, E, BLOCK: tl.constexpr,
):
    e = tile * BLOCK + tl.arange(0, BLOCK)
    e1 = e % E1
    a = tl.load(a_ptr + e, mask=e < E, other=0.0)
    b = tl.load(b_ptr + e, mask=e < E, other=0.0)
    c = tl.load(c_ptr + e1, mask=e < E, other=0.0)
    y = a * b + c
    tl.store(y_ptr + e, y, mask=e < E)


@triton.jit
def scale_kernel(
    E1,
    a_ptr,
    b_ptr,
    c_ptr,
    y_ptr, E, BLOCK: tl.constexpr,
):
    scale_tile(
        tl.program_id(0),
        E1,
        a_ptr,
        b_ptr,
        c_ptr,
        y_ptr, E, BLOCK,
    )


def launch_scale(a, b, c, y):
    """Writes y.

    a: float32 [6, 40]
    b: float32 [6, 40]
    c: float32 [40]
    y: float32 [6, 40], written
    """
    E = y.numel()
    BLOCK = 256
    scale_kernel[(triton.cdiv(E, BLOCK),)](
        y.shape[1], a, b, c, y, E,
        BLOCK=BLOCK,
        num_warps=4, num_stages=1,
    )
    return y


def check(name, tensor, shape, dtype):
    """Refuses a tensor that the kernels were not made for."""
    if tensor.shape != shape:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}, not {shape}")
    if tensor.dtype != dtype:
        raise ValueError(f"{name} has dtype {tensor.dtype}, not {dtype}")
    stride = 1
    for i in range(len(shape) - 1, -1, -1):
        if shape[i] != 1 and tensor.stride(i) != stride:
            raise ValueError(f"{name} has stride {tensor.stride(i)} along axis {i}, not {stride}")
        stride = stride * shape[i]


class ModelNew(nn.Module):
    def __init__(self, rows, columns):
        torch.manual_seed(0)
        super().__init__()
        self.weight = nn.Parameter(torch.rand(rows, columns))
        self.shift = nn.Linear(1, columns)
        check("weight", self.weight, (6, 40), torch.float32)
        check("shift.bias", self.shift.bias, (40,), torch.float32)

    def forward(self, x):
        """Returns add float32 [6, 40]."""
        check("x", x, (6, 40), torch.float32)
        b0 = torch.empty(240, dtype=torch.float32, device=x.device)

        # mul
        launch_scale(x, self.weight, self.shift.bias, b0.view(6, 40))

        return b0.view(6, 40)
