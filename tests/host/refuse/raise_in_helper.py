# x=f32[2,3] n=4
import torch
import triton


@triton.jit
def k(x, n, BLOCK):
    pass



def launch(x, n):
    return check(x, n)


def check(x, n):
    raise ValueError("no")
