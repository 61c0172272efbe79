# x=f32[2]
import torch


def launch(x):
    t = tuple(range(10 * 100000000000))
    return x
