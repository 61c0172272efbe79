# weights={a:f32[4]}
import torch


def prepare(weights):
    return (torch.nn.functional.pad(weights["a"], (0, 100000000000)),)
