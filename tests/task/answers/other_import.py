# task: mlp
# Another module under the name that the task's constructor computes with.
"""Model of mlp.py in Triton: 4 launches of 4 kernels.

Made for the shapes and types that `forward` names; it refuses others. Buffers that the original updates are left as they are.
"""

import cmath as math
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mlp_matmul_tile(
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
    t = acc + bias
    acc_add_relu = tl.where(t < 0.0, 0.0, t)
    tl.store(
        y_ptr + b * y_stride_b + m[:, None] * y_stride_m + n[None, :] * y_stride_n,
        acc_add_relu,
        mask=(m[:, None] < M) & (n[None, :] < N),
    )


@triton.jit
def mlp_matmul_kernel(
    a_ptr, b_ptr, y_ptr,
    B, M, N, K,
    a_stride_b, a_stride_m, a_stride_k,
    b_stride_b, b_stride_k, b_stride_n,
    y_stride_b, y_stride_m, y_stride_n,
    bias_ptr, bias_stride_n,
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    mlp_matmul_tile(
        tl.program_id(0), a_ptr, b_ptr, y_ptr,
        B, M, N, K,
        a_stride_b, a_stride_m, a_stride_k,
        b_stride_b, b_stride_k, b_stride_n,
        y_stride_b, y_stride_m, y_stride_n,
        bias_ptr, bias_stride_n,
        PRECISION, BM, BN, BK,
    )


@triton.jit
def mlp_layernorm_tile(
    tile, x_ptr, y_ptr,
    O, I, E, J, F,
    x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
    y_stride_o, y_stride_i, y_stride_e, y_stride_j, y_stride_f,
    scale_ptr,
    bias_ptr,
    EPSILON: tl.constexpr, BE: tl.constexpr, BT: tl.constexpr,
):
    row = tile * BE + tl.arange(0, BE)
    o = row // (E * F)
    e = row // F % E
    f = row % F
    t = tl.arange(0, BT)
    i = t // J
    j = t % J
    x = tl.load(
        x_ptr + o[:, None] * x_stride_o + i[None, :] * x_stride_i + e[:, None] * x_stride_e
        + j[None, :] * x_stride_j + f[:, None] * x_stride_f,
        mask=(o[:, None] < O) & (i[None, :] < I),
        other=0.0,
    )
    x = x.to(tl.float32)
    count = tl.zeros((BE,), dtype=tl.float32) + I * J
    mean = tl.div_rn(tl.sum(x, axis=1), count)
    x = tl.where(i[None, :] < I, x - mean[:, None], 0.0)
    variance = tl.div_rn(tl.sum(x * x, axis=1), count)
    y = x * tl.div_rn(1.0, tl.sqrt_rn(variance + EPSILON))[:, None]
    scale = tl.load(scale_ptr + f[:, None], mask=o[:, None] < O, other=0.0)
    y_scale = y * scale
    bias = tl.load(bias_ptr + f[:, None], mask=o[:, None] < O, other=0.0)
    y_bias = y_scale + bias
    tl.store(
        y_ptr + o[:, None] * y_stride_o + i[None, :] * y_stride_i + e[:, None] * y_stride_e
        + j[None, :] * y_stride_j + f[:, None] * y_stride_f,
        y_bias,
        mask=(o[:, None] < O) & (i[None, :] < I),
    )


@triton.jit
def mlp_layernorm_kernel(
    x_ptr, y_ptr,
    O, I, E, J, F,
    x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
    y_stride_o, y_stride_i, y_stride_e, y_stride_j, y_stride_f,
    scale_ptr,
    bias_ptr,
    EPSILON: tl.constexpr, BE: tl.constexpr, BT: tl.constexpr,
):
    mlp_layernorm_tile(
        tl.program_id(0), x_ptr, y_ptr,
        O, I, E, J, F,
        x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
        y_stride_o, y_stride_i, y_stride_e, y_stride_j, y_stride_f,
        scale_ptr,
        bias_ptr,
        EPSILON, BE, BT,
    )


@triton.jit
def mlp_matmul_tile_2(
    tile, a_ptr, b_ptr, y_ptr,
    B, M, N, K,
    a_stride_b, a_stride_m, a_stride_k,
    b_stride_b, b_stride_k, b_stride_n,
    y_stride_b, y_stride_m, y_stride_n,
    scale_ptr,
    residual_ptr, residual_stride_m, residual_stride_n,
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
    scale = tl.load(scale_ptr)
    residual = tl.load(
        residual_ptr + m[:, None] * residual_stride_m + n[None, :] * residual_stride_n,
        mask=(m[:, None] < M) & (n[None, :] < N),
        other=0.0,
    )
    acc_mul_scalar_relu_mul_add = tl.where(acc < 0.0, 0.0, acc) * scale + residual * 0.5
    tl.store(
        y_ptr + b * y_stride_b + m[:, None] * y_stride_m + n[None, :] * y_stride_n,
        acc_mul_scalar_relu_mul_add,
        mask=(m[:, None] < M) & (n[None, :] < N),
    )


@triton.jit
def mlp_matmul_2_kernel(
    a_ptr, b_ptr, y_ptr,
    B, M, N, K,
    a_stride_b, a_stride_m, a_stride_k,
    b_stride_b, b_stride_k, b_stride_n,
    y_stride_b, y_stride_m, y_stride_n,
    scale_ptr,
    residual_ptr, residual_stride_m, residual_stride_n,
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    mlp_matmul_tile_2(
        tl.program_id(0), a_ptr, b_ptr, y_ptr,
        B, M, N, K,
        a_stride_b, a_stride_m, a_stride_k,
        b_stride_b, b_stride_k, b_stride_n,
        y_stride_b, y_stride_m, y_stride_n,
        scale_ptr,
        residual_ptr, residual_stride_m, residual_stride_n,
        PRECISION, BM, BN, BK,
    )


@triton.jit
def mlp_reduce_sum_tile(
    tile, x_ptr, y_ptr,
    O, I, E, J, F,
    x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
    y_stride_o, y_stride_e, y_stride_f,
    BE: tl.constexpr, BT: tl.constexpr,
):
    row = tile * BE + tl.arange(0, BE)
    o = row // (E * F)
    e = row // F % E
    f = row % F
    total = tl.zeros((BE, BT), dtype=tl.float32)
    for start in range(0, I * J, BT):
        t = start + tl.arange(0, BT)
        i = t // J
        j = t % J
        x = tl.load(
            x_ptr + o[:, None] * x_stride_o + i[None, :] * x_stride_i + e[:, None] * x_stride_e
            + j[None, :] * x_stride_j + f[:, None] * x_stride_f,
            mask=(o[:, None] < O) & (i[None, :] < I),
            other=0.0,
        )
        total += x.to(tl.float32)
    y = tl.sum(total, axis=1)
    tl.store(y_ptr + o * y_stride_o + e * y_stride_e + f * y_stride_f, y, mask=o < O)


@triton.jit
def mlp_reduce_sum_kernel(
    x_ptr, y_ptr,
    O, I, E, J, F,
    x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
    y_stride_o, y_stride_e, y_stride_f,
    BE: tl.constexpr, BT: tl.constexpr,
):
    mlp_reduce_sum_tile(
        tl.program_id(0), x_ptr, y_ptr,
        O, I, E, J, F,
        x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
        y_stride_o, y_stride_e, y_stride_f,
        BE, BT,
    )


def launch_mlp_matmul(a, b, bias, y):
    """Writes y.

    a: float32 [5, 12]
    b: float32 [12, 12]
    bias: float32 [12]
    y: float32 [5, 12], written
    """
    B = 1
    M = a.shape[0]
    N = b.shape[1]
    K = a.shape[1]
    BM = 16
    BN = 16
    mlp_matmul_kernel[(triton.cdiv(M, BM) * triton.cdiv(N, BN) * B,)](
        a, b, y, B, M, N, K, 0, a.stride(0), a.stride(1), 0, b.stride(0), b.stride(1), 0,
        y.stride(0), y.stride(1), bias, bias.stride(0),
        PRECISION="ieee", BM=BM, BN=BN, BK=16,
        num_warps=4, num_stages=3,
    )
    return y


def launch_mlp_layernorm(x, scale, bias, y):
    """Writes y.

    x: float32 [5, 12]
    scale: float32 [1, 12]
    bias: float32 [1, 12]
    y: float32 [5, 12], written
    """
    O = 1
    I = x.shape[0]
    E = 1
    J = 1
    F = x.shape[1]
    BE = 16
    mlp_layernorm_kernel[(triton.cdiv(O * E * F, BE),)](
        x, y, O, I, E, J, F, 0, x.stride(0), 0, 0, x.stride(1), 0, y.stride(0), 0, 0, y.stride(1),
        scale, bias,
        EPSILON=1e-5, BE=BE, BT=8,
        num_warps=8, num_stages=1,
    )
    return y


def launch_mlp_matmul_2(a, b, scale, residual, y):
    """Writes y.

    a: float32 [5, 12]
    b: float32 [12, 12]
    scale: float32 [1]
    residual: float32 [5, 12]
    y: float32 [5, 12], written
    """
    B = 1
    M = a.shape[0]
    N = b.shape[1]
    K = a.shape[1]
    BM = 16
    BN = 16
    mlp_matmul_2_kernel[(triton.cdiv(M, BM) * triton.cdiv(N, BN) * B,)](
        a, b, y, B, M, N, K, 0, a.stride(0), a.stride(1), 0, b.stride(0), b.stride(1), 0,
        y.stride(0), y.stride(1), scale, residual, residual.stride(0), residual.stride(1),
        PRECISION="ieee", BM=BM, BN=BN, BK=16,
        num_warps=4, num_stages=3,
    )
    return y


def launch_mlp_reduce_sum(x, y):
    """Writes y.

    x: float32 [5, 12]
    y: float32 [5], written
    """
    O = x.shape[0]
    I = x.shape[1]
    E = 1
    J = 1
    F = 1
    BE = 8
    mlp_reduce_sum_kernel[(triton.cdiv(O * E * F, BE),)](
        x, y, O, I, E, J, F, x.stride(0), x.stride(1), 0, 0, 0, y.stride(0), 0, 0,
        BE=BE, BT=16,
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


class Block(nn.Module):
    """A linear layer and its activation."""

    def __init__(self, features, bias=True):
        super().__init__()
        self.linear = nn.Linear(features, features, bias=bias)


class ModelNew(nn.Module):
    def __init__(self, features, scale, shape=(1,)):
        torch.manual_seed(0)
        super().__init__()
        self.blocks = nn.Sequential(Block(features), nn.BatchNorm1d(features))
        self.last = Block(features, bias=False)
        self.gain = nn.Parameter(torch.randn(shape) / math.sqrt(features))
        self.scale = scale
        check("gain", self.gain, (1,), torch.float32)
        check("blocks[0].linear.weight", self.blocks[0].linear.weight, (12, 12), torch.float32)
        check("blocks[0].linear.bias", self.blocks[0].linear.bias, (12,), torch.float32)
        check("blocks[1].weight", self.blocks[1].weight, (12,), torch.float32)
        check("blocks[1].bias", self.blocks[1].bias, (12,), torch.float32)
        check("last.linear.weight", self.last.linear.weight, (12, 12), torch.float32)
        linear_transpose = self.blocks[0].linear.weight.detach().permute(1, 0).contiguous()
        batch_norm_reshape = self.blocks[1].weight.detach().reshape(1, 12)
        batch_norm_reshape_2 = self.blocks[1].bias.detach().reshape(1, 12)
        linear_1_transpose = self.last.linear.weight.detach().permute(1, 0).contiguous()
        self.register_buffer("prepared_linear_transpose", linear_transpose, persistent=False)
        self.register_buffer("prepared_batch_norm_reshape", batch_norm_reshape, persistent=False)
        self.register_buffer(
            "prepared_batch_norm_reshape_2", batch_norm_reshape_2, persistent=False,
        )
        self.register_buffer("prepared_linear_1_transpose", linear_1_transpose, persistent=False)

    def forward(self, x, residual):
        """Returns add float32 [5, 12], sum_1 float32 [5]."""
        check("x", x, (5, 12), torch.float32)
        check("residual", residual, (5, 12), torch.float32)
        b0 = torch.empty(60, dtype=torch.float32, device=x.device)
        b1 = torch.empty(60, dtype=torch.float32, device=x.device)
        b2 = torch.empty(60, dtype=torch.float32, device=x.device)
        b3 = torch.empty(5, dtype=torch.float32, device=x.device)

        # blocks.0.linear
        launch_mlp_matmul(
            x, self.prepared_linear_transpose, self.blocks[0].linear.bias, b0.view(5, 12),
        )

        # blocks.1/batch_norm
        launch_mlp_layernorm(
            b0.view(5, 12), self.prepared_batch_norm_reshape, self.prepared_batch_norm_reshape_2,
            b1.view(5, 12),
        )

        # last.linear
        launch_mlp_matmul_2(
            b1.view(5, 12), self.prepared_linear_1_transpose, self.gain, residual, b2.view(5, 12),
        )

        # sum_1
        launch_mlp_reduce_sum(b2.view(5, 12), b3)

        return (b2.view(5, 12), b3)
