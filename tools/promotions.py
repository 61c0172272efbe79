"""Writes tests/kernel/promotions.txt: what Triton makes of every pair of operand types.

    python tools/promotions.py > tests/kernel/promotions.txt        (pip install triton numpy; no GPU)

For every operator and every pair of types, a kernel of one operation is lowered by Triton's own front end to the IR
before passes. A line is

    OPERATOR | RESULT TYPE | OPERATIONS | LEFT:RIGHT LEFT:RIGHT …

where the operations are those that the pair adds to the two loads, constants left out, or `refused`. An operand
that is no type is a Python number. The test `kernel::promotions` compares the table with our own front end.
"""

import linecache
import os
import sys
import tempfile
import warnings

import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

warnings.simplefilter("ignore")

TYPES = {
    "int1": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64",
    "float8e4nv": "fp8e4nv", "float8e5": "fp8e5",
}  # fmt: skip
NUMBERS = ["True", "3", "300", "-1", "5000000000", "2.5", "1e300"]
BINARY = ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="]
CALLS = ["maximum", "minimum", "where", "fdiv"]
UNARY = ["negative", "inverse", "not", "abs", "sum", "max", "cumsum"]

TARGET = GPUTarget("cuda", 90, 32)
BACKEND = make_backend(TARGET)
OPTIONS = BACKEND.parse_options({"sanitize_overflow": False})
LOG = []


@tl.core.builtin
def record(x, _semantic=None):
    LOG.append(str(x.dtype))
    # Triton calls types of floats by other names in kernels.
    names = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "fp8e4nv": "float8e4nv", "fp8e5": "float8e5"}
    LOG[-1] = names.get(LOG[-1], LOG[-1])


def expression(operator, a, b):
    if operator in BINARY:
        return f"{a} {operator} {b}"
    if operator == "where":
        return f"tl.where(c, {a}, {b})"
    if operator in CALLS:
        return f"tl.{operator}({a}, {b})"
    prefixes = {"negative": "-", "inverse": "~", "not": "not "}
    if operator in prefixes:
        return prefixes[operator] + a
    return f"tl.abs({a})" if operator == "abs" else f"tl.{operator}({a}, 0)"


def lowered(body, signature):
    """The operations of a kernel, in order, with constants left out."""
    # Triton reads the source of a kernel from its file.
    path = os.path.join(tempfile.gettempdir(), "promotions_kernel.py")
    text = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(p, q, s):\n" + body
    with open(path, "w") as file:
        file.write(text)
    namespace = {"record": record}
    exec(compile(text, path, "exec"), namespace)
    linecache.checkcache(path)
    kernel = namespace["k"]
    context = ir.context()
    ir.load_dialects(context)
    BACKEND.load_dialects(context)
    source = ASTSource(kernel, signature, {})
    module = source.make_ir(TARGET, OPTIONS, BACKEND.get_codegen_implementation(OPTIONS), BACKEND.get_module_map(), context)
    found = []
    for line in module.str_nodebug().splitlines():
        words = line.strip().split(" = ", 1)[-1].split("(")[0].split()
        if words and "." in words[0] and words[0] not in ("arith.constant", "tt.func", "tt.return", "tt.call", "ub.poison"):
            found.append(words[0].strip('"'))
    return found


def row(operator, left, right):
    block = operator in ("sum", "max", "cumsum")
    at = " + tl.arange(0, 4)" if block else ""
    loads = f"    c = tl.load(s) > 0\n    a = tl.load(p{at})\n    b = tl.load(q)\n"
    signature = {"p": "*" + TYPES.get(left, "fp32"), "q": "*" + TYPES.get(right, "fp32"), "s": "*i32"}
    before = lowered(loads, signature)
    LOG.clear()
    a, b = (left if left not in TYPES else "a"), (right if right not in TYPES else "b")
    try:
        after = lowered(loads + f"    r = {expression(operator, a, b)}\n    record(r)\n", signature)
    except Exception:  # noqa: BLE001: Triton raises many kinds
        return "-", "refused"
    # Functions of Triton's library are calls: their bodies follow the kernel's.
    return LOG[-1], " ".join(after[len(before):]) or "nothing"


def main():
    groups = {}
    for operator in BINARY + CALLS:
        pairs = [(a, b) for a in TYPES for b in TYPES]
        pairs += [(a, n) for a in TYPES for n in NUMBERS] + [(n, a) for a in TYPES for n in NUMBERS]
        for left, right in pairs:
            result, operations = row(operator, left, right)
            groups.setdefault((operator, result, operations), []).append(f"{left}:{right}")
        print(operator, file=sys.stderr)
    for operator in UNARY:
        for left in TYPES:
            result, operations = row(operator, left, "float32")
            groups.setdefault((operator, result, operations), []).append(f"{left}:")
    print(f"# Written by tools/promotions.py with triton {triton.__version__}")
    for (operator, result, operations), pairs in groups.items():
        print(f"{operator} | {result} | {operations} | {' '.join(pairs)}")


main()
