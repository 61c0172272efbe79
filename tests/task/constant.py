import torch
import torch.nn as nn


class Model(nn.Module):
    """The softmax of lines of one element: 1, whatever the input."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.rand(40, 1)]


def get_init_inputs():
    return []
