"""Writes Triton's own IR of kernels that say how they are specialised; needs triton, no GPU.

    pip install triton==3.9.0          # any of 3.2 to 3.9
    python tools/dump_ttir.py OUT tests/kernel/lower/*.py
    TTIR_FOLDER=OUT cargo test --lib doors -- --ignored --nocapture

For the i-th `# compile:` line of FILE.py, `OUT/FILE_i_KERNEL.source.ttir` holds the IR before any pass and
`OUT/FILE_i_KERNEL.ttir` what Triton's ttir stage makes of it. The test emulates both and our own lowering of the
same line on the same inputs, and compares what they leave in memory bit for bit.
"""

import argparse
import importlib.util
import inspect
import pathlib
import re
import sys

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend

TARGET = GPUTarget("cuda", 90, 32)
POINTEES = {"f64": "fp64", "f32": "fp32", "f16": "fp16", "bf16": "bf16", "f8e4m3": "fp8e4nv", "f8e5m2": "fp8e5",
            "bool": "i1"}
SCALARS = {"i32": "i32", "i64": "i64", "u64": "u64", "bool": "u1", "f32": "fp32"}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def specialised(module, request):
    """The function, signature and constexprs of a `# compile:` line."""
    name, *words = request.split()
    function = getattr(module, name)
    given = dict(word.split("=", 1) for word in words)
    signature, constants = {}, {}
    for at, param in enumerate(function.arg_names):
        text = given.get(param)
        if text is not None and text.startswith("*"):
            signature[param] = "*" + POINTEES.get(text[1:], text[1:])
        elif text in SCALARS:
            signature[param] = SCALARS[text]
        else:
            signature[param] = "constexpr"
            constants[param] = function.params[at].default if text is None else eval(text)
    if triton.__version__ < "3.3":
        signature = {param: ty for param, ty in signature.items() if ty != "constexpr"}
    return function, signature, constants


def source_ir(source):
    backend = make_backend(TARGET)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    implementation = backend.get_codegen_implementation
    functions = implementation(options) if "options" in inspect.signature(implementation).parameters else implementation()
    target = [TARGET] if "target" in inspect.signature(source.make_ir).parameters else []
    return str(source.make_ir(*target, options, functions, backend.get_module_map(), context))


def without_folders(text):
    return re.sub(r'loc\("[^"]*/', 'loc("', text)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("files", type=pathlib.Path, nargs="+")
    arguments.add_argument("--source-only", action="store_true", help="leave the ttir stage out")
    options = arguments.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    written, refused = 0, 0
    for path in options.files:
        requests = [line.removeprefix("# compile: ") for line in path.read_text().splitlines() if line.startswith("# compile: ")]
        for index, request in enumerate(requests):
            stem = f"{path.stem}_{index}_{request.split()[0]}"
            try:
                function, signature, constants = specialised(load(path), request)
                (options.out / f"{stem}.source.ttir").write_text(
                    without_folders(source_ir(ASTSource(function, signature, constants))))
                if not options.source_only:
                    compiled = triton.compile(ASTSource(function, signature, constants), target=TARGET)
                    (options.out / f"{stem}.ttir").write_text(without_folders(compiled.asm["ttir"]))
                written += 1
            except Exception as error:  # Kernels of other versions, and what this line cannot say.
                refused += 1
                print(f"{stem}: {str(error).strip().splitlines()[-1][:150] if str(error).strip() else repr(error)}")
    print(f"triton {triton.__version__}: {written} written, {refused} refused")


if __name__ == "__main__":
    main()
