# x=f32[2]
import torch


def launch(x):
    y = torch.empty((4294967296, 4294967296), dtype=torch.float32, device=x.device)
    return y
