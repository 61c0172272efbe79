"""maxpool2d: MaxPool.

Used by maxpool of resnet50.
"""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl


# Kernel


@triton.jit
def maxpool2d_tile(
    tile, x_ptr, y_ptr,
    N, C, H, W, P, Q,
    x_stride_n, x_stride_c, x_stride_h, x_stride_w,
    y_stride_n, y_stride_c, y_stride_p, y_stride_q,
    KERNEL_H: tl.constexpr, KERNEL_W: tl.constexpr, STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr,
    DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
    BP: tl.constexpr, BQ: tl.constexpr,
):
    tiles_p = tl.cdiv(P, BP)
    tiles_q = tl.cdiv(Q, BQ)
    plane = tile // (tiles_p * tiles_q)
    n = plane // C
    c = plane % C
    p = tile // tiles_q % tiles_p * BP + tl.arange(0, BP)
    q = tile % tiles_q * BQ + tl.arange(0, BQ)
    best = tl.full((BP, BQ), float("-inf"), dtype=tl.float32)
    for r in range(KERNEL_H):
        h = p * STRIDE_H + (r * DILATION_H - PAD_H)
        for s in range(KERNEL_W):
            w = q * STRIDE_W + (s * DILATION_W - PAD_W)
            x = tl.load(
                x_ptr + n * x_stride_n + c * x_stride_c
                + h[:, None] * x_stride_h + w[None, :] * x_stride_w,
                mask=((h >= 0) & (h < H))[:, None] & ((w >= 0) & (w < W))[None, :],
                other=float("-inf"),
            )
            best = tl.maximum(best, x.to(tl.float32), propagate_nan=tl.PropagateNan.ALL)
    tl.store(
        y_ptr + n * y_stride_n + c * y_stride_c
        + p[:, None] * y_stride_p + q[None, :] * y_stride_q,
        best,
        mask=(p[:, None] < P) & (q[None, :] < Q),
    )


@triton.jit
def maxpool2d_kernel(
    x_ptr, y_ptr,
    N, C, H, W, P, Q,
    x_stride_n, x_stride_c, x_stride_h, x_stride_w,
    y_stride_n, y_stride_c, y_stride_p, y_stride_q,
    KERNEL_H: tl.constexpr, KERNEL_W: tl.constexpr, STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr,
    DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
    BP: tl.constexpr, BQ: tl.constexpr,
):
    maxpool2d_tile(
        tl.program_id(0), x_ptr, y_ptr,
        N, C, H, W, P, Q,
        x_stride_n, x_stride_c, x_stride_h, x_stride_w,
        y_stride_n, y_stride_c, y_stride_p, y_stride_q,
        KERNEL_H, KERNEL_W, STRIDE_H, STRIDE_W,
        DILATION_H, DILATION_W, PAD_H, PAD_W,
        BP, BQ,
    )


# Wrapper


def check(name, tensor, shape, dtype, device):
    """Refuses a tensor that the kernel was not made for."""
    if tensor.shape != shape:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}, not {shape}")
    if tensor.dtype != dtype:
        raise ValueError(f"{name} has dtype {tensor.dtype}, not {dtype}")
    if tensor.device != device:
        raise ValueError(f"{name} is on {tensor.device}, not on {device}")
    stride = 1
    for i in range(len(shape) - 1, -1, -1):
        if shape[i] != 1 and tensor.stride(i) != stride:
            raise ValueError(f"{name} has stride {tensor.stride(i)} along axis {i}, not {stride}")
        stride = stride * shape[i]


def launch(x, y):
    """Writes y.

    x: float32 [1, 64, 112, 112]
    y: float32 [1, 64, 56, 56], written
    """
    check("x", x, (1, 64, 112, 112), torch.float32, x.device)
    check("y", y, (1, 64, 56, 56), torch.float32, x.device)
    N = x.shape[0]
    C = x.shape[1]
    H = x.shape[2]
    W = x.shape[3]
    P = y.shape[2]
    Q = y.shape[3]
    BP = 4
    BQ = 64
    maxpool2d_kernel[(triton.cdiv(P, BP) * triton.cdiv(Q, BQ) * N * C,)](
        x, y, N, C, H, W, P, Q, x.stride(0), x.stride(1), x.stride(2), x.stride(3), y.stride(0),
        y.stride(1), y.stride(2), y.stride(3),
        KERNEL_H=3, KERNEL_W=3, STRIDE_H=2, STRIDE_W=2, DILATION_H=1, DILATION_W=1, PAD_H=1,
        PAD_W=1, BP=BP, BQ=BQ,
        num_warps=1, num_stages=1,
    )
    return y


# Reference


def reference(x):
    """The model's own operators, float32 [1, 64, 56, 56]."""
    return F.max_pool2d(x, 3, stride=2, padding=1)


# Test


def compute(x):
    """What the kernel gives for the reference's arguments."""
    y = torch.empty((1, 64, 56, 56), dtype=torch.float32, device=x.device)
    launch(x, y)
    return y


def compare(x):
    """The kernel against the reference in float64."""
    given = (x,)
    expected = reference(*(t.double() if t.is_floating_point() else t for t in given))
    torch.testing.assert_close(
        compute(*given).double(), expected.double(),
        rtol=0, atol=0, equal_nan=True,
    )


def test(device):
    """Ordinary inputs, then odd ones."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn((1, 64, 112, 112), generator=generator).to(device)
    compare(x)
    x.view(-1)[0] = float("nan")
    x.view(-1)[-1] = float("inf")
    compare(x)


if __name__ == "__main__":
    test("cuda" if torch.cuda.is_available() else "cpu")
    print("ok")
