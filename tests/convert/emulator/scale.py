# compile: scale_kernel x_ptr=*f32 out_ptr=*f32 n=i32 factor=f32 BLOCK=16
# buffer: x f32[40]
# buffer: out f32[40]
# launch: 3 x out 37 2.5
"""Scales, in four parts."""

import numpy as np
import sys, os
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', '..'))
from common import tl, xarray, launch_kernel_1d, verify, EmulatorError

STEP = 2


# Kernel
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr, offs, mask=mask, other=0.0)   # one block
    first = tl.load(x_ptr, pid)
    last = tl.load(x_ptr + n - 1)
    tl.store(out_ptr, offs, x * factor + (first - last) * STEP, mask=mask)
    tl.store(out_ptr, np.array([n + pid], dtype=np.int64), first if n > 0 else 0.0)


# Wrapper
def emulate_scale(x: np.ndarray, factor, BLOCK=16) -> np.ndarray:
    if x.ndim != 1:
        raise EmulatorError("scale_kernel", f"x has {x.ndim} axes")
    flat = x.ravel().astype(np.float32)
    out = np.zeros(x.size + STEP, dtype=np.float32)
    launch_kernel_1d(
        scale_kernel, flat, out,
        x.size, factor,
        BLOCK,
        grid_size=tl.cdiv(x.size, BLOCK),
    )
    return out.reshape(-1)


# Reference
def reference(x, factor):
    return np.asarray(x) * factor
