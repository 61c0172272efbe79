"""How many public kernels reach the verified IR: a measure of the front end over installed libraries.

    python tools/lower_corpus.py --decompose target/release/decompose --out report.json FOLDER...

Each FOLDER is the root of a library's modules (the folder of a package, or one that holds packages). The script walks the
`@triton.jit` functions in them, keeps the entry kernels (launched somewhere in the library, or called by no other
kernel of it; the same text twice counts once), guesses the types of their arguments, and asks
`decompose emulate --lower-batch` to lower each. Nothing is imported or run: the libraries are read as text.

How arguments are guessed. A parameter is a pointer if its name says so or if it reaches the address of a load, store,
atomic, block pointer or descriptor, through assignments and helpers. A constexpr takes its value from a literal
configuration of `triton.autotune`, else from a literal at a launch in the same file, else its default, else a guess by its
name. What the text does not say (element types, which flags are set) is tried in several ways, and a kernel counts as
lowered when one of them is; so the figure says what the language covers, and not that every specialisation does.

What it does not measure: whether the IR is right (tests of values do), and kernels that are made at run time from text.
"""

import argparse
import ast
import collections
import functools
import json
import pathlib
import re
import subprocess
import sys

ACCESSES = {
    "load": 0, "store": 0, "make_block_ptr": 0, "make_tensor_descriptor": 0, "_experimental_make_tensor_descriptor": 0,
    "atomic_add": 0, "atomic_max": 0, "atomic_min": 0, "atomic_cas": 0, "atomic_xchg": 0, "atomic_and": 0, "atomic_or": 0,
    "atomic_xor": 0,
}
DESCRIPTORS = {"load_tensor_descriptor", "store_tensor_descriptor", "_experimental_descriptor_load", "_experimental_descriptor_store"}


def last(node):
    """The last name of a dotted expression, or of what a call calls."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def dotted(node):
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else None
    return node.id if isinstance(node, ast.Name) else None


def is_jit(function):
    names = [dotted(d) or "" for d in function.decorator_list]
    return any(n in ("triton.jit", "jit", "tl.jit") for n in names)


class Kernel:
    def __init__(self, library, root, path, module, function, text):
        self.library, self.root, self.path, self.module, self.function, self.text = library, root, path, module, function, text
        args = function.args
        self.params = args.posonlyargs + args.args + args.kwonlyargs
        self.defaults = dict(zip([a.arg for a in (args.posonlyargs + args.args)][::-1], args.defaults[::-1]))
        self.defaults.update({a.arg: d for a, d in zip(args.kwonlyargs, args.kw_defaults) if d is not None})

    @property
    def name(self):
        return self.function.name

    def constexpr(self, param):
        if param.annotation is None:
            return False
        text = ast.unparse(param.annotation)
        return text.strip("'\"").split(".")[-1] == "constexpr"


def functions(tree):
    """Top-level functions, also those under `if` and `try`."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, (ast.If, ast.Try)):
            yield from functions(node)
            yield from functions(ast.Module(body=node.orelse, type_ignores=[]))


def read(folder):
    root = pathlib.Path(folder)
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(errors="replace")
        if "triton" not in text or "jit" not in text or "/backend/_" in str(path):
            continue
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        gluon = "experimental.gluon" in text
        for function in functions(tree):
            if is_jit(function) and not (gluon and any("gluon" in (dotted(d) or "") for d in function.decorator_list)):
                yield Kernel(root.name, root, path, tree, function, ast.unparse(function))


def entries(kernels):
    """Kernels that are launched, or that no other kernel of the library calls."""
    called, launched, seen, chosen = set(), set(), set(), []
    for tree in {id(k.module): k.module for k in kernels}.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
                launched.add(last(node.func.value))
    for kernel in kernels:
        for node in ast.walk(kernel.function):
            if isinstance(node, ast.Name) and node.id != kernel.name:
                called.add(node.id)
            elif isinstance(node, ast.Attribute):
                called.add(node.attr)
    for kernel in kernels:
        returns = any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(kernel.function))
        entry = (kernel.name in launched or kernel.name not in called) and not returns
        if entry and kernel.text not in seen:
            seen.add(kernel.text)
            chosen.append(kernel)
    return chosen


NAMED = re.compile(r"ptrs?\d*$|^ptr|_ptr|pointer", re.I)


def bases(node):
    """Names that an address may start from."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.BinOp):
        if not isinstance(node.op, (ast.Add, ast.Sub)):
            return set()
        left, right = bases(node.left), bases(node.right)
        named = {n for n in left | right if NAMED.search(n)}
        # Kernels write the pointer first, or name it so.
        return named or left or right
    if isinstance(node, ast.IfExp):
        return bases(node.body) | bases(node.orelse)
    if isinstance(node, ast.Subscript):
        return bases(node.value)
    if isinstance(node, ast.Call):
        name = last(node)
        if name in ("to", "advance") and isinstance(node.func, ast.Attribute):
            return bases(node.func.value) | (bases(node.args[0]) if name == "advance" and node.args else set())
        if name in ("multiple_of", "max_contiguous", "broadcast_to", "cast", "advance", "make_block_ptr", "where", "expand_dims") and node.args:
            return set().union(*(bases(a) for a in node.args[: 3 if name == "where" else 1]))
    return set()


def pointer_params(kernel, helpers, memo):
    """Parameters that are used as pointers, and those used as descriptors."""
    key = id(kernel.function)
    if key in memo:
        return memo[key]
    memo[key] = (set(), set())
    found, described, flows = set(), set(), collections.defaultdict(set)
    for node in ast.walk(kernel.function):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts))
                for to, value in pairs:
                    if isinstance(to, ast.Name):
                        flows[to.id] |= bases(value)
        if not isinstance(node, ast.Call):
            continue
        name = last(node)
        root = dotted(node).split(".")[0] if dotted(node) else None
        if name in ACCESSES and root in ("tl", "triton", "language"):
            where = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg in ("pointer", "base")), None)
            if where is not None:
                found |= bases(where)
        elif name in DESCRIPTORS and node.args:
            described |= bases(node.args[0])
        elif name in ("load", "store", "gather", "scatter", "atomic_add") and isinstance(node.func, ast.Attribute) and root not in ("tl", "triton"):
            described |= bases(node.func.value)
        elif name in helpers and name != kernel.name:
            helper = helpers[name]
            pointers, descs = pointer_params(helper, helpers, memo)
            given = dict(zip([p.arg for p in helper.params], node.args))
            given.update({k.arg: k.value for k in node.keywords if k.arg})
            for param, value in given.items():
                if param in pointers:
                    found |= bases(value)
                if param in descs:
                    described |= bases(value)
    for _ in range(8):
        found |= set().union(set(), *(flows[n] for n in found if n in flows))
        described |= set().union(set(), *(flows[n] for n in described if n in flows))
    params = {p.arg for p in kernel.params}
    memo[key] = (found & params, (described & params) - found)
    return memo[key]


def literal(node):
    try:
        return True, ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False, None


@functools.cache
def launches(module):
    """`kernel[grid](…)`, wherever it stands in a module."""
    return [node for node in ast.walk(module) if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)]


@functools.cache
def known_values(kernel):
    """Constexprs that the file says: a literal Config, or a literal at a launch."""
    known = {}
    for decorator in kernel.function.decorator_list:
        for node in ast.walk(decorator):
            if isinstance(node, ast.Call) and last(node) == "Config" and node.args and isinstance(node.args[0], ast.Dict):
                for key, value in zip(node.args[0].keys, node.args[0].values):
                    ok, constant = literal(value)
                    if key is not None and ok and isinstance(key, ast.Constant):
                        known.setdefault(key.value, constant)
    for node in launches(kernel.module):
        if last(node.func.value) == kernel.name:
            pairs = [(k.arg, k.value) for k in node.keywords if k.arg]
            pairs += [(p.arg, a) for p, a in zip(kernel.params, node.args) if not isinstance(a, ast.Starred)]
            for name, value in pairs:
                ok, constant = literal(value)
                if ok:
                    known.setdefault(name, constant)
                elif re.match(r"tl\.\w+$", ast.unparse(value)):
                    known.setdefault(name, ast.unparse(value))
    return known


INDEX = re.compile(r"idx|ind(ic|ex)|cu_?seq|offset|seq_?len|lens?$|table|label|target|tgt|sizes|llut|shapes|dims|token|start|lock|count|seed|map|pos(ition)?|block_?list|chunk_ind|order|perm|expert|ids?(_ptr)?$|slot|batch_n|num_", re.I)
FLOAT = re.compile(r"eps|scale|alpha|beta|^p$|momentum|lr$|factor|slope|gamma|value|threshold|inv_|temp|soft|norm|weight|decay|lambda|dropout|theta|ratio|delta|min|max|log|decay|cap|^a$|^b$", re.I)
FLAG = re.compile(r"^(is|use|has|do|even|need|store|output|save|with|enable|allow|apply|return|compute|reverse|transpose|causal|interleaved|norm|skip|keep|mask|stable|descending|fuse|add|inplace|inclusive|fp8|quant|bias|training)(_|$)|_?(flag|causal|only|bias|inplace)$|^[A-Z_]*(HAS|IS|USE|EVEN|CAUSAL|BIAS|VARLEN|REVERSE|MASK)[A-Z_]*$", re.I)
DTYPE = re.compile(r"dtype|_type$|_ty$|^type|precision_t", re.I)


def guess_constexpr(name, attempt):
    if re.search(r"eviction|cache_mod|policy", name, re.I):
        return "''"
    if re.search(r"dtype_(min|max)$|_(min|max)$|eps$", name, re.I):
        return 448.0
    if re.search(r"^msg$", name, re.I):
        return "'message'"
    if DTYPE.search(name):
        return {"f32": "tl.float32", "f16": "tl.float16", "bf16": "tl.bfloat16"}.get(attempt["float"], "tl.int32")
    if re.search(r"input_precision|PRECISION|dot_prec", name):
        return "'ieee'"
    if re.search(r"activation|^act(_|$)|^ACT", name):
        return "''"
    if FLAG.search(name):
        return attempt["flags"]
    if re.search(r"^(num_?)?(warps|stages|ctas)|STAGES|WARPS", name, re.I):
        return 4
    if re.search(r"GROUP_(SIZE_)?M|GROUP_SIZE$|SPLIT|NUM_SM|REPEAT|UNROLL|group_m", name):
        return 8
    if re.search(r"axis|^dim$|^dim_?\d$|AXIS", name):
        return 0
    if re.search(r"bits$|nbits|^BITS", name, re.I):
        return 4
    return attempt["size"]


@functools.cache
def compared(kernel, name):
    """Literals that a parameter is compared with: the values that it is meant to take."""
    values = []
    for node in ast.walk(kernel.function):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id == name:
            for right in node.comparators:
                ok, value = literal(right)
                if ok and isinstance(value, (tuple, list)):
                    values += value
                elif ok and value is not None:
                    values.append(value)
    return values


@functools.cache
def indexed(kernel, name):
    """Whether a parameter is a tuple: subscripted by an integer."""
    for node in ast.walk(kernel.function):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            if isinstance(node.slice, (ast.Constant, ast.Name)) and not (isinstance(node.slice, ast.Constant) and node.slice.value is None):
                return True
    return False


@functools.cache
def rank(kernel, name):
    """Axes of a descriptor: as many as the offsets of an access."""
    for node in ast.walk(kernel.function):
        if isinstance(node, ast.Call) and name in {n.id for n in ast.walk(node.func) if isinstance(n, ast.Name)} | {n.id for a in node.args[:1] for n in ast.walk(a) if isinstance(n, ast.Name)}:
            for argument in node.args:
                if isinstance(argument, (ast.List, ast.Tuple)):
                    return len(argument.elts)
    return 2


def specification(kernel, helpers, memo, attempt):
    pointers, described = pointer_params(kernel, helpers, memo)
    known = known_values(kernel)
    args = {}
    for param in kernel.params:
        name = param.arg
        if kernel.constexpr(param):
            if name in known and not (isinstance(known[name], bool) and attempt["flags"] != known[name]):
                value = known[name]
                args[name] = repr(value) if isinstance(value, str) and not value.startswith("tl.") else value
            elif name in kernel.defaults and attempt["defaults"]:
                continue
            elif compared(kernel, name) and not FLAG.search(name):
                values = compared(kernel, name)
                value = values[ATTEMPTS.index(attempt) % len(values)]
                args[name] = repr(value) if isinstance(value, str) else value
            else:
                args[name] = guess_constexpr(name, attempt)
            if isinstance(args[name], (tuple, list)):
                args[name] = repr(tuple(args[name]))
            continue
        annotation = ast.unparse(param.annotation).strip("'\"") if param.annotation is not None else ""
        if name in described:
            sizes = ", ".join(["1"] * (rank(kernel, name) - 2) + [str(attempt["size"])] * min(2, rank(kernel, name)))
            args[name] = f"tensordesc<{attempt['float']}[{sizes}]>"
        elif indexed(kernel, name):
            args[name] = "[" + ", ".join(["*" + attempt["float"]] * attempt["size"]) + "]"
        elif name in pointers or NAMED.search(name):
            if re.search(r"mask", name, re.I) and not attempt["plain"]:
                args[name] = "*bool"
            elif INDEX.search(name) and not attempt["plain"]:
                args[name] = "*i32" if attempt["index"] == 32 else "*i64"
            else:
                args[name] = "*" + attempt["float"]
        elif "float" in annotation:
            args[name] = "f32"
        elif re.search(r"int64", annotation):
            args[name] = "i64"
        elif name in kernel.defaults and attempt["defaults"]:
            continue
        elif FLOAT.search(name) and attempt["scalars"] and not re.search(r"^(M|N|K|stride|size|num)", name) and "int" not in annotation:
            args[name] = "f32"
        else:
            args[name] = "i32"
    return args


ATTEMPTS = [
    {"float": f, "flags": flags, "size": size, "index": index, "defaults": defaults, "plain": plain, "scalars": scalars}
    for f, flags, size, index, defaults, plain, scalars in [
        ("f32", True, 64, 64, True, False, True),
        ("f32", False, 64, 64, True, False, True),
        ("f16", False, 64, 32, True, False, True),
        ("f16", True, 32, 32, True, False, True),
        ("bf16", False, 16, 64, False, False, True),
        ("bf16", True, 128, 64, False, False, False),
        ("f32", False, 32, 64, False, True, False),
        ("i32", False, 64, 32, True, True, False),
        ("i64", True, 64, 64, True, False, False),
        ("i8", False, 64, 32, True, False, True),
        ("f32", False, 1, 32, True, False, False),
        ("u8", True, 32, 32, True, False, True),
    ]
]


def ask(binary, requests):
    lines = "".join(json.dumps(r) + "\n" for r in requests)
    done = subprocess.run([binary, "emulate", "--lower-batch"], input=lines, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(requests):
        sys.exit(f"{len(requests)} requests, {len(answers)} answers: {done.stderr[-2000:]}")
    return answers


def construct(message):
    """A message without what differs from kernel to kernel."""
    return re.sub(r"\d+", "N", re.sub(r"`[^`]*[(\n][^`]*`", "`…`", message))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--decompose", default="decompose")
    parser.add_argument("--out")
    parser.add_argument("--again", help="a report: only the kernels that failed there are asked for again")
    parser.add_argument("--show", type=int, default=40, help="constructs to list")
    parser.add_argument("folders", nargs="+")
    options = parser.parse_args()
    chosen, helpers_of = [], {}
    for folder in options.folders:
        kernels = list(read(folder))
        helpers_of[pathlib.Path(folder).name] = {k.name: k for k in kernels}
        chosen += entries(kernels)
    texts, unique = set(), []
    for kernel in chosen:
        if kernel.text not in texts:
            texts.add(kernel.text)
            unique.append(kernel)
    memo, failures, lowered_with, not_run = {}, {}, {}, {}
    waiting = sorted(unique, key=lambda k: str(k.path))
    if options.again:
        before = json.loads(pathlib.Path(options.again).read_text())
        failed = {(e["library"], e["file"], e["kernel"]) for e in before if not e["ok"]}
        waiting = [k for k in waiting if (k.library, str(k.path.relative_to(k.root)), k.name) in failed]
    for attempt in ATTEMPTS:
        requests = [
            {"file": str(k.path), "entry": k.name, "args": specification(k, helpers_of[k.library], memo, attempt), "program": True}
            for k in waiting
        ]
        answers = ask(options.decompose, requests)
        still = []
        for kernel, request, answer in zip(waiting, requests, answers):
            if answer["ok"]:
                failures.pop(id(kernel), None)
                lowered_with[id(kernel)] = request["args"]
                if answer["program"] is not True:
                    not_run[id(kernel)] = answer["program"]
                continue
            still.append(kernel)
            failures.setdefault(id(kernel), []).append((answer["code"], answer["message"], answer.get("file"), answer.get("line"), request["args"]))
        waiting = still
    report, why, cannot = [], collections.Counter(), collections.Counter()
    total, good = collections.Counter(), collections.Counter()
    for kernel in unique:
        total[kernel.library] += 1
        tries = failures.get(id(kernel))
        entry = {"library": kernel.library, "file": str(kernel.path.relative_to(kernel.root)), "kernel": kernel.name, "ok": not tries}
        if tries:
            # What is unsupported says more than what a wrong guess of types leads to; the commonest of several.
            named = [t for t in tries if t[0] in ("K001", "X001", "K005")] or tries
            best = collections.Counter(construct(t[1]) for t in named).most_common(1)[0][0]
            code, message, file, line, args = next(t for t in named if construct(t[1]) == best)
            entry.update(code=code, message=message, at=f"{file}:{line}", args=args, construct=best)
            why[(code, best)] += 1
        else:
            good[kernel.library] += 1
            entry["args"] = lowered_with[id(kernel)]
            if id(kernel) in not_run:
                entry["emulator"] = not_run[id(kernel)]
                cannot[(not_run[id(kernel)]["code"], construct(not_run[id(kernel)]["message"]))] += 1
        report.append(entry)
    print(f"{'library':24} {'lowered':>8} {'of':>6} {'%':>6}")
    for library in total:
        print(f"{library:24} {good[library]:8} {total[library]:6} {100 * good[library] / total[library]:6.1f}")
    lowered, count = sum(good.values()), sum(total.values())
    print(f"{'all':24} {lowered:8} {count:6} {100 * lowered / max(count, 1):6.1f}\n")
    for (code, text), n in why.most_common(options.show):
        print(f"{n:4}  {code}  {text}")
    print(f"\nlowered, and not run by the emulator: {sum(cannot.values())}")
    for (code, text), n in cannot.most_common(options.show):
        print(f"{n:4}  {code}  {text}")
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
