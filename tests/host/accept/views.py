# x=f32[2,3,4] w=f16[12]
import torch
import triton


@triton.jit
def move(a, b, c, d, e, SIZE):
    pass


def launch(x, w):
    scratch = torch.empty((4, 6), dtype=torch.bfloat16, device=x.device)
    zeros = torch.zeros(3, dtype=torch.int64, device=x.device)
    like = torch.empty_like(x, dtype=torch.float16)
    move[1, 2](x.permute(0, 2, 1), w.view(3, -1), scratch.transpose(0, 1), zeros, like.reshape((24,)), SIZE=1)
    return scratch.view(2, 12), x
