"""Weights and inputs of the model.

Generated ones come from a counter-based integer hash: element i is a function of a seed and i, the
same on every machine.
"""

import math

import torch


def _mix(h):
    h = ((h ^ (h >> 16)) * 0x208B9CB7) & 0xFFFFFFFF
    h = ((h ^ (h >> 16)) * 0x3406A979) & 0xFFFFFFFF
    return h ^ (h >> 14)


def hashed(shape, a, b):
    """32-bit hashes of the elements 0, 1, 2, ... of a tensor with the seed (a, b)."""
    index = torch.arange(math.prod(shape), dtype=torch.int64)
    low, high = index & 0xFFFFFFFF, index >> 32
    return _mix((_mix(low ^ a) + b + _mix(high)) & 0xFFFFFFFF).reshape(shape)


def uniform(shape, a, b, scale, offset, dtype="float32"):
    """Multiples of 2**-23 in [-1, 1), times scale, plus offset."""
    unit = ((hashed(shape, a, b) >> 8) - 8388608).to(torch.float32) * 2.0**-23
    return (unit * scale + offset).to(getattr(torch, dtype))


def integers(shape, a, b, low, count, step, keep, dtype="float32"):
    """(low + k) * step for k in range(count); zero in (256 - keep) of 256 cases."""
    h = hashed(shape, a, b)
    value = (low + ((h * count) >> 32)) * step
    return (value * ((h & 255) < keep)).to(getattr(torch, dtype))


def powers(shape, a, b, low, count, dtype="float32"):
    """2 ** (low + k) for k in range(count)."""
    k = (hashed(shape, a, b) * count) >> 32
    return ((1 << k).to(torch.float32) * 2.0**low).to(getattr(torch, dtype))


def constant(shape, value, dtype="float32"):
    return torch.full(shape, value, dtype=torch.float32).to(getattr(torch, dtype))


def load(device):
    """Every weight by its name in the model."""
    weights = {
        "conv.weight": uniform((4, 3, 1, 1), 2324634312, 4203197239, 2.0, 0.0),
        "bn.weight": uniform((4,), 3859608673, 3901363071, 0.25, 0.75),
        "bn.bias": uniform((4,), 2816708881, 570735043, 0.0625, 0.0),
        "bn.running_mean": uniform((4,), 1370912976, 217205376, 0.125, 0.0),
        "bn.running_var": uniform((4,), 3826683481, 1063664044, 0.5, 1.0),
    }
    return {name: tensor.to(device) for name, tensor in weights.items()}


def inputs(device):
    """The model's inputs, generated: float32 [1, 3, 6, 6]."""
    return (uniform((1, 3, 6, 6), 2890917039, 1200142530, 1.0, 0.0).to(device),)
