"""conv2d_resnet: Conv, BatchNormalization, Relu.

Used by layer4.0.conv2 of resnet50.
"""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl


# Kernel


@triton.jit
def conv2d_resnet_tile(
    tile, x_ptr, w_ptr, y_ptr,
    N, C, H, W, K, P, Q, R, S,
    x_stride_n, x_stride_c, x_stride_h, x_stride_w,
    w_stride_k, w_stride_c, w_stride_r, w_stride_s,
    y_stride_n, y_stride_k, y_stride_p, y_stride_q,
    bias_ptr, bias_stride_k,
    STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
    DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    M = N * P * Q
    KG = K // GROUPS
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(KG, BN)
    group = tile // (tiles_m * tiles_n)
    gm = tile // tiles_n % tiles_m * BM + tl.arange(0, BM)
    gn = tile % tiles_n * BN + tl.arange(0, BN)
    n = gm // (P * Q)
    p = gm // Q % P
    q = gm % Q
    k = group * KG + gn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, C * R * S, BK):
        gk = start + tl.arange(0, BK)
        c = gk // (R * S)
        r = gk // S % R
        s = gk % S
        cx = group * C + c
        h = (p * STRIDE_H - PAD_H)[:, None] + (r * DILATION_H)[None, :]
        w = (q * STRIDE_W - PAD_W)[:, None] + (s * DILATION_W)[None, :]
        x = tl.load(
            x_ptr + n[:, None] * x_stride_n + cx[None, :] * x_stride_c
            + h * x_stride_h + w * x_stride_w,
            mask=(gm[:, None] < M) & (c[None, :] < C)
            & (h >= 0) & (h < H) & (w >= 0) & (w < W),
            other=0.0,
        )
        weight = tl.load(
            w_ptr + k[None, :] * w_stride_k + c[:, None] * w_stride_c
            + r[:, None] * w_stride_r + s[:, None] * w_stride_s,
            mask=(gn[None, :] < KG) & (c[:, None] < C),
            other=0.0,
        )
        acc += tl.dot(x, weight, input_precision=PRECISION)
    bias = tl.load(bias_ptr + k[None, :] * bias_stride_k, mask=gn[None, :] < KG, other=0.0)
    acc_bias = acc + bias
    acc_relu = tl.where(acc_bias < 0.0, 0.0, acc_bias)
    tl.store(
        y_ptr + n[:, None] * y_stride_n + k[None, :] * y_stride_k
        + p[:, None] * y_stride_p + q[:, None] * y_stride_q,
        acc_relu,
        mask=(gm[:, None] < M) & (gn[None, :] < KG),
    )


@triton.jit
def conv2d_resnet_kernel(
    x_ptr, w_ptr, y_ptr,
    N, C, H, W, K, P, Q, R, S,
    x_stride_n, x_stride_c, x_stride_h, x_stride_w,
    w_stride_k, w_stride_c, w_stride_r, w_stride_s,
    y_stride_n, y_stride_k, y_stride_p, y_stride_q,
    bias_ptr, bias_stride_k,
    STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
    DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    conv2d_resnet_tile(
        tl.program_id(0), x_ptr, w_ptr, y_ptr,
        N, C, H, W, K, P, Q, R, S,
        x_stride_n, x_stride_c, x_stride_h, x_stride_w,
        w_stride_k, w_stride_c, w_stride_r, w_stride_s,
        y_stride_n, y_stride_k, y_stride_p, y_stride_q,
        bias_ptr, bias_stride_k,
        STRIDE_H, STRIDE_W, PAD_H, PAD_W, DILATION_H, DILATION_W, GROUPS,
        PRECISION, BM, BN, BK,
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


def launch(x, w, bias, y):
    """Writes y.

    x: float32 [1, 512, 14, 14]
    w: float32 [512, 512, 3, 3]
    bias: float32 [512]
    y: float32 [1, 512, 7, 7], written
    """
    check("x", x, (1, 512, 14, 14), torch.float32, x.device)
    check("w", w, (512, 512, 3, 3), torch.float32, x.device)
    check("bias", bias, (512,), torch.float32, x.device)
    check("y", y, (1, 512, 7, 7), torch.float32, x.device)
    N = x.shape[0]
    C = w.shape[1]
    H = x.shape[2]
    W = x.shape[3]
    K = w.shape[0]
    P = y.shape[2]
    Q = y.shape[3]
    R = w.shape[2]
    S = w.shape[3]
    BM = 64
    GROUPS = 1
    BN = 64
    conv2d_resnet_kernel[(triton.cdiv(N * P * Q, BM) * triton.cdiv(K // GROUPS, BN) * GROUPS,)](
        x, w, y, N, C, H, W, K, P, Q, R, S, x.stride(0), x.stride(1), x.stride(2), x.stride(3),
        w.stride(0), w.stride(1), w.stride(2), w.stride(3), y.stride(0), y.stride(1), y.stride(2),
        y.stride(3), bias, bias.stride(0),
        STRIDE_H=2, STRIDE_W=2, PAD_H=1, PAD_W=1, DILATION_H=1, DILATION_W=1, GROUPS=GROUPS,
        PRECISION="ieee", BM=BM, BN=BN, BK=32,
        num_warps=4, num_stages=3,
    )
    return y


# Reference


def reference(x, weight, gamma, bias, mean, var):
    """The model's own operators, float32 [1, 512, 7, 7]."""
    layer4_0_conv2_out = F.conv2d(x, weight, stride=2, padding=1)
    layer4_0_bn2_out = F.batch_norm(layer4_0_conv2_out, mean, var, gamma, bias, eps=1e-5)
    return torch.relu(layer4_0_bn2_out)


# Test


def compute(x, weight, gamma, bias, mean, var):
    """What the kernel gives for the reference's arguments."""
    layer4_0_bn2_out_scale = gamma / torch.sqrt(var + 1e-5)
    layer4_0_bn2_out_weight = weight * layer4_0_bn2_out_scale.reshape(512, 1, 1, 1)
    layer4_0_bn2_out_bias = bias - mean * layer4_0_bn2_out_scale
    y = torch.empty((1, 512, 7, 7), dtype=torch.float32, device=x.device)
    launch(x, layer4_0_bn2_out_weight, layer4_0_bn2_out_bias, y)
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
    x = torch.randn((1, 512, 14, 14), generator=generator).to(device)
    weight = (torch.randn((512, 512, 3, 3), generator=generator) * 0.015625).to(device)
    gamma = (torch.rand((512,), generator=generator) + 0.5).to(device)
    bias = torch.randn((512,), generator=generator).to(device)
    mean = torch.randn((512,), generator=generator).to(device)
    var = (torch.rand((512,), generator=generator) + 0.5).to(device)
    compare(x, weight, gamma, bias, mean, var)
    x.view(-1)[0] = float("nan")
    x.view(-1)[-1] = float("inf")
    compare(x, weight, gamma, bias, mean, var)


if __name__ == "__main__":
    test("cuda" if torch.cuda.is_available() else "cpu")
    print("ok")
