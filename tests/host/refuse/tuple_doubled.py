# x=f32[2]
import torch


def launch(x):
    t = (1,)
    for i in range(100):
        t = t + t
    return x
