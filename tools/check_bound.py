"""Checks bound kernels with Triton itself; needs triton and numpy, no GPU.

    BOUND_JSON=target/bound.json cargo test --lib template::tests::dump -- --ignored
    python tools/check_bound.py target/bound.json

Every case is compiled for cuda:80, cuda:90 and hip:gfx942, its host texts are evaluated and must
give the numbers that binding computed, and it is run under Triton's interpreter on small integers
and compared with its numpy formula (exactly, but for functions that round). Cases with operands of
more than 2^28 elements are compiled only.

Last result (triton 3.9.0): 33 cases compile for the three targets, 30 agree with numpy.
"""

import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

INTERPRET = os.environ.get("TRITON_INTERPRET") == "1"
DTYPES = {"f32": np.float32, "i64": np.int64, "bool": np.bool_}


class Tensor:
    """A numpy view with the part of torch's interface that host text and the interpreter use."""

    def __init__(self, view, base):
        self.view, self.base = view, base
        self.dtype = {"float32": "fp32", "int64": "i64", "bool": "i1"}[view.dtype.name]
        self.device, self.shape = "cpu", view.shape

    def data_ptr(self):
        return self.base.ctypes.data

    def element_size(self):
        return self.base.itemsize

    def stride(self, axis=None):
        strides = tuple(s // self.view.itemsize for s in self.view.strides)
        return strides if axis is None else strides[axis]

    def size(self):
        return self.base.shape

    def numel(self):
        return self.view.size

    def storage_offset(self):
        return 0

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    contiguous = cpu

    def copy_(self, other):
        self.base[...] = other.base
        return self

    def new_empty(self, *_size, **_options):
        return Tensor(np.empty(0, self.base.dtype), np.empty(0, self.base.dtype))

    def set_(self, storage, _offset, _size, _stride):
        self.base = storage.base


def cdiv(a, b):
    return -(-a // b)


class triton_host:
    cdiv = staticmethod(cdiv)

    @staticmethod
    def next_power_of_2(n):
        return 1 << max(n - 1, 0).bit_length()


def conv(x, w, stride, dilation, before, after, groups):
    x = np.pad(x, ((0, 0), (0, 0), (before[0], after[0]), (before[1], after[1])))
    (k, _, r, s), n = w.shape, len(x)
    p, q = ((x.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in (0, 1))
    y = np.zeros((n, k, p, q), np.float32)
    for g in range(groups):
        ks, cs = slice(g * k // groups, (g + 1) * k // groups), slice(g * w.shape[1], (g + 1) * w.shape[1])
        for i in range(r):
            for j in range(s):
                window = x[:, cs, i * dilation[0] :, j * dilation[1] :][:, :, :: stride[0], :: stride[1]][:, :, :p, :q]
                y[:, ks] += np.einsum("ncpq,kc->nkpq", window, w[ks, :, i, j])
    return y


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True), dtype=np.float64)
    return e / e.sum(axis, keepdims=True)


HELPERS = dict(np=np, conv=conv, softmax=softmax, erf=np.vectorize(math.erf), c=lambda v: v[:, None, None])


def tensors(case):
    out = {}
    for seed, o in enumerate(case["operands"]):
        dtype = DTYPES[o["dtype"]]
        base = np.random.default_rng(seed).integers(-2, 3, max(o["storage"], 1)).astype(dtype)
        if o["name"] == "var":
            base = np.abs(base) + dtype(1)
        if o["dtype"] == "i64":
            base = base % 3
        size = base.itemsize
        view = np.lib.stride_tricks.as_strided(base[o["offset"] :], o["shape"], [s * size for s in o["strides"]])
        out[o["name"]] = Tensor(view, base)
    return out


def module(case, folder):
    path = Path(folder) / f"{case['name']}.py"
    path.write_text("import triton\nimport triton.language as tl\n\n\n" + case["text"])
    spec = importlib.util.spec_from_file_location(case["name"], path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def run(case, folder):
    if any(o["storage"] > 1 << 28 for o in case["operands"]):
        return
    kernels, operands = module(case, folder), tensors(case)
    output = next(o["name"] for o in case["operands"] if o["output"])
    names = {name: t.view.copy() for name, t in operands.items()}
    want = eval(case["formula"], HELPERS | names)
    y = operands[output].view
    y[...] = -77
    for launch in case["launches"]:
        host = {"triton": triton_host, "min": min} | operands
        for name, number in launch["locals"]:
            host[name] = eval(number["text"], host)
            assert host[name] == number["value"], (case["name"], name, number, host[name])
        args = {}
        for param, kind, value in launch["args"]:
            if kind == "pointer":
                args[param] = operands[case["operands"][value]["name"]]
            else:
                args[param] = eval(value["text"], host)
                assert args[param] == value["value"], (case["name"], param, value, args[param])
        grid = tuple(eval(g["text"], host) for g in launch["grid"])
        assert grid == tuple(g["value"] for g in launch["grid"]), (case["name"], grid)
        getattr(kernels, launch["function"])[grid](**args)
    rounds = any(word in case["formula"] for word in ("softmax", "exp", "erf", "sqrt", "tanh"))
    if rounds:
        np.testing.assert_allclose(y, want, rtol=2e-6, atol=2e-6, err_msg=case["name"])
    else:
        np.testing.assert_array_equal(y, want, err_msg=case["name"])
    print(f"{case['name']}: agrees with numpy", flush=True)


def compile_case(case, folder):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernels = module(case, folder)
    types = {"f32": "*fp32", "i64": "*i64", "bool": "*i1"}
    for launch in case["launches"]:
        signature, constexprs = {}, {}
        for param, kind, value in launch["args"]:
            if kind == "pointer":
                signature[param] = types[case["operands"][value]["dtype"]]
            elif kind == "int":
                signature[param] = "i32" if abs(value["value"]) < 2**31 else "i64"
            else:
                signature[param], constexprs[param] = "constexpr", value["value"]
        for backend, arch, warp in (("cuda", 80, 32), ("cuda", 90, 32), ("hip", "gfx942", 64)):
            source = ASTSource(getattr(kernels, launch["function"]), signature, constexprs)
            options = {"num_warps": min(launch["num_warps"], 1024 // warp)}
            triton.compile(source, target=GPUTarget(backend, arch, warp), options=options)
    print(f"{case['name']}: compiles for cuda:80, cuda:90, hip:gfx942", flush=True)


def main():
    cases = json.loads(Path(sys.argv[1]).read_text())
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            (run if INTERPRET else compile_case)(case, folder)
    if not INTERPRET:
        sys.exit(subprocess.call([sys.executable, *sys.argv], env=os.environ | {"TRITON_INTERPRET": "1"}))


main()
