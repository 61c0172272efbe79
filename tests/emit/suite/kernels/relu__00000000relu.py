"""relu: Relu.

Used by relu_again of hand_made.
"""

import torch
import triton
import triton.language as tl


# Kernel


@triton.jit
def relu_kernel(x_ptr, y_ptr, E, BLOCK: tl.constexpr):
    e = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + e, mask=e < E, other=0.0)
    tl.store(y_ptr + e, tl.where(x < 0, 0.0, x), mask=e < E)


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

    x: float32 [1, 4, 6, 6]
    y: float32 [1, 4, 6, 6], written
    """
    check("x", x, (1, 4, 6, 6), torch.float32, x.device)
    check("y", y, (1, 4, 6, 6), torch.float32, x.device)
    E = x.numel()
    BLOCK = 64
    relu_kernel[(triton.cdiv(E, BLOCK),)](x, y, E, BLOCK=BLOCK, num_warps=4, num_stages=1)
    return y


# Reference


def reference(x):
    """The model's own operators, float32 [1, 4, 6, 6]."""
    return torch.relu(x)


# Test


def compute(x):
    """What the kernel gives for the reference's arguments."""
    y = torch.empty((1, 4, 6, 6), dtype=torch.float32, device=x.device)
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
    x = torch.randn((1, 4, 6, 6), generator=generator).to(device)
    compare(x)
    x.view(-1)[0] = float("nan")
    x.view(-1)[-1] = float("inf")
    compare(x)


if __name__ == "__main__":
    test("cuda" if torch.cuda.is_available() else "cpu")
    print("ok")
