# compile: add x_ptr=*f32 y_ptr=*f32 out_ptr=*f32 n=i32 BLOCK=16
# compile: dot_of_rows a_ptr=*f32 b_ptr=*f32 out_ptr=*f32 K=i32
# compile: pointers x_ptr=*f32 out_ptr=*f32 n=i32
import numpy as np
from emulators.common import tl, launch_kernel_1d

LANES = 8


def scaled(x, factor):
    return x * factor


# Base and offsets; a helper and a constant of the module.
def add(x_ptr, y_ptr, out_ptr, n, BLOCK):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr, offsets, mask=mask, other=0.0)
    y = tl.load(y_ptr, offsets, mask, 0.0)
    tl.store(out_ptr, offsets, scaled(x, 2.0) + y, mask=mask)


# One element; a wrapped offset.
def dot_of_rows(a_ptr, b_ptr, out_ptr, K):
    row = tl.program_id(0)
    acc = 0.0
    for start in range(0, K, LANES):
        k = start + tl.arange(0, LANES)
        acc += tl.sum(tl.load(a_ptr, row * K + k, mask=k < K, other=0.0) * tl.load(b_ptr, k, mask=k < K, other=0.0))
    tl.store(out_ptr, np.array([row], dtype=np.int64), acc)


# Triton's own form, with a mask by position.
def pointers(x_ptr, out_ptr, n):
    i = tl.arange(0, LANES)
    tl.store(out_ptr + i, tl.load(x_ptr + i, i < n, 0.0), i < n)
    tl.store(out_ptr, tl.load(x_ptr, 3), n > 3)
