"""Compares the kernel IR of `tests/kernel/lower/*.ttir` with Triton's own, kernel by kernel.

    pip install triton numpy
    python tools/compare_ir.py            # compare
    python tools/compare_ir.py --write    # also renew tests/kernel/triton/*.ttir (Triton's text)
    python tools/compare_ir.py --refusals # whether Triton refuses the kernels of tests/kernel/fail, too

For every `# compile:` line of a test kernel, Triton's compiler lowers the same Python function to its
source IR (before any pass that changes rounding), inlines helpers, and canonicalises it (MLIR's
canonicaliser and CSE). Our blessed text is parsed by MLIR, verified by it, and canonicalised the same
way. Verdicts, from strict to loose:

    same      the two texts are equal up to the names of values and the order of constants
    counts    the same operations with the same types, in another order or structure
    meant     they differ in a way that MEANT explains
    differs   the operations that only one of them has are listed; the exit status is 1

Division is compared without its rounding: ours is always correctly rounded (`arith.divf` stands for
`tt.precise_divf` too), and a reshape that may reorder is compared as one that may not. Triton 3.9 says
`same` for every kernel of tests/kernel/lower but the four in MEANT. No GPU is needed.
"""

import argparse
import collections
import difflib
import importlib.util
import pathlib
import re
import sys
import tempfile

import triton
from triton._C.libtriton import ir, passes
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, CompilationError, make_backend

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = GPUTarget("cuda", 90, 32)
# Kernels that differ on purpose: (test file, function) and why.
MEANT = {
    ("language", "picked"): "early returns in a helper are scf.if here, blocks there",
    ("language", "static"): "prints are dropped here",
    ("flow", "helpers"): "early returns in a helper are scf.if here, blocks there",
    ("math", "unary"): "libdevice.div_rn is a division here, an external call there",
    ("math", "integers"): "abs of an integer is max(x, -x) here, math.absi there",
    ("shapes", "facts"): "assertions are kept here",
    ("asked", "launch"): "launches follow each other here, so that nothing waits for an earlier grid",
}
# Files that are not compared: Triton 3.9 has no block pointers, and keeps descriptors whole until a later pass; of other
# dialects it has no modules, and of torch neither.
APART = {"regions", "elsewhere", "limits"}
# Kernels that Triton refuses in a later stage than the one that is compared.
LATER = {("blocks", "eight"), ("blocks", "eight_from_double")}
POINTEES = {"f64": "fp64", "f32": "fp32", "f16": "fp16", "bf16": "bf16", "f8e4m3": "fp8e4nv", "f8e5m2": "fp8e5",
            "i64": "i64", "i32": "i32", "i16": "i16", "i8": "i8", "u64": "u64", "u32": "u32", "u16": "u16", "u8": "u8",
            "bool": "i1"}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def requests(path):
    """(line, function, signature, constexprs) of each `# compile:` line."""
    module = load(path)
    for line in path.read_text().splitlines():
        if not line.startswith("# compile: "):
            continue
        request = line.removeprefix("# compile: ")
        name, *words = request.split()
        function = getattr(module, name, None)
        if function is None:  # a test of a missing kernel
            continue
        given = dict(word.split("=", 1) for word in words)
        signature, constants = {}, {}
        for param in function.arg_names:
            text = given.get(param)
            if text is None:
                signature[param] = "constexpr"
                constants[param] = function.params[function.arg_names.index(param)].default
            elif text.startswith("*"):
                signature[param] = "*" + POINTEES[text[1:]]
            elif text in ("i32", "i64", "u64"):
                signature[param] = text
            elif text == "bool":
                signature[param] = "i1"
            elif text.startswith("fn:"):
                signature[param], constants[param] = "constexpr", getattr(module, text[3:])
            elif text.startswith("dtype:"):
                signature[param], constants[param] = "constexpr", triton.language.dtype(POINTEES[text[6:]])
            elif text.startswith("["):
                members = text.strip("[]").split(";")
                signature[param] = tuple("*" + POINTEES[m[1:]] if m[0] == "*" else m for m in members)
            elif text == "f32":
                signature[param] = "fp32"
            else:
                signature[param] = "constexpr"
                constants[param] = eval(text)
        yield request, function, signature, constants


def run(module, names):
    manager = ir.pass_manager(module.context)
    for name in names:
        getattr(passes.common, f"add_{name}")(manager)
    manager.run(module, "compare")
    return module


def source_ir(function, signature, constants):
    backend = make_backend(TARGET)
    options = backend.parse_options({"sanitize_overflow": False})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(function, signature, constants)
    module = source.make_ir(TARGET, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    module.context = context
    return run(module, ["inliner", "symbol_dce"])


def parsed(text):
    context = ir.context()
    ir.load_dialects(context)
    make_backend(TARGET).load_dialects(context)
    with tempfile.NamedTemporaryFile("w", suffix=".ttir") as file:
        file.write("module {\n" + text + "}\n")
        file.flush()
        module = ir.parse_mlir_module(file.name, context)
    module.context = context
    return module


def plain(module):
    """Text without locations, attributes of functions, and with values named by order of appearance."""
    text = module.str_nodebug()
    text = re.sub(r" attributes \{noinline = false\}| allow_reorder", "", text)
    text = text.replace("tt.precise_divf", "arith.divf")
    # Cache hints change no value; ours drops them.
    text = re.sub(r"cachePolicy = #tt.cache_policy<[^>]*>(, )?", "", text).replace(" {}", "")
    for same in re.finditer(r"\n *(%[\w$.-]+) = tt\.reshape (%[\w$.-]+) : (\S+) -> (\S+)(?=\n)", text):
        if same.group(3) == same.group(4):
            text = re.sub(re.escape(same.group(1)) + r"\b", same.group(2), text.replace(same.group(0), ""))
    text = re.sub(r" \{tt\.num_stages[^}]*\}| // .*preds?:.*| // no predecessors", "", text)
    # Canonicalised constants stand first, in an order that means nothing: name them by what they are.
    names = {}
    lines = []
    for line in text.splitlines():
        constant = re.fullmatch(r"\s*(%[\w$.-]+) = arith\.constant (.*)", line)
        if constant:
            names[constant.group(1)] = "{" + constant.group(2).replace("%", "") + "}"
        else:
            lines.append(line)
    fresh = iter(range(1 << 30))
    text = "\n".join(lines)
    return re.sub(r"%[\w$.-]+", lambda m: names.setdefault(m.group(), f"%v{next(fresh)}"), text)


def operations(text):
    """How often each operation occurs, with its types."""
    count = collections.Counter()
    for line in text.splitlines():
        found = re.search(r'(?:= |^\s*)"?((?:tt|arith|math|scf|cf)\.\w+(?:\.\w+)?)"?', line)
        if found and found.group(1) != "tt.func":
            types = re.sub(r"%v\d+(?::\d+|#\d+)?", "%", line.rsplit(" : ", 1)[-1]) if " : " in line else ""
            predicate = re.search(r"cmp[if] (\w+)", line)
            count[f"{found.group(1)} {predicate.group(1) if predicate else ''} {types.strip()}"] += 1
    return count


def refusals(only):
    """Kernels of tests/kernel/fail that Triton compiles: what we refuse in its name must not be among them."""
    accepted = 0
    for path in sorted((ROOT / "tests/kernel/fail").glob("*.py")):
        if path.stem in APART or (only and path.stem not in only):
            continue
        messages = path.with_suffix(".stderr").read_text().split("\n\n")
        lines = [line for line in path.read_text().splitlines() if line.startswith("# compile: ")]
        told = dict(zip(lines, messages))
        for line in lines:
            message = told[line].strip().splitlines()[0]
            if not message.startswith(("error[K002]", "error[K003]")) or (path.stem, line.split()[2]) in LATER:
                continue
            try:
                [(request, function, signature, constants)] = [r for r in requests(path) if f"# compile: {r[0]}" == line]
                source_ir(function, signature, constants)
            except Exception as error:  # Triton refuses with whatever its own code raises.
                print(f"refused  {path.stem}: {line[11:60]:50} {str(error).splitlines()[-1][:90]}")
            else:
                accepted += 1
                print(f"ACCEPTED {path.stem}: {request}: {message}")
    return 1 if accepted else 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--write", action="store_true", help="renew tests/kernel/triton/*.ttir")
    arguments.add_argument("--show", action="store_true", help="print both texts where they differ")
    arguments.add_argument("only", nargs="*", help="names of test files, without extension")
    arguments.add_argument("--refusals", action="store_true", help="compare what is refused")
    options = arguments.parse_args()
    if options.refusals:
        return refusals(options.only)
    verdicts = collections.Counter()
    for path in sorted((ROOT / "tests/kernel/lower").glob("*.py")):
        if path.stem in APART or (options.only and path.stem not in options.only):
            continue
        blessed = path.with_suffix(".ttir").read_text()
        ours = {}
        for part in re.split(r"^// ", blessed, flags=re.MULTILINE)[1:]:
            request, text = part.split("\n", 1)
            ours[request] = text
        for index, (request, function, signature, constants) in enumerate(requests(path)):
            clean = ["canonicalizer", "cse", "canonicalizer"]
            try:
                theirs = plain(run(source_ir(function, signature, constants), clean))
            except CompilationError as error:
                verdicts["differs"] += 1
                print(f"differs  {path.stem}: {request[:90]} (Triton refuses it: {str(error).splitlines()[-1]})")
                continue
            if options.write:
                compiled = triton.compile(ASTSource(function, signature, constants), target=TARGET)
                name = f"{path.stem}_{index}_{function.__name__}.ttir"
                text = re.sub(r'loc\("[^"]*/', 'loc("', compiled.asm["ttir"])
                (ROOT / "tests/kernel/triton" / name).write_text(text)
            mine = plain(run(parsed(ours[request]), clean))
            a, b = operations(mine), operations(theirs)
            verdict = "same" if mine == theirs else "counts" if a == b else "differs"
            reason = MEANT.get((path.stem, function.__name__))
            if verdict == "differs" and reason:
                verdict = "meant"
            verdicts[verdict] += 1
            print(f"{verdict:8} {path.stem}: {request[:90]}" + (f" ({reason})" if verdict == "meant" else ""))
            if verdict == "differs":
                for operation, count in sorted((a - b).items()):
                    print(f"         ours only   {count} {operation}")
                for operation, count in sorted((b - a).items()):
                    print(f"         theirs only {count} {operation}")
            if verdict != "same" and options.show:
                print("\n".join(difflib.unified_diff(mine.splitlines(), theirs.splitlines(), "ours", "theirs", lineterm="")))
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    return 1 if verdicts["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
