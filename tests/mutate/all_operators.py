"""Text in which every mutation operator finds something to break. It is read, never run."""

import torch
import triton
import triton.language as tl


@triton.jit
def pool_tile(
    tile, x_ptr, b_ptr, y_ptr, C, H, W, P, Q,
    x_stride_c, x_stride_h, x_stride_w, y_stride_c, y_stride_p, y_stride_q,
    STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
    DILATION_W: tl.constexpr, KERNEL_W: tl.constexpr, BQ: tl.constexpr,
):
    tiles_q = tl.cdiv(Q, BQ)
    c = tile // (tiles_q * P)
    p = tile // tiles_q % P
    q = tile % tiles_q * BQ + tl.arange(0, BQ)
    best = tl.full((BQ,), float("-inf"), dtype=tl.float32)
    total = 0.0
    for s in range(KERNEL_W):
        w = q * STRIDE_W + (s * DILATION_W - PAD_W)
        h = p * STRIDE_H - PAD_H
        x = tl.load(
            x_ptr + c * x_stride_c + h * x_stride_h + w * x_stride_w,
            mask=(w >= 0) & (w < W),
            other=float("-inf"),
        )
        best = tl.maximum(best, x.to(tl.float32), propagate_nan=tl.PropagateNan.ALL)
        total += tl.sum(x[None, :], axis=1)
    bias = tl.load(b_ptr + c)
    y = best + bias
    y = tl.where(y < 0, 0, y)
    tl.store(y_ptr + c * y_stride_c + p * y_stride_p + q * y_stride_q, y, mask=q < Q)


@triton.jit
def pool_kernel_loop(x_ptr, y_ptr, WORK, BQ: tl.constexpr):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        pool_tile(tile, x_ptr, y_ptr, BQ)


def launch(x, y):
    """Writes y."""
    Q = y.shape[2]
    pool_kernel[(triton.cdiv(Q, 16) * 4,)](
        x, y, x.stride(0), x.stride(1), PAD_H=1, BQ=16, num_warps=1, num_stages=1,
    )
    return y


def check(name, tensor):
    """Refuses; not mutated."""
    if tensor.numel() + 1 < 0:
        raise ValueError(name)


def prepare(weights):
    """Weights made once."""
    scale = weights["gamma"] / torch.sqrt(weights["var"] + 1e-5)
    return (scale,)


def forward(x, weights, prepared):
    """One inference."""
    b0 = torch.empty(32, dtype=torch.float32, device=x.device)
    b1 = torch.empty(48, dtype=torch.float32, device=x.device)
    pool.launch(x, b0.view(4, 8))
    pool.launch(b0.view(4, 8), b1.view(4, 12))
    return b1.view(4, 12)
