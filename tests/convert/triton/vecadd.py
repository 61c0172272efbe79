# compile: add x_ptr=*f32 y_ptr=*f32 out_ptr=*f32 n=i32 BLOCK=16
# buffer: x f32[40]
# buffer: y f32[40]
# buffer: out f32[40]
# launch: 3 x y out 37
"""Adds two vectors."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """One block a program."""
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)  # of this program
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = tl.load(y_ptr+offsets, mask, 0.0)
    tl.store(
        out_ptr
        + offsets,  # as loaded
        x + y,
        mask=mask,
    )


def compute(x: torch.Tensor, y: torch.Tensor):
    out = torch.empty_like(x)
    n = x.numel()
    grid = (triton.cdiv(n, 16),)
    add[grid](x, y, out, n, BLOCK=16, num_warps=4)
    return out
