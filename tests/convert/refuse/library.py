# convert: triton
import numpy as np
from common import tl, xarray, launch_kernel_1d, verify


def kernel(x_ptr, y_ptr, n, BLOCK):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr, i, np.maximum(tl.load(x_ptr, i), 0.0))


def emulate(x, n):
    y = np.linspace(0, 1, n)
    launch_kernel_1d(kernel, x, y, n, 16, grid_size=1, collect_errors=True)
    launch_kernel_1d(kernel, x, y, n, 16)
    verify(xarray(y), x, "kernel")
