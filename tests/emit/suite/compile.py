"""Compiles every kernel with Triton's own compiler, for targets that need not be here.

`pip install triton` is enough: no GPU, and no torch. What is compiled is what each wrapper launches: `launch`
runs on tensors without elements and its launches are recorded, with their constants; where they differ from the
manifest's, that is said. Each distinct kernel (text, types, constants) is compiled once a target; a precision
class that a target does not have is skipped by name. Exit status 1 when a wrapper launches nothing or one kernel
does not compile, or when the target that the suite was scheduled for has too little shared memory for it.
"""

import argparse
import concurrent.futures
import importlib
import json
import math
import os
import pathlib
import sys
import time
import types

ROOT = pathlib.Path(__file__).resolve().parent

# Backend, architecture, lanes of a warp; bytes of shared memory that a program may have; precision
# classes of a dot.
TARGETS = {
    "sm_80": ("cuda", 80, 32, 166912, ("ieee", "tf32", "tf32x3", "bf16x6", "fp16x3", "bf16x3")),
    "sm_90": ("cuda", 90, 32, 232448, ("ieee", "tf32", "tf32x3", "bf16x6", "fp16x3", "bf16x3")),
    "gfx942": ("hip", "gfx942", 64, 65536, ("ieee", "tf32", "bf16x6", "fp16x3", "bf16x3")),
}

TYPES = {
    "f64": "fp64", "f32": "fp32", "f16": "fp16", "bf16": "bf16", "f8e4m3": "fp8e4nv", "f8e5m2": "fp8e5",
    "i64": "i64", "i32": "i32", "i16": "i16", "i8": "i8", "u64": "u64", "u32": "u32", "u16": "u16", "u8": "u8",
    "bool": "i1",
}


def without_torch():
    """Kernel files import torch for their wrappers; compiling needs none of it."""
    try:
        importlib.import_module("torch")
    except ImportError:
        for name in ("torch", "torch.nn", "torch.nn.functional"):
            sys.modules[name] = types.ModuleType(name)
        sys.modules["torch"].nn = sys.modules["torch.nn"]
        sys.modules["torch.nn"].functional = sys.modules["torch.nn.functional"]


class Empty:
    """A tensor's shape, dtype and strides, as a wrapper asks for them, and the operand that it is part of."""

    device = "cpu"

    def __init__(self, shape, dtype, operand, strides=None):
        self.shape, self.dtype, self.operand = tuple(shape), dtype, operand
        self.strides = strides or tuple(math.prod(self.shape[i + 1 :]) for i in range(len(self.shape)))

    def stride(self, axis=None):
        return self.strides if axis is None else self.strides[axis]

    def size(self, axis=None):
        return self.shape if axis is None else self.shape[axis]

    def dim(self):
        return len(self.shape)

    def numel(self):
        return math.prod(self.shape)

    def view(self, *shape):
        shape = shape[0] if isinstance(shape[0], tuple) else shape
        rest = math.prod(n for n in shape if n != -1)
        return Empty((self.numel() // rest if n == -1 else n for n in shape), self.dtype, self.operand)

    reshape = view

    def permute(self, *order):
        order = order[0] if isinstance(order[0], tuple) else order
        return Empty((self.shape[i] for i in order), self.dtype, self.operand, tuple(self.strides[i] for i in order))

    def transpose(self, i, j):
        order = list(range(self.dim()))
        order[i], order[j] = order[j], order[i]
        return self.permute(*order)


class Torch:
    """What a wrapper needs of torch: dtypes by name, and buffers."""

    def __getattr__(self, name):
        return name

    def empty(self, *shape, dtype, device=None):
        shape = shape[0] if isinstance(shape[0], tuple) else shape
        return Empty(shape, dtype, None)

    zeros = ones = empty


DTYPES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint64": "u64",
    "uint32": "u32", "uint16": "u16", "uint8": "u8", "bool": "bool",
}


class Recorder:
    """Stands for a kernel while its wrapper runs: notes each launch instead."""

    def __init__(self, kernel, name, launches):
        self.kernel, self.name, self.launches = kernel, name, launches

    def __getitem__(self, grid):
        def note(*positional, num_warps=4, num_stages=3, **named):
            args = dict(zip(self.kernel.arg_names, positional), **named)
            for parameter in self.kernel.params:
                if parameter.name not in args and parameter.has_default:
                    args[parameter.name] = parameter.default
            sizes = [*(grid if isinstance(grid, tuple) else (grid,)), 1, 1][:3]
            options = {"num_warps": num_warps, "num_stages": num_stages}
            self.launches.append((self.name, sizes, args, options))

        return note


def launched(kernel):
    """What the kernel's wrapper launches on tensors of the manifest's operands."""
    from triton import JITFunction

    names = vars(importlib.import_module(f"kernels.{pathlib.Path(kernel['file']).stem}"))
    dtypes = {ours: theirs for theirs, ours in DTYPES.items()}
    operands = []
    for operand in kernel["operands"]:
        shape, dense = operand["shape"], operand["storage"] == math.prod(operand["shape"]) and operand["offset"] == 0
        packed = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
        dense &= all(n == 1 or have == want for n, have, want in zip(shape, operand["strides"], packed))
        if operand["access"] != "scratch":
            whole = shape if dense else [operand["storage"]]
            operands.append(Empty(whole, dtypes[operand["dtype"]], operand["name"]))
    recorded = []
    replaced = {name: value for name, value in names.items() if isinstance(value, JITFunction) or name == "torch"}
    names.update({name: Recorder(value, name, recorded) for name, value in replaced.items() if name != "torch"})
    names["torch"] = Torch()
    try:
        names["launch"](*operands)
    finally:
        names.update(replaced)
    return recorded


def launches(manifest, tell):
    """Every launch as the compiler needs it: file, function, types of pointers, arguments by name, options.

    `tell(word, file, function, remark)` is called for wrappers that cannot be run or are not as in the manifest.
    """
    for kernel in manifest["kernels"]:
        try:
            recorded = launched(kernel)
        except Exception as error:
            tell("FAILED", kernel["file"], "launch", f"the wrapper: {type(error).__name__}: {error}")
            continue
        if not recorded:
            tell("FAILED", kernel["file"], "launch", "the wrapper launches nothing")
        if len(recorded) != len(kernel["launches"]):
            remark = f"the wrapper launches {len(recorded)} kernels, the manifest says {len(kernel['launches'])}"
            tell("differs", kernel["file"], "launch", remark)
        for position, (function, grid, args, options) in enumerate(recorded):
            pointers = {name: DTYPES[value.dtype] for name, value in args.items() if isinstance(value, Empty)}
            if position < len(kernel["launches"]):
                plain = {name: v.operand if isinstance(v, Empty) else v for name, v in args.items()}
                for remark in remarks(kernel["launches"][position], function, grid, plain, options):
                    tell("differs", kernel["file"], function, remark)
            yield kernel["file"], function, pointers, {n: v for n, v in args.items() if n not in pointers}, options


def remarks(planned, function, grid, args, options):
    """Where a recorded launch is not as the manifest says."""
    pairs = [("the function", function, planned["function"]), ("the grid", list(grid), planned["grid"])]
    for name in {**planned["args"], **args}:
        # Scratch has no name in a wrapper.
        if not (args.get(name) is None and isinstance(planned["args"].get(name), str) and name in args):
            pairs.append((name, args.get(name, "not given"), planned["args"].get(name, "not given")))
    pairs += [(name, value, planned[name]) for name, value in options.items()]
    return [f"{name} is {have} in the wrapper, {want} in the manifest" for name, have, want in pairs if have != want]


def source(file, function, pointers, args):
    """The kernel specialised as a launch does it: 1 becomes a constant, multiples of 16 are noted."""
    from triton.compiler import ASTSource

    kernel = getattr(importlib.import_module(f"kernels.{pathlib.Path(file).stem}"), function)
    signature, constants, attributes = {}, {}, {}
    for position, parameter in enumerate(kernel.params):
        if parameter.name in pointers:
            signature[parameter.name] = "*" + TYPES[pointers[parameter.name]]
            attributes[(position,)] = [["tt.divisibility", 16]]
            continue
        value = args[parameter.name]
        aligned = False
        if parameter.is_constexpr or value == 1:
            signature[parameter.name], constants[parameter.name] = "constexpr", value
        elif isinstance(value, float):
            signature[parameter.name] = "fp32"
        else:
            signature[parameter.name] = "i32" if -(2**31) <= value < 2**31 else "i64"
            aligned = value % 16 == 0
        if aligned:
            attributes[(position,)] = [["tt.divisibility", 16]]
    constants = {(list(signature).index(name),): value for name, value in constants.items()}
    return ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)


def identity(launch):
    """What makes two launches one kernel for the compiler."""
    file, *specialised = launch
    text = (ROOT / file).read_text().split("# Wrapper")[0].split("# Kernel")[-1]
    return json.dumps([text, *specialised], sort_keys=True)


def compile_one(launch, name):
    """The verdict on one kernel and target, a remark, and seconds."""
    without_torch()
    sys.path.insert(0, str(ROOT))
    import triton
    from triton.backends.compiler import GPUTarget

    backend, architecture, warp, shared, _ = TARGETS[name]
    start = time.perf_counter()
    try:
        compiled = triton.compile(
            source(*launch[:4]), target=GPUTarget(backend, architecture, warp), options=launch[4]
        )
    except Exception as error:
        return "FAILED", f"{type(error).__name__}: {error}".strip().splitlines()[-1], time.perf_counter() - start
    used = compiled.metadata.shared
    if used > shared:
        return "too large", f"{used} bytes of shared memory, {name} has {shared}", time.perf_counter() - start
    return "ok", f"{used} bytes of shared memory", time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this target (may be repeated)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="compilers at once")
    options = parser.parse_args()

    manifest = json.loads((ROOT / "manifest.json").read_text())
    scheduled = manifest["settings"].get("target")
    counts = {"ok": 0, "too large": 0, "skipped": 0, "differs": 0, "FAILED": 0}

    def tell(word, name, launch, remark):
        counts[word] += 1
        print(f"{word:9} {name:7} {pathlib.Path(launch[0]).stem} {launch[1]}  {remark}", flush=True)

    def tell_wrapper(word, file, function, remark):
        tell(word, "wrapper", (file, function), remark)

    without_torch()
    sys.path.insert(0, str(ROOT))
    distinct = {identity(launch): launch for launch in launches(manifest, tell_wrapper)}
    failed = counts["FAILED"] > 0

    with concurrent.futures.ProcessPoolExecutor(max_workers=options.jobs) as pool:
        running = []
        for name in options.target or TARGETS:
            for launch in distinct.values():
                precision = launch[3].get("PRECISION")
                if precision is not None and precision not in TARGETS[name][4]:
                    tell("skipped", name, launch, f"there is no {precision} dot on {name}")
                else:
                    running.append((name, launch, pool.submit(compile_one, launch, name)))
        for name, launch, job in running:
            word, remark, seconds = job.result()
            tell(word, name, launch, f"{remark}, {seconds:.1f} s")
            failed |= word == "FAILED" or word == "too large" and name == scheduled
    print(", ".join(f"{count} {word}" for word, count in counts.items() if count))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
