"""conv2d_resnet: Conv, BatchNormalization, Relu.

Used by conv of hand_made.
"""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl


# Kernel


@triton.jit
def conv_kernel(x_ptr, w_ptr, p_ptr, C, E, BLOCK: tl.constexpr):
    k = tl.program_id(0)
    e = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for c in range(0, C):
        x = tl.load(x_ptr + c * E + e, mask=e < E, other=0.0)
        acc += x * tl.load(w_ptr + k * C + c)
    tl.store(p_ptr + k * E + e, acc, mask=e < E)


@triton.jit
def bias_relu_kernel(p_ptr, e0_ptr, y_ptr, E, BLOCK: tl.constexpr, LOW: tl.constexpr):
    k = tl.program_id(0)
    e = tl.arange(0, BLOCK)
    y = tl.load(p_ptr + k * E + e, mask=e < E, other=0.0) + tl.load(e0_ptr + k)
    tl.store(y_ptr + k * E + e, tl.where(y < LOW, LOW, y), mask=e < E)


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


def launch(x, w, e0, y):
    """Writes y.

    x: float32 [1, 3, 6, 6]
    w: float32 [4, 3, 1, 1]
    e0: float32 [4]
    y: float32 [1, 4, 6, 6], written
    """
    check("x", x, (1, 3, 6, 6), torch.float32, x.device)
    check("w", w, (4, 3, 1, 1), torch.float32, x.device)
    check("e0", e0, (4,), torch.float32, x.device)
    check("y", y, (1, 4, 6, 6), torch.float32, x.device)
    p = torch.empty((200,), dtype=torch.float32, device=x.device)
    C = x.size(1)
    E = x.size(2) * x.size(3)
    BLOCK = 64
    conv_kernel[(w.size(0), triton.cdiv(E, BLOCK))](
        x, w, p, C, E,
        BLOCK=BLOCK,
        num_warps=4, num_stages=2,
    )
    BLOCK = 128
    bias_relu_kernel[(e0.numel(),)](p, e0, y, E, BLOCK=BLOCK, LOW=0.0, num_warps=4, num_stages=1)
    return y


# Reference


def reference(x, weight, gamma, bias, mean, var):
    """The model's own operators, float32 [1, 4, 6, 6]."""
    c = F.conv2d(x, weight)
    n = F.batch_norm(c, mean, var, gamma, bias, eps=1e-5)
    return torch.relu(n)


# Test


def compute(x, weight, gamma, bias, mean, var):
    """What the kernel gives for the reference's arguments."""
    bn_scale = gamma * torch.rsqrt(var + 1e-5)
    conv_weight_folded = weight * bn_scale.reshape(4, 1, 1, 1)
    bn_shift = bias - mean * bn_scale
    y = torch.empty((1, 4, 6, 6), dtype=torch.float32, device=x.device)
    launch(x, conv_weight_folded, bn_shift, y)
    return y


def compare(x, weight, gamma, bias, mean, var):
    """The kernel against the reference in float64."""
    given = (x, weight, gamma, bias, mean, var)
    expected = reference(*(t.double() if t.is_floating_point() else t for t in given))
    torch.testing.assert_close(
        compute(*given).double(), expected.double(),
        rtol=1e-4, atol=1e-4, equal_nan=True,
    )


def test(device):
    """Ordinary inputs, then odd ones."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn((1, 3, 6, 6), generator=generator).to(device)
    weight = (torch.randn((4, 3, 1, 1), generator=generator) * 0.5).to(device)
    gamma = (torch.rand((4,), generator=generator) + 0.5).to(device)
    bias = torch.randn((4,), generator=generator).to(device)
    mean = torch.randn((4,), generator=generator).to(device)
    var = (torch.rand((4,), generator=generator) + 0.5).to(device)
    compare(x, weight, gamma, bias, mean, var)
    x.view(-1)[0] = float("nan")
    x.view(-1)[-1] = float("inf")
    compare(x, weight, gamma, bias, mean, var)


if __name__ == "__main__":
    test("cuda" if torch.cuda.is_available() else "cpu")
    print("ok")
