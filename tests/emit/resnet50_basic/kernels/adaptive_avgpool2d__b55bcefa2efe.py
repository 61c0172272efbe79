"""adaptive_avgpool2d: GlobalAveragePool.

Used by avgpool of resnet50.
"""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl


# Kernel


@triton.jit
def adaptive_avgpool2d_tile(
    tile, x_ptr, y_ptr,
    N, C, H, W, P, Q, BIN_H, BIN_W,
    x_stride_n, x_stride_c, x_stride_h, x_stride_w,
    y_stride_n, y_stride_c, y_stride_p, y_stride_q,
    BE: tl.constexpr, BT: tl.constexpr,
):
    e = tile * BE + tl.arange(0, BE)
    n = e // (C * P * Q)
    c = e // (P * Q) % C
    p = e // Q % P
    q = e % Q
    h0 = p * H // P
    h1 = ((p + 1) * H + P - 1) // P
    w0 = q * W // Q
    w1 = ((q + 1) * W + Q - 1) // Q
    total = tl.zeros((BE,), dtype=tl.float32)
    for start in range(0, BIN_H * BIN_W, BT):
        t = start + tl.arange(0, BT)
        h = h0[:, None] + (t // BIN_W)[None, :]
        w = w0[:, None] + (t % BIN_W)[None, :]
        x = tl.load(
            x_ptr + n[:, None] * x_stride_n + c[:, None] * x_stride_c
            + h * x_stride_h + w * x_stride_w,
            mask=(n[:, None] < N) & (h < h1[:, None]) & (w < w1[:, None]),
            other=0.0,
        )
        total += tl.sum(x.to(tl.float32), axis=1)
    y = tl.div_rn(total, ((h1 - h0) * (w1 - w0)).to(tl.float32))
    tl.store(
        y_ptr + n * y_stride_n + c * y_stride_c + p * y_stride_p + q * y_stride_q,
        y,
        mask=n < N,
    )


@triton.jit
def adaptive_avgpool2d_kernel(
    x_ptr, y_ptr,
    N, C, H, W, P, Q, BIN_H, BIN_W,
    x_stride_n, x_stride_c, x_stride_h, x_stride_w,
    y_stride_n, y_stride_c, y_stride_p, y_stride_q,
    BE: tl.constexpr, BT: tl.constexpr,
):
    adaptive_avgpool2d_tile(
        tl.program_id(0), x_ptr, y_ptr,
        N, C, H, W, P, Q, BIN_H, BIN_W,
        x_stride_n, x_stride_c, x_stride_h, x_stride_w,
        y_stride_n, y_stride_c, y_stride_p, y_stride_q,
        BE, BT,
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

    x: float32 [1, 2048, 7, 7]
    y: float32 [1, 2048, 1, 1], written
    """
    check("x", x, (1, 2048, 7, 7), torch.float32, x.device)
    check("y", y, (1, 2048, 1, 1), torch.float32, x.device)
    N = x.shape[0]
    C = x.shape[1]
    H = x.shape[2]
    W = x.shape[3]
    P = y.shape[2]
    Q = y.shape[3]
    BIN_H = triton.cdiv(H, P) + (1 if H % P else 0)
    BIN_W = triton.cdiv(W, Q) + (1 if W % Q else 0)
    BE = 16
    adaptive_avgpool2d_kernel[(triton.cdiv(N * C * P * Q, BE),)](
        x, y, N, C, H, W, P, Q, BIN_H, BIN_W, x.stride(0), x.stride(1), x.stride(2), x.stride(3),
        y.stride(0), y.stride(1), y.stride(2), y.stride(3),
        BE=BE, BT=64,
        num_warps=2, num_stages=1,
    )
    return y


# Reference


def reference(x):
    """The model's own operators, float32 [1, 2048, 1, 1]."""
    return F.adaptive_avg_pool2d(x, (1, 1))


# Test


def compute(x):
    """What the kernel gives for the reference's arguments."""
    y = torch.empty((1, 2048, 1, 1), dtype=torch.float32, device=x.device)
    launch(x, y)
    return y


def compare(x):
    """The kernel against the reference in float64."""
    given = (x,)
    expected = reference(*(t.double() if t.is_floating_point() else t for t in given))
    torch.testing.assert_close(
        compute(*given).double(), expected.double(),
        rtol=1e-4, atol=1e-4, equal_nan=True,
    )


def test(device):
    """Ordinary inputs, then odd ones."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn((1, 2048, 7, 7), generator=generator).to(device)
    compare(x)
    x.view(-1)[0] = float("nan")
    x.view(-1)[-1] = float("inf")
    compare(x)


if __name__ == "__main__":
    test("cuda" if torch.cuda.is_available() else "cpu")
    print("ok")
