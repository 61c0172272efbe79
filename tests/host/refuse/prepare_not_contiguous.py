# weights={w:f32[4,3]}
import torch


def prepare(weights):
    return (weights["w"].permute(1, 0),)
