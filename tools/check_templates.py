"""Checks every operator_templates/*/kernel.py with Triton itself; needs triton and numpy, no GPU.

    python tools/check_templates.py [--no-compile] [NAME ...]

Each kernel, direct and looped, is compiled for cuda:80, cuda:90 and hip:gfx942, with fp32, fp16 and
bf16 tensors and in every precision class that the target has, and run under
Triton's interpreter on several shapes against a plain numpy formula. Data are small integers, so
contractions, sums, pools and copies must agree bit for bit; softmax and normalisations, which
round, must agree to 1e-6 relative.

Last result (triton 3.9.0): 11 templates, 24 entries compile for the three targets in fp32, fp16 and
bf16, 78 interpreted cases agree.
"""

import importlib.util
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from interpreter_array import Array

ROOT = Path(__file__).resolve().parent.parent / "operator_templates"
INTERPRET = os.environ.get("TRITON_INTERPRET") == "1"


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / name / "kernel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cdiv(a, b):
    return -(-a // b)


def integers(shape, seed, low=-2, high=3):
    return np.random.default_rng(seed).integers(low, high, shape).astype(np.float32)


def strides(**arrays):
    """`strides(x_nchw=x)` gives x_stride_n, x_stride_c, …"""
    out = {}
    for key, array in arrays.items():
        name, axes = key.split("_")
        for axis, stride in zip(axes, array.strides):
            out[f"{name}_stride_{axis}"] = stride // array.itemsize
    return out


# A case: kernel name, run-time arguments by parameter name, constexprs, work, {output: expected}.


def conv2d_resnet():
    shapes = [
        # n, c, h, w, k, r, s, stride, (top, left, bottom, right), dilation, groups
        (2, 3, 9, 8, 5, 3, 3, 1, (1, 1, 1, 1), 1, 1),
        (1, 4, 14, 14, 20, 1, 1, 1, (0, 0, 0, 0), 1, 1),
        (1, 3, 20, 21, 8, 7, 7, 2, (3, 3, 3, 3), 1, 1),
        (1, 6, 11, 9, 4, 3, 2, 2, (0, 1, 2, 0), 2, 2),
        (2, 4, 7, 7, 8, 3, 3, 1, (1, 1, 1, 1), 1, 4),
    ]
    for n, c, h, w, k, r, s, stride, (top, left, bottom, right), dilation, groups in shapes:
        x, weight = integers((n, c, h, w), 1), integers((k, c // groups, r, s), 2)
        p = (h + top + bottom - dilation * (r - 1) - 1) // stride + 1
        q = (w + left + right - dilation * (s - 1) - 1) // stride + 1
        padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
        want = np.zeros((n, k, p, q), np.float32)
        for g in range(groups):
            ks, cs = slice(g * k // groups, (g + 1) * k // groups), slice(g * c // groups, (g + 1) * c // groups)
            for i, j in itertools.product(range(r), range(s)):
                window = padded[:, cs, i * dilation :, j * dilation :][:, :, ::stride, ::stride][:, :, :p, :q]
                want[:, ks] += np.einsum("ncpq,kc->nkpq", window, weight[ks, :, i, j])
        y = np.full_like(want, np.nan)
        bm, bn, bk = 16, 16, 16
        yield (
            "conv2d_resnet_kernel",
            dict(x_ptr=x, w_ptr=weight, y_ptr=y, N=n, C=c // groups, H=h, W=w, K=k, P=p, Q=q, R=r, S=s)
            | strides(x_nchw=x, w_kcrs=weight, y_nkpq=y),
            dict(STRIDE_H=stride, STRIDE_W=stride, PAD_H=top, PAD_W=left, DILATION_H=dilation, DILATION_W=dilation)
            | dict(GROUPS=groups, PRECISION="ieee", BM=bm, BN=bn, BK=bk),
            cdiv(n * p * q, bm) * cdiv(k // groups, bn) * groups,
            want,
        )


def matmul():
    for b, m, n, k, transposed in [(1, 5, 7, 33, False), (3, 17, 16, 40, True), (1, 1, 40, 100, True)]:
        a, right = integers((b, m, k), 1), integers((b, k, n), 2)
        if transposed:
            right = np.ascontiguousarray(right.transpose(0, 2, 1)).transpose(0, 2, 1)
        want = a @ right
        y = np.full_like(want, np.nan)
        yield (
            "matmul_kernel",
            dict(a_ptr=a, b_ptr=right, y_ptr=y, B=b, M=m, N=n, K=k) | strides(a_bmk=a, b_bkn=right, y_bmn=y),
            dict(PRECISION="ieee", BM=16, BN=16, BK=16),
            b * cdiv(m, 16) * cdiv(n, 16),
            want,
        )


def relu():
    for n in (1, 100, 1500):
        x = integers(n, 1)
        x[n // 2] = np.nan
        y = np.full_like(x, 7)
        want = np.where(x < 0, 0, x)
        yield "relu_kernel", dict(x_ptr=x, y_ptr=y, E=n), dict(BLOCK=256), cdiv(n, 256), want


def add():
    for n in (1, 1500):
        for dtype in (np.float32, np.int64):
            a, b = integers(n, 1).astype(dtype), integers(n, 2).astype(dtype)
            y = np.zeros_like(a) - 99
            yield "add_kernel", dict(a_ptr=a, b_ptr=b, y_ptr=y, E=n), dict(BLOCK=256), cdiv(n, 256), a + b


def map():  # noqa: A001
    for n in (1, 700):
        y = np.zeros(n, np.int64) - 1
        yield "map_kernel", dict(y_ptr=y, E=n), dict(BLOCK=256), cdiv(n, 256), np.arange(n)


def batchnorm2d():
    for n, c, s in [(1, 3, 10), (2, 5, 300), (4, 7, 1)]:
        x = integers((n, c, s), 1)
        scale, bias, mean = integers(c, 2), integers(c, 3), integers(c, 4)
        var = np.random.default_rng(5).uniform(0.5, 1.5, c).astype(np.float32)
        at = (None, slice(None), None)
        want = (x - mean[at]) / np.sqrt(var[at] + np.float32(1e-5)) * scale[at] + bias[at]
        y = np.full_like(x, np.nan)
        yield (
            "batchnorm2d_kernel",
            dict(x_ptr=x, scale_ptr=scale, bias_ptr=bias, mean_ptr=mean, var_ptr=var, y_ptr=y, N=n, C=c, S=s)
            | strides(x_ncs=x, y_ncs=y, scale_c=scale, bias_c=bias, mean_c=mean, var_c=var),
            dict(EPSILON=1e-5, BR=4, BS=128),
            cdiv(n * c, 4) * cdiv(s, 128),
            want,
        )


def lrn():
    for n, c, s, size, alpha in [(1, 3, 10, 5, 0.5), (2, 7, 300, 4, 1.0), (4, 6, 1, 1, 1e-4)]:
        x = integers((n, c, s), 1, -9, 9)
        square = np.pad(x.astype(np.float64) ** 2, ((0, 0), ((size - 1) // 2, size // 2), (0, 0)))
        total = sum(square[:, t : t + c] for t in range(size))
        y = np.full_like(x, np.nan)
        yield (
            "lrn_kernel",
            dict(x_ptr=x, y_ptr=y, N=n, C=c, S=s) | strides(x_nus=x, y_ncs=y),
            dict(SIZE=size, ALPHA=alpha, BETA=0.75, BIAS=2.0, BR=4, BS=128),
            cdiv(n * c, 4) * cdiv(s, 128),
            x / (2.0 + alpha / size * total) ** 0.75,
        )


def windows(x, kernel, stride, pad, dilation, fill):
    """Every tap of a pooling window as [taps, n, c, p, q]."""
    padded = np.pad(x, ((0, 0), (0, 0), (pad[0], pad[2]), (pad[1], pad[3])), constant_values=fill)
    p, q = ((padded.shape[2 + i] - dilation * (kernel[i] - 1) - 1) // stride + 1 for i in (0, 1))
    taps = itertools.product(range(kernel[0]), range(kernel[1]))
    return np.stack([padded[:, :, i * dilation :, j * dilation :][:, :, ::stride, ::stride][:, :, :p, :q] for i, j in taps])


POOLS = [
    # shape, kernel, stride, (top, left, bottom, right), dilation
    ((1, 2, 12, 13), (3, 3), 2, (1, 1, 1, 1), 1),
    ((2, 3, 9, 7), (2, 3), 1, (0, 1, 1, 0), 1),
    ((1, 1, 20, 18), (3, 2), 3, (1, 0, 2, 1), 2),
]


def pool(name, x, y, kernel, stride, pad, dilation, **more):
    (n, c, h, w), (p, q) = x.shape, y.shape[2:]
    return (
        f"{name}_kernel",
        dict(x_ptr=x, y_ptr=y, N=n, C=c, H=h, W=w, P=p, Q=q) | strides(x_nchw=x, y_ncpq=y),
        dict(KERNEL_H=kernel[0], KERNEL_W=kernel[1], STRIDE_H=stride, STRIDE_W=stride, PAD_H=pad[0], PAD_W=pad[1])
        | dict(DILATION_H=dilation, DILATION_W=dilation, BP=4, BQ=8)
        | more,
        n * c * cdiv(p, 4) * cdiv(q, 8),
    )


def maxpool2d():
    for shape, kernel, stride, pad, dilation in POOLS:
        x = integers(shape, 1, -9, 9)
        x[0, 0, 3, 4] = np.nan
        want = windows(x, kernel, stride, pad, dilation, -np.inf).max(0)
        y = np.full_like(want, 77)
        yield *pool("maxpool2d", x, y, kernel, stride, pad, dilation), want


def avgpool2d():
    for (shape, kernel, stride, pad, dilation), count_pad in itertools.product(POOLS, (0, 1)):
        x = integers(shape, 1, -9, 9)
        total = windows(x, kernel, stride, pad, dilation, 0).sum(0)
        count = windows(np.ones_like(x), kernel, stride, pad, dilation, count_pad).sum(0)
        y = np.full_like(total, np.nan)
        yield *pool("avgpool2d", x, y, kernel, stride, pad, dilation, COUNT_PAD=count_pad), total / count


def adaptive_avgpool2d():
    for (n, c, h, w), (p, q) in [((1, 40, 7, 7), (1, 1)), ((2, 3, 10, 11), (3, 4)), ((1, 2, 5, 4), (7, 4))]:
        x = integers((n, c, h, w), 1, -9, 9)
        want = np.zeros((n, c, p, q), np.float32)
        for i, j in itertools.product(range(p), range(q)):
            bin = x[:, :, i * h // p : cdiv((i + 1) * h, p), j * w // q : cdiv((j + 1) * w, q)]
            want[:, :, i, j] = bin.sum((2, 3), dtype=np.float32) / np.float32(bin.shape[2] * bin.shape[3])
        y = np.full_like(want, np.nan)
        bins = dict(BIN_H=cdiv(h, p) + (h % p > 0), BIN_W=cdiv(w, q) + (w % q > 0))
        yield (
            "adaptive_avgpool2d_kernel",
            dict(x_ptr=x, y_ptr=y, N=n, C=c, H=h, W=w, P=p, Q=q) | bins | strides(x_nchw=x, y_ncpq=y),
            dict(BE=16, BT=16),
            cdiv(want.size, 16),
            want,
        )


def softmax():
    for kernel, o, i, e in [("", 3, 10, 1), ("", 2, 100, 3), ("_long", 2, 300, 1), ("_long", 2, 257, 2)]:
        x = np.random.default_rng(1).standard_normal((o, i, e), dtype=np.float32)
        x[0, :140] = -np.inf if i > 140 else x[0, :140]
        power = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
        y = np.full_like(x, np.nan)
        yield (
            f"softmax{kernel}_kernel",
            dict(x_ptr=x, y_ptr=y, E=e, I=i) | strides(x_oie=x, y_oie=y),
            dict(BLOCK=128),
            o * e,
            power / power.sum(1, keepdims=True),
        )


CLASSES = ["ieee", "tf32", "tf32x3", "bf16x6"]
TEMPLATES = [conv2d_resnet, matmul, relu, add, map, batchnorm2d, lrn, maxpool2d, avgpool2d, adaptive_avgpool2d, softmax]
ROUNDING = {"softmax", "batchnorm2d", "lrn"}


def interpret(template):
    module = load(template.__name__)
    cases = 0
    for name, args, constexprs, work, want in template():
        for entry in (name, name + "_loop"):
            y = args["y_ptr"]
            y[...] = 99
            call = {k: Array(v) if isinstance(v, np.ndarray) else v for k, v in args.items()}
            grid = (work,) if entry == name else (min(work, 3),)
            getattr(module, entry)[grid](**call, **constexprs, **({"WORK": work} if entry != name else {}))
            if template.__name__ in ROUNDING:
                np.testing.assert_allclose(y, want, rtol=1e-6, atol=1e-6)
            else:
                np.testing.assert_array_equal(y, want)
            cases += 1
    print(f"{template.__name__:20} interpreter: {cases} cases agree with numpy", flush=True)


def compile_all(template):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    module = load(template.__name__)
    targets = [("cuda", 80, 32), ("cuda", 90, 32), ("hip", "gfx942", 64)]
    seen = set()
    for name, args, constexprs, _work, _want in template():
        if name in seen:
            continue
        seen.add(name)
        for entry, float_type in itertools.product((name, name + "_loop"), ("fp32", "fp16", "bf16")):
            fn = getattr(module, entry)
            types = {"float32": f"*{float_type}", "int64": "*i64"}
            signature = {k: types[v.dtype.name] if isinstance(v, np.ndarray) else "i32" for k, v in args.items()}
            signature |= {"WORK": "i32"} if entry != name else {}
            signature |= {k: "constexpr" for k in constexprs}
            signature = {k: signature[k] for k in fn.arg_names}
            classes = CLASSES if float_type == "fp32" and "PRECISION" in constexprs else CLASSES[:1]
            for (backend, arch, warp), precision in itertools.product(targets, classes):
                if backend == "hip" and precision == "tf32x3":
                    continue
                source = ASTSource(fn, signature, constexprs | ({"PRECISION": precision} if "PRECISION" in constexprs else {}))
                triton.compile(source, target=GPUTarget(backend, arch, warp), options={"num_warps": 4})
            classes = f" ({', '.join(classes)})" if len(classes) > 1 else ""
            print(f"{template.__name__:20} {entry}: {float_type}{classes} compiles for cuda:80, cuda:90, hip:gfx942", flush=True)


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("-")]
    for template in TEMPLATES:
        if names and template.__name__ not in names:
            continue
        if INTERPRET:
            interpret(template)
        elif "--no-compile" not in sys.argv:
            compile_all(template)
    if not INTERPRET:
        # The interpreter is chosen when triton is imported, hence a process of its own.
        sys.exit(subprocess.call([sys.executable, *sys.argv], env=os.environ | {"TRITON_INTERPRET": "1"}))


if __name__ == "__main__":
    main()
