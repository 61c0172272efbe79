"""Compiles every kernel with Triton's own compiler, for targets that need not be here.

`pip install triton` is enough: no GPU, and no torch. Each distinct kernel (text, types, constants) is
compiled once a target. Exit status 1 when one does not compile, or when the target that the suite was
scheduled for has too little shared memory for it.
"""

import argparse
import concurrent.futures
import importlib
import json
import os
import pathlib
import sys
import time
import types

ROOT = pathlib.Path(__file__).resolve().parent

# Backend, architecture, lanes of a warp; bytes of shared memory that a program may have; precision
# classes of a dot.
TARGETS = {}

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


def launches(manifest):
    """Every launch as the compiler needs it: file, function, arguments by name, options."""
    for kernel in manifest["kernels"]:
        dtypes = {operand["name"]: operand["dtype"] for operand in kernel["operands"]}
        for launch in kernel["launches"]:
            options = {"num_warps": launch["num_warps"], "num_stages": launch["num_stages"]}
            yield kernel["file"], launch["function"], dtypes, launch["args"], options


def source(file, function, dtypes, args):
    """The kernel specialised as a launch does it: 1 becomes a constant, multiples of 16 are noted."""
    from triton.compiler import ASTSource

    kernel = getattr(importlib.import_module(f"kernels.{pathlib.Path(file).stem}"), function)
    signature, constants, attributes = {}, {}, {}
    for position, parameter in enumerate(kernel.params):
        value = args[parameter.name]
        aligned = False
        if parameter.is_constexpr or value == 1 and not isinstance(value, str):
            signature[parameter.name], constants[parameter.name] = "constexpr", value
        elif isinstance(value, str):
            signature[parameter.name], aligned = "*" + TYPES[dtypes[value]], True
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
    file, function, dtypes, args, options = launch
    text = (ROOT / file).read_text().split("# Wrapper")[0].split("# Kernel")[-1]
    typed = {name: dtypes.get(value, value) if isinstance(value, str) else value for name, value in args.items()}
    return json.dumps([text, function, typed, options], sort_keys=True)


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
    distinct = {identity(launch): launch for launch in launches(manifest)}
    counts = {"ok": 0, "too large": 0, "skipped": 0, "FAILED": 0}
    failed = False

    def tell(word, name, launch, remark):
        counts[word] += 1
        print(f"{word:9} {name:7} {pathlib.Path(launch[0]).stem} {launch[1]}  {remark}", flush=True)

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
