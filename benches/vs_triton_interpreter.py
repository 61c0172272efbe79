"""CPU seconds of Triton's interpreter over ours, for four kernels, on the same inputs, in one run.

usage: pip install triton numpy && python benches/vs_triton_interpreter.py

Ours runs with every check on, on one thread. Both sides are timed without process start and without
compilation, as the minimum over several launches; their results are compared. Prints a line a kernel
and last `smallest ratio: N`.
"""
import importlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "kernels"))


class HostTensor:
    """What Triton's interpreter asks of a tensor, over a numpy array: no torch needed."""

    dtype, device = "fp32", "cpu"

    def __init__(self, array):
        self.array = np.ascontiguousarray(array, dtype=np.float32)

    def data_ptr(self):
        return self.array.ctypes.data

    def element_size(self):
        return self.array.itemsize

    def stride(self):
        return tuple(s // self.array.itemsize for s in self.array.strides)

    @property
    def shape(self):
        return self.array.shape

    def numel(self):
        return self.array.size

    def cpu(self):
        return self

    def contiguous(self):
        return self

    def untyped_storage(self):
        return self

    def storage_offset(self):
        return 0

    def size(self):
        return self.array.size

    def new_empty(self, *_args, **_kwargs):
        return HostTensor(np.empty(0))

    def set_(self, storage, _offset, _size, _stride):
        self.array = storage.array
        return self

    def copy_(self, other):
        self.array[...] = other.array
        return self


def cdiv(a, b):
    return -(-a // b)


def cases(rng):
    """(name, grid, arguments in order, name of the output); arrays are tensors."""
    normal = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    size, block = 1 << 20, 1024
    yield "vecadd", (cdiv(size, block),), dict(x_ptr=normal(size), y_ptr=normal(size), z_ptr=np.zeros(size, np.float32), size=size), dict(BLOCK=block), "z_ptr"
    rows, width = 1024, 1024
    yield "softmax", (rows,), dict(y_ptr=np.zeros((rows, width), np.float32), x_ptr=normal(rows, width), width=width, y_stride=width, x_stride=width), dict(BLOCK=1024), "y_ptr"
    m = n = k = 512
    yield "matmul", (cdiv(m, 64) * cdiv(n, 64),), dict(
        a_ptr=normal(m, k), b_ptr=normal(k, n), c_ptr=np.zeros((m, n), np.float32), M=m, N=n, K=k,
        a_stride_m=k, a_stride_k=1, b_stride_k=n, b_stride_n=1, c_stride_m=n, c_stride_n=1,
    ), dict(BM=64, BN=64, BK=32, GROUP=8), "c_ptr"
    images, channels, height, filters, taps = 1, 64, 56, 64, 3
    yield "conv2d", (cdiv(images * height * height, 64), cdiv(filters, 64)), dict(
        x_ptr=normal(images, channels, height, height), w_ptr=normal(filters, channels, taps, taps),
        y_ptr=np.zeros((images, filters, height, height), np.float32),
        N=images, C=channels, H=height, W=height, K=filters, P=height, Q=height, R=taps, S=taps, STRIDE=1, PAD=1,
    ), dict(BM=64, BN=64, BK=32), "y_ptr"


def interpreter(name, grid, args, constexprs, output, repeat):
    kernel = getattr(importlib.import_module(name), name)
    tensors = {k: HostTensor(v) if isinstance(v, np.ndarray) else v for k, v in args.items()}
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        kernel[grid](*tensors.values(), **constexprs)
        best = min(best, time.process_time() - start)
    return best, tensors[output].array


def ours(name, grid, args, constexprs, output, folder):
    words = [str(HERE / "kernels" / f"{name}.py"), name, "--grid", ",".join(map(str, grid)), "--output", output, str(folder / "result")]
    for key, value in args.items():
        if isinstance(value, np.ndarray):
            value.tofile(folder / key)
            words += ["--tensor", key, "x".join(map(str, value.shape)), str(folder / key)]
        else:
            words += ["--int", key, str(value)]
    for key, value in constexprs.items():
        words += ["--constexpr", key, str(value)]
    run = subprocess.run(["cargo", "bench", "-q", "--bench", "kernel", "--", *words], cwd=HERE.parent, check=True, capture_output=True, text=True)
    seconds = float(run.stdout.split("cpu_seconds: ")[1].split()[0])
    return seconds, np.fromfile(folder / "result", np.float32).reshape(args[output].shape)


def main():
    smallest = float("inf")
    for name, grid, args, constexprs, output in cases(np.random.default_rng(0)):
        with tempfile.TemporaryDirectory() as folder:
            our_seconds, our_result = ours(name, grid, args, constexprs, output, pathlib.Path(folder))
        their_seconds, their_result = interpreter(name, grid, args, constexprs, output, repeat=3)
        difference = float(np.abs(our_result - their_result).max() / np.abs(their_result).max())
        assert difference < 1e-5, f"{name}: results differ by {difference} of the largest value"
        ratio = their_seconds / our_seconds
        smallest = min(smallest, ratio)
        print(f"{name}: interpreter {their_seconds * 1e3:.1f} ms, ours {our_seconds * 1e3:.2f} ms, ratio {ratio:.0f}, difference {difference:.1e}")
    print(f"smallest ratio: {smallest:.0f}")


main()
