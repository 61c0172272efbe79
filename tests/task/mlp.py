import math

import torch
import torch.nn as nn


class Block(nn.Module):
    """A linear layer and its activation."""

    def __init__(self, features, bias=True):
        super().__init__()
        self.linear = nn.Linear(features, features, bias=bias)

    def forward(self, x):
        return torch.relu(self.linear(x))


class Model(nn.Module):
    """Two blocks with a normalisation over the batch between them, and what their sum is."""

    def __init__(self, features, scale, shape=(1,)):
        super(Model, self).__init__()
        self.blocks = nn.Sequential(Block(features), nn.BatchNorm1d(features))
        self.last = Block(features, bias=False)
        self.gain = nn.Parameter(torch.randn(shape) / math.sqrt(features))
        self.scale = scale

    def forward(self, x, residual):
        y = self.last(self.blocks(x)) * self.gain + residual * self.scale
        return y, y.sum(dim=1)


features = 12


def get_inputs():
    return [torch.rand(5, features), torch.rand(5, features)]


def get_init_inputs():
    return [features, 0.5]
