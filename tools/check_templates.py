"""Checks every operator_templates/*/kernel.py with Triton itself; needs triton and numpy, no GPU.

    python tools/check_templates.py [--no-compile] [NAME ...]

Each kernel, direct and looped, is compiled for cuda:80, cuda:90 and hip:gfx942, with fp32, fp16 and
bf16 tensors and in every precision class that the target has, and run under
Triton's interpreter on several shapes against a plain numpy formula. Data are small integers, so
contractions, sums, pools and copies must agree bit for bit; softmax and normalisations, which
round, must agree to 1e-6 relative.

Last result (triton 3.9.0): 11 templates, 24 entries compile for the three targets in fp32, fp16 and
bf16, 78 interpreted cases agree. The other 23 (reductions, positions, normalisations, running sums,
transposed convolutions, windows in one and three dimensions): direct entries compile for cuda:90 in
fp32, 204 interpreted cases agree.
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


LINES = [(3, 37, 1, 1, 1), (2, 11, 1, 1, 5), (1, 5, 3, 28, 1), (3, 4, 2, 5, 2)]


def reduction(name, fold, low=-9, high=9, holes=False):
    """Over i and j of [o, i, e, j, f]."""
    for o, i, e, j, f in LINES:
        x = integers((o, i, e, j, f), 1, low, high)
        if holes:
            x[0, 1, 0, 0, 0] = np.nan
        want = fold(x.astype(np.float64))
        y = np.full((o, e, f), 77, np.float32)
        yield (
            f"{name}_kernel",
            dict(x_ptr=x, y_ptr=y, O=o, I=i, E=e, J=j, F=f) | strides(x_oiejf=x, y_oef=y),
            dict(BE=4, BT=16),
            cdiv(o * e * f, 4),
            want.astype(np.float32),
        )


def reduce_sum():
    yield from reduction("reduce_sum", lambda x: x.sum((1, 3)))


def reduce_mean():
    yield from reduction("reduce_mean", lambda x: x.mean((1, 3)))


def reduce_max():
    yield from reduction("reduce_max", lambda x: x.max((1, 3)), holes=True)


def reduce_min():
    yield from reduction("reduce_min", lambda x: x.min((1, 3)), holes=True)


def reduce_prod():
    yield from reduction("reduce_prod", lambda x: x.prod((1, 3)), -1, 2)


def logsumexp():
    yield from reduction("logsumexp", lambda x: np.log(np.exp(x).sum((1, 3))))


def argreduce():
    for (o, i, e), largest, last in itertools.product([(3, 37, 1), (2, 11, 5)], (0, 1), (0, 1)):
        x = integers((o, i, e), 1, -3, 4)
        x[0, [2, 5], 0] = np.nan
        key = np.where(np.isnan(x), np.inf, x if largest else -x)
        want = i - 1 - key[:, ::-1].argmax(1) if last else key.argmax(1)
        y = np.full((o, e), 77, np.int64)
        yield (
            "argreduce_kernel",
            dict(x_ptr=x, y_ptr=y, O=o, I=i, E=e) | strides(x_oie=x, y_oe=y),
            dict(LARGEST=largest, LAST=last, BE=4, BT=16),
            cdiv(o * e, 4),
            want,
        )


def normalised(name, centred):
    for kernel, (o, i, e, j, f) in itertools.product(("", "_long"), LINES):
        x = np.random.default_rng(1).standard_normal((o, i, e, j, f), dtype=np.float32) + 1
        wide = x.astype(np.float64)
        apart = wide - wide.mean((1, 3), keepdims=True) if centred else wide
        y = np.full_like(x, np.nan)
        yield (
            f"{name}{kernel}_kernel",
            dict(x_ptr=x, y_ptr=y, O=o, I=i, E=e, J=j, F=f) | strides(x_oiejf=x, y_oiejf=y),
            dict(EPSILON=1e-5, BE=4, BT=16 if kernel else 256),
            cdiv(o * e * f, 4),
            apart / np.sqrt((apart**2).mean((1, 3), keepdims=True) + 1e-5),
        )


def layernorm():
    yield from normalised("layernorm", True)


def rmsnorm():
    yield from normalised("rmsnorm", False)


def running(name, accumulate, fill, low, high):
    for (o, i, e), reverse, exclusive in itertools.product([(3, 37, 1), (2, 21, 5)], (0, 1), (0, 1)):
        x = integers((o, i, e), 1, low, high)
        steps = x[:, ::-1] if reverse else x
        if exclusive:
            steps = np.concatenate([np.full_like(steps[:, :1], fill), steps[:, :-1]], 1)
        want = accumulate(steps, axis=1)
        y = np.full_like(x, np.nan)
        yield (
            f"{name}_kernel",
            dict(x_ptr=x, y_ptr=y, O=o, I=i, E=e) | strides(x_oie=x, y_oie=y),
            dict(REVERSE=reverse, EXCLUSIVE=exclusive, BE=4, BT=16),
            cdiv(o * e, 4),
            want[:, ::-1] if reverse else want,
        )


def cumsum():
    yield from running("cumsum", np.cumsum, 0, -9, 9)


def cumprod():
    yield from running("cumprod", np.cumprod, 1, 1, 3)


def log_softmax():
    for name, args, constexprs, work, want in softmax():
        args["x_ptr"][np.isinf(args["x_ptr"])] = -30
        x = args["x_ptr"].astype(np.float64)
        x = x - x.max(1, keepdims=True)
        yield f"log_{name}", args, constexprs, work, x - np.log(np.exp(x).sum(1, keepdims=True))


INPUT, OUTPUT, TAP = "dhw", "upq", "trs"


def spatial(letters, sizes):
    return dict(zip(letters[3 - len(sizes) :], sizes))


def names(prefix, values):
    return {f"{prefix}_{axis.upper()}": value for axis, value in spatial(INPUT, values).items()}


def taps(kernel):
    return itertools.product(*[range(size) for size in kernel])


def convolution(rank):
    for groups, stride, dilation, pad in [(1, 1, 1, 1), (2, 2, 2, 0)]:
        size, kernel = (7, 9, 8)[3 - rank :], (3, 2, 3)[3 - rank :]
        n, c, k = 2, 2 * groups, 3 * groups
        x, w = integers((n, c, *size), 1), integers((k, c // groups, *kernel), 2)
        padded = np.pad(x, [(0, 0), (0, 0), *[(pad, pad)] * rank])
        out = [(s + 2 * pad - dilation * (r - 1) - 1) // stride + 1 for s, r in zip(size, kernel)]
        want = np.zeros((n, k, *out), np.float32)
        for tap in taps(kernel):
            at = tuple(slice(t * dilation, t * dilation + stride * (o - 1) + 1, stride) for t, o in zip(tap, out))
            for g in range(groups):
                ks, cs = slice(g * k // groups, (g + 1) * k // groups), slice(g * c // groups, (g + 1) * c // groups)
                want[:, ks] += np.einsum("nc...,kc->nk...", padded[(slice(None), cs, *at)], w[(ks, slice(None), *tap)])
        y = np.full_like(want, np.nan)
        sizes = spatial(INPUT, size) | spatial(OUTPUT, out) | spatial(TAP, kernel)
        axes = [letters[3 - rank :] for letters in (INPUT, TAP, OUTPUT)]
        layout = strides(**{f"x_nc{axes[0]}": x, f"w_kc{axes[1]}": w, f"y_nk{axes[2]}": y})
        yield (
            f"conv{rank}d_kernel",
            dict(x_ptr=x, w_ptr=w, y_ptr=y, N=n, C=c // groups, K=k) | {a.upper(): v for a, v in sizes.items()} | layout,
            names("STRIDE", [stride] * rank)
            | names("PAD", [pad] * rank)
            | names("DILATION", [dilation] * rank)
            | dict(GROUPS=groups, PRECISION="ieee", BM=16, BN=16, BK=16),
            cdiv(n * int(np.prod(out)), 16) * cdiv(k // groups, 16) * groups,
            want,
        )


def conv1d():
    yield from convolution(1)


def conv3d():
    yield from convolution(3)


def transposed(rank):
    for groups, stride, dilation, pad, more in [(1, 2, 1, 1, 1), (2, 2, 2, 1, 0), (1, 3, 1, 0, 2), (2, 1, 1, 1, 0)]:
        size, kernel = (3, 4, 5)[3 - rank :], (3, 2, 3)[3 - rank :]
        n, c, j = 2, 2 * groups, 3
        x, w = integers((n, c, *size), 1), integers((c, j, *kernel), 2)
        full = [(s - 1) * stride + dilation * (r - 1) + 1 + more for s, r in zip(size, kernel)]
        want = np.zeros((n, j * groups, *full), np.float32)
        for tap in taps(kernel):
            at = tuple(slice(t * dilation, t * dilation + stride * (s - 1) + 1, stride) for t, s in zip(tap, size))
            for g in range(groups):
                js, cs = slice(g * j, (g + 1) * j), slice(g * c // groups, (g + 1) * c // groups)
                want[(slice(None), js, *at)] += np.einsum("nc...,cj->nj...", x[:, cs], w[(cs, slice(None), *tap)])
        want = want[(slice(None), slice(None), *[slice(pad, f - pad) for f in full])].copy()
        y = np.full_like(want, np.nan)
        out = want.shape[2:]
        phases = stride if dilation == 1 else 1
        sizes = spatial(INPUT, size) | spatial(OUTPUT, out) | spatial(TAP, kernel)
        axes = [letters[3 - rank :] for letters in (INPUT, TAP, OUTPUT)]
        layout = strides(**{f"x_nc{axes[0]}": x, f"w_cj{axes[1]}": w, f"y_nk{axes[2]}": y})
        rows = n * int(np.prod([cdiv(o, phases) for o in out]))
        yield (
            f"conv_transpose{rank}d_kernel",
            dict(x_ptr=x, w_ptr=w, y_ptr=y, N=n, C=c, J=j) | {a.upper(): v for a, v in sizes.items()} | layout,
            names("STRIDE", [stride] * rank)
            | names("PAD", [pad] * rank)
            | names("DILATION", [dilation] * rank)
            | names("PHASES", [phases] * rank)
            | dict(GROUPS=groups, PRECISION="ieee", BM=16, BN=16, BK=16),
            cdiv(rows, 16) * cdiv(j, 16) * groups * phases**rank,
            want,
        )


def conv_transpose1d():
    yield from transposed(1)


def conv_transpose2d():
    yield from transposed(2)


def conv_transpose3d():
    yield from transposed(3)


def pooled(rank, maximum):
    for stride, dilation, pad, count_pad in [(2, 1, 1, 1), (1, 2, 0, 0), (2, 1, 1, 0)]:
        n, c, size, kernel = 2, 3, (6, 7, 9)[3 - rank :], (2, 3, 3)[3 - rank :]
        x = integers((n, c, *size), 1, -9, 9)
        out = [(s + 2 * pad - dilation * (r - 1) - 1) // stride + 1 for s, r in zip(size, kernel)]

        def window(x, fill):
            padded = np.pad(x, [(0, 0), (0, 0), *[(pad, pad)] * rank], constant_values=fill)
            slices = (tuple(slice(t * dilation, t * dilation + stride * (o - 1) + 1, stride) for t, o in zip(tap, out)) for tap in taps(kernel))
            return np.stack([padded[(slice(None), slice(None), *at)] for at in slices])

        if maximum:
            want = window(x, -np.inf).max(0)
        else:
            want = window(x, 0).sum(0) / window(np.ones_like(x), count_pad).sum(0)
        y = np.full_like(want, np.nan)
        sizes = spatial(INPUT, size) | spatial(OUTPUT, out)
        layout = strides(**{f"x_nc{INPUT[3 - rank :]}": x, f"y_nc{OUTPUT[3 - rank :]}": y})
        blocks = dict(BR=4, BQ=4) if rank == 1 else dict(BP=2, BQ=4)
        work = cdiv(n * c, 4) * cdiv(out[0], 4) if rank == 1 else n * c * cdiv(out[0] * out[1], 2) * cdiv(out[2], 4)
        yield (
            f"{'max' if maximum else 'avg'}pool{rank}d_kernel",
            dict(x_ptr=x, y_ptr=y, N=n, C=c) | {a.upper(): v for a, v in sizes.items()} | layout,
            names("KERNEL", kernel)
            | names("STRIDE", [stride] * rank)
            | names("DILATION", [dilation] * rank)
            | names("PAD", [pad] * rank)
            | ({} if maximum else dict(COUNT_PAD=count_pad))
            | blocks,
            work,
            want,
        )


def maxpool1d():
    yield from pooled(1, True)


def maxpool3d():
    yield from pooled(3, True)


def avgpool1d():
    yield from pooled(1, False)


def avgpool3d():
    yield from pooled(3, False)


def adaptive(rank):
    for size, out in [((3, 4, 5), (1, 1, 1)), ((5, 6, 7), (2, 3, 4)), ((2, 3, 2), (3, 4, 1))]:
        size, out = size[3 - rank :], out[3 - rank :]
        x = integers((2, 3, *size), 1, -9, 9)
        want = np.zeros((2, 3, *out), np.float32)
        for at in taps(out):
            bin = x[(slice(None), slice(None), *[slice(p * s // o, cdiv((p + 1) * s, o)) for p, s, o in zip(at, size, out)])]
            axes = tuple(range(2, 2 + rank))
            want[(slice(None), slice(None), *at)] = bin.sum(axes, dtype=np.float32) / np.float32(np.prod(bin.shape[2:]))
        y = np.full_like(want, np.nan)
        sizes = spatial(INPUT, size) | spatial(OUTPUT, out)
        layout = strides(**{f"x_nc{INPUT[3 - rank :]}": x, f"y_nc{OUTPUT[3 - rank :]}": y})
        bins = names("BIN", [cdiv(s, o) + (s % o > 0) for s, o in zip(size, out)])
        yield (
            f"adaptive_avgpool{rank}d_kernel",
            dict(x_ptr=x, y_ptr=y, N=2, C=3) | {a.upper(): v for a, v in sizes.items()} | bins | layout,
            dict(BE=4, BT=16),
            cdiv(want.size, 4),
            want,
        )


def adaptive_avgpool1d():
    yield from adaptive(1)


def adaptive_avgpool3d():
    yield from adaptive(3)


CLASSES = ["ieee", "tf32", "tf32x3", "bf16x6"]
TEMPLATES = [conv2d_resnet, matmul, relu, add, map, batchnorm2d, lrn, maxpool2d, avgpool2d, adaptive_avgpool2d, softmax]
TEMPLATES += [reduce_sum, reduce_mean, reduce_max, reduce_min, reduce_prod, logsumexp, argreduce, layernorm, rmsnorm]
TEMPLATES += [cumsum, cumprod, log_softmax, conv1d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d]
TEMPLATES += [maxpool1d, maxpool3d, avgpool1d, avgpool3d, adaptive_avgpool1d, adaptive_avgpool3d]
ROUNDING = {"softmax", "batchnorm2d", "lrn", "logsumexp", "layernorm", "rmsnorm", "log_softmax"}


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
