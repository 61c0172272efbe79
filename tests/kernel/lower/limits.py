# compile: limits x_ptr=*f32
import torch
import triton
import triton.language as tl

SMALLEST = tl.constexpr(torch.finfo(torch.float16).tiny)
GREATEST = tl.constexpr(torch.finfo(torch.float32).max)
MOST = tl.constexpr(torch.iinfo(torch.int32).max)
LEAST = tl.constexpr(torch.iinfo(torch.int16).min)


@triton.jit
def limits(x_ptr):
    tl.store(x_ptr, SMALLEST)
    tl.store(x_ptr + 1, GREATEST)
    tl.store(x_ptr + 2, MOST)
    tl.store(x_ptr + 3, LEAST)
