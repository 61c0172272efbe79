"""matmul: Gemm, Gemm.

Used by fc of resnet50.
"""

import torch
import triton
import triton.language as tl


# Kernel


@triton.jit
def matmul_tile(
    tile, a_ptr, b_ptr, y_ptr,
    B, M, N, K,
    a_stride_b, a_stride_m, a_stride_k,
    b_stride_b, b_stride_k, b_stride_n,
    y_stride_b, y_stride_m, y_stride_n,
    bias_ptr, bias_stride_n,
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    b = tile // (tiles_m * tiles_n)
    m = tile // tiles_n % tiles_m * BM + tl.arange(0, BM)
    n = tile % tiles_n * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(
            a_ptr + b * a_stride_b + m[:, None] * a_stride_m + k[None, :] * a_stride_k,
            mask=(m[:, None] < M) & (k[None, :] < K),
            other=0.0,
        )
        right = tl.load(
            b_ptr + b * b_stride_b + k[:, None] * b_stride_k + n[None, :] * b_stride_n,
            mask=(k[:, None] < K) & (n[None, :] < N),
            other=0.0,
        )
        acc += tl.dot(left, right, input_precision=PRECISION)
    bias = tl.load(bias_ptr + n[None, :] * bias_stride_n, mask=n[None, :] < N, other=0.0)
    acc_add = acc + bias
    tl.store(
        y_ptr + b * y_stride_b + m[:, None] * y_stride_m + n[None, :] * y_stride_n,
        acc_add,
        mask=(m[:, None] < M) & (n[None, :] < N),
    )


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, y_ptr,
    B, M, N, K,
    a_stride_b, a_stride_m, a_stride_k,
    b_stride_b, b_stride_k, b_stride_n,
    y_stride_b, y_stride_m, y_stride_n,
    bias_ptr, bias_stride_n,
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    matmul_tile(
        tl.program_id(0), a_ptr, b_ptr, y_ptr,
        B, M, N, K,
        a_stride_b, a_stride_m, a_stride_k,
        b_stride_b, b_stride_k, b_stride_n,
        y_stride_b, y_stride_m, y_stride_n,
        bias_ptr, bias_stride_n,
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


def launch(a, b, bias, y):
    """Writes y.

    a: float32 [1, 2048]
    b: float32 [2048, 1000]
    bias: float32 [1000]
    y: float32 [1, 1000], written
    """
    check("a", a, (1, 2048), torch.float32, a.device)
    check("b", b, (2048, 1000), torch.float32, a.device)
    check("bias", bias, (1000,), torch.float32, a.device)
    check("y", y, (1, 1000), torch.float32, a.device)
    B = 1
    M = a.shape[0]
    N = b.shape[1]
    K = a.shape[1]
    BM = 16
    BN = 16
    matmul_kernel[(triton.cdiv(M, BM) * triton.cdiv(N, BN) * B,)](
        a, b, y, B, M, N, K, 0, a.stride(0), a.stride(1), 0, b.stride(0), b.stride(1), 0,
        y.stride(0), y.stride(1), bias, bias.stride(0),
        PRECISION="ieee", BM=BM, BN=BN, BK=128,
        num_warps=4, num_stages=3,
    )
    return y


# Reference


def reference(weight, a, bias):
    """The model's own operators, float32 [1, 1000]."""
    logits_transpose = weight.permute(1, 0)
    logits_matmul = torch.matmul(a, logits_transpose)
    return logits_matmul + bias


# Test


def compute(weight, a, bias):
    """What the kernel gives for the reference's arguments."""
    logits_transpose = weight.permute(1, 0).contiguous()
    y = torch.empty((1, 1000), dtype=torch.float32, device=weight.device)
    launch(a, logits_transpose, bias, y)
    return y


def compare(weight, a, bias):
    """The kernel against the reference in float64."""
    given = (weight, a, bias)
    expected = reference(*(t.double() if t.is_floating_point() else t for t in given))
    torch.testing.assert_close(
        compute(*given).double(), expected.double(),
        rtol=1e-4, atol=1e-4, equal_nan=True,
    )


def test(device):
    """Ordinary inputs, then odd ones."""
    generator = torch.Generator().manual_seed(0)
    weight = (torch.randn((1000, 2048), generator=generator) * 0.015625).to(device)
    a = torch.randn((1, 2048), generator=generator).to(device)
    bias = torch.randn((1000,), generator=generator).to(device)
    compare(weight, a, bias)
    a.view(-1)[0] = float("nan")
    a.view(-1)[-1] = float("inf")
    compare(weight, a, bias)


if __name__ == "__main__":
    test("cuda" if torch.cuda.is_available() else "cpu")
    print("ok")
