# x=f32[2,3,5] y=f32[2,3,5]
"""A kernel file as a suite has it."""

import torch
import triton
import triton.language as tl

WIDTH = 16
SHIFT = -3


@triton.jit
def relu(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < N, other=0.0)
    tl.store(y_ptr + i, tl.where(x < 0.0, 0.0, x), mask=i < N)


def check(name, tensor, shape, dtype, device):
    if tensor.shape != shape:
        raise ValueError(f"{name}: shape {tuple(tensor.shape)} instead of {shape}")
    if tensor.dtype != dtype or tensor.device != device:
        raise ValueError(f"{name}: {tensor.dtype}")


def launch(x, y):
    """Docstrings are skipped."""
    check("x", x, (2, 3, 5), torch.float32, x.device)
    check("y", y, (2, 3, 5), dtype=torch.float32, device=x.device)
    N = x.numel()
    relu[(triton.cdiv(N, WIDTH),)](x, y, N, BLOCK=WIDTH, num_warps=4, num_stages=1)
    return y


def test():
    for seed in [1, 2, 3]:
        print(seed)


if __name__ == "__main__":
    test()
