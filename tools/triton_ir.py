"""Triton's own IR of a kernel, before any pass and after its ttir stage, by any of Triton 3.2 to 3.9; no GPU is needed."""

import importlib.util
import inspect
import re
import sys

import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend

TARGET = GPUTarget("cuda", 90, 32)
POINTEES = {"f64": "fp64", "f32": "fp32", "f16": "fp16", "bf16": "bf16", "f8e4m3": "fp8e4nv", "f8e5m2": "fp8e5",
            "f8e4m3fnuz": "fp8e4b8", "f8e5m2fnuz": "fp8e5b16", "bool": "i1"}
SCALARS = {"i32": "i32", "i64": "i64", "u32": "u32", "u64": "u64", "f32": "fp32"}

if not hasattr(triton, "constexpr_function"):
    # Since 3.5. What it decorates is called with constexprs alone, as a constexpr that is a function is.
    triton.constexpr_function = tl.constexpr


def load(path):
    """The module of a file with kernels, which is run."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def argument(module, text):
    """(type, value) of an argument as tools and tests write it: a type of the signature, or a constexpr."""
    if not isinstance(text, str):
        return "constexpr", text
    if text.startswith("*"):
        return "*" + POINTEES.get(text[1:], text[1:]), None
    if text == "bool":
        return "u1" if triton.__version__ < "3.3" else "i1", None
    if text in SCALARS:
        return SCALARS[text], None
    if text.startswith("fn:"):
        return "constexpr", getattr(module, text[3:])
    if text.startswith("dtype:"):
        return "constexpr", tl.dtype(POINTEES[text[6:]])
    if text.startswith("desc:"):
        _, dtype, block = text.split(":")
        return f"tensordesc<{POINTEES[dtype]}[{block.replace('x', ', ')}]>", None
    if text.startswith("tensordesc<"):
        return re.sub(r"(f64|f32|f16|bf16|f8e4m3|f8e5m2)\[", lambda m: POINTEES[m.group(1)] + "[", text), None
    if text.startswith("["):
        parts = [part.strip() for part in re.split("[;,]", text.strip("[]")) if part.strip()]
        return tuple(argument(module, part)[0] for part in parts), None
    return "constexpr", eval(text, {"tl": tl, "triton": triton})


def specialised(module, function, given):
    """The signature and the constexprs of a kernel whose arguments are given by name; the others have defaults."""
    signature, constants = {}, {}
    for at, name in enumerate(function.arg_names):
        kind, value = argument(module, given[name]) if name in given else ("constexpr", function.params[at].default)
        signature[name] = kind
        if kind == "constexpr":
            constants[name] = value
    if triton.__version__ < "3.3":
        signature = {name: kind for name, kind in signature.items() if kind != "constexpr"}
    return ASTSource(function, signature, constants)


def source_ir(source):
    """Text of the IR before any pass."""
    backend = make_backend(TARGET)
    options = backend.parse_options({"sanitize_overflow": False} if triton.__version__ >= "3.3" else {})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    implementation = backend.get_codegen_implementation
    functions = implementation(options) if "options" in inspect.signature(implementation).parameters else implementation()
    target = [TARGET] if "target" in inspect.signature(source.make_ir).parameters else []
    return str(source.make_ir(*target, options, functions, backend.get_module_map(), context))


def after_the_stage(text, folder):
    """Text of what Triton's ttir stage makes of that IR."""
    path = folder / "stage.ttir"
    path.write_text(text)
    backend = make_backend(TARGET)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = ir.parse_mlir_module(str(path), context)
    module.context = context
    stage = backend.make_ttir
    capability = [90] if len(inspect.signature(stage).parameters) > 3 else []
    return str(stage(module, {}, options, *capability))


def without_folders(text):
    return re.sub(r'loc\("[^"]*/', 'loc("', text)
