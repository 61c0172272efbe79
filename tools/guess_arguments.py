"""Guesses the types of a public kernel's arguments from its text, for tools/lower_corpus.py (which says how)."""

import ast
import collections
import functools
import re

from corpus import ACCESSES, DESCRIPTORS, dotted, last

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
        if name in ACCESSES and root in ("tl", "triton", "language", "make_tensor_descriptor", "make_block_ptr"):
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
FLAG = re.compile(r"^(is|use|has|do|even|need|store|output|save|with|enable|allow|apply|return|compute|reverse|transpose|causal|interleaved|norm|skip|keep|mask|stable|descending|fuse|add|inplace|inclusive|fp8|quant|bias|training)(_|$)|_?(flag|causal|only|bias|inplace)$|(^|_)(HAS|IS|USE|EVEN|CAUSAL|BIAS|VARLEN|REVERSE|MASK|BLOCKED|TRANSPOSED|PACKED)(_|$)", re.I)
DTYPE = re.compile(r"dtype|_type$|_ty$|^type|precision_t", re.I)


def guess_constexpr(kernel, name, attempt):
    if indexed(kernel, name):
        return "(" + f"{min(attempt['size'], 16)}, " * 4 + ")"
    if names_in_keyword(kernel, name, "eviction_policy", "cache_modifier", "msg", "sem"):
        return "''"
    if re.match(r"(has|is|use)_|.*_is_", name, re.I):
        return attempt["flags"]
    if re.search(r"eviction|cache_mod|policy", name, re.I):
        return "''"
    if re.search(r"dtype_(min|max)$|_(min|max)$|eps$", name, re.I):
        return 448.0
    if re.search(r"^msg$", name, re.I):
        return "'message'"
    if DTYPE.search(name):
        if re.search(r"fp8|float8", name, re.I):
            return "tl.float8e4nv"
        return {"f32": "tl.float32", "f16": "tl.float16", "bf16": "tl.bfloat16", "f64": "tl.float64"}.get(attempt["float"], "tl.int32")
    if re.search(r"input_precision|PRECISION|dot_prec", name):
        return "'ieee'"
    if re.search(r"activation|^act(_|$)|^ACT(_|$|IV)", name):
        return "''"
    if FLAG.search(name):
        return attempt["flags"]
    if re.search(r"^(num_?)?(warps|stages|ctas)|STAGES|WARPS", name, re.I):
        return 4
    if re.search(r"GROUP_(SIZE_)?M|GROUP_SIZE$|SPLIT|NUM_SM|REPEAT|UNROLL|group_m", name):
        return 8
    if re.search(r"LOG2?_|_LOG2?|SHIFT|DEPTH", name, re.I):
        return 3
    if re.search(r"axis|^dim$|^dim_?\d$|AXIS", name):
        return 0
    if re.search(r"bits$|nbits|^BITS", name, re.I):
        return 4
    return attempt["size"]


@functools.cache
def compared(kernel, name, depth=0):
    """Literals that a parameter is compared with, here or in a helper that gets it: the values that it is meant to take."""
    values = []
    for node in ast.walk(kernel.function):
        if isinstance(node, ast.Call) and depth < 4 and (helper := kernel.helpers.get(last(node))) not in (None, kernel):
            given = [(p.arg, a) for p, a in zip(helper.params, node.args)] + [(k.arg, k.value) for k in node.keywords]
            for param, value in given:
                if param and isinstance(value, ast.Name) and value.id == name:
                    values += compared(helper, param, depth + 1)
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id == name:
            for right in node.comparators:
                ok, value = literal(right)
                if ok and isinstance(value, (tuple, list)):
                    values += value
                elif ok and value is not None:
                    values.append(value)
    return values


@functools.cache
def names_in_keyword(kernel, name, *keywords):
    """Whether a parameter is given on as one of some keyword arguments."""
    for node in ast.walk(kernel.function):
        if isinstance(node, ast.keyword) and node.arg in keywords and isinstance(node.value, ast.Name) and node.value.id == name:
            return True
    return False


INTEGER = (ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)


@functools.cache
def integers(kernel):
    """Pointers to integers: what is loaded through one is divided, shifted, an address, or the bound of a loop."""
    loaded, found, values = {}, set(), collections.defaultdict(list)
    pointers = {p.arg for p in kernel.params}
    aliases = collections.defaultdict(set)
    for node in ast.walk(kernel.function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = node.value
            while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "to":
                value = value.func.value
            if isinstance(value, ast.Call) and last(value) == "load" and value.args:
                loaded.setdefault(node.targets[0].id, set()).update(bases(value.args[0]))
            else:
                aliases[node.targets[0].id] |= bases(node.value)
                # Arithmetic of integers stays among integers.
                if all(isinstance(n.op, (ast.Add, ast.Sub, ast.Mult, *INTEGER)) for n in ast.walk(value) if isinstance(n, ast.BinOp)):
                    if isinstance(value, ast.BinOp):
                        values[node.targets[0].id].append(value)

    def origins(name, depth=0):
        """The parameters that a pointer variable starts from."""
        if name in pointers or depth > 6:
            return {name} & pointers
        return set().union(set(), *(origins(n, depth + 1) for n in aliases[name] if n != name))

    def mark(node, depth=0):
        for name in {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}:
            for base in loaded.get(name, ()):
                found.update(origins(base))
            if depth < 3:
                for value in values[name]:
                    mark(value, depth + 1)
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and last(call) == "load" and call.args and isinstance(call.func, ast.Attribute):
                for base in bases(call.args[0]):
                    found.update(origins(base))

    for node in ast.walk(kernel.function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, INTEGER):
            if not any(isinstance(n, ast.Compare) for n in ast.walk(node)):
                mark(node.left)
                mark(node.right)
        elif isinstance(node, ast.Call) and last(node) in ("range", "arange", "cdiv"):
            for argument in node.args:
                mark(argument)
        elif isinstance(node, ast.Call) and last(node) in ("load", "store", "atomic_add") and node.args:
            mark(node.args[0])
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and bases(node.value) & pointers:
            mark(node.value)
    return found


def loads(kernel):
    """Names that a load is assigned to, with the parameters whose addresses it reads."""
    found = collections.defaultdict(set)
    for node in ast.walk(kernel.function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            if isinstance(node.value, ast.Call) and last(node.value) == "load" and node.value.args:
                found[node.targets[0].id] |= bases(node.value.args[0])
    return found


def loaded_from(node, names):
    """The parameters that a load, or a name that holds one, reads."""
    if isinstance(node, ast.Call) and last(node) == "load" and node.args:
        return bases(node.args[0])
    return names.get(node.id, set()) if isinstance(node, ast.Name) else set()


@functools.cache
def casts(kernel):
    """Pointers by what their loads are cast to as bits: addresses where it is a pointer type, else a type of 8 or 16 bits."""
    found, names = {}, loads(kernel)
    for node in ast.walk(kernel.function):
        if not (isinstance(node, ast.Call) and last(node) in ("to", "cast") and isinstance(node.func, ast.Attribute)):
            continue
        value, given = (node.func.value, node.args) if last(node) == "to" else (node.args[0] if node.args else None, node.args[1:])
        if value is None or not given:
            continue
        bits = any(k.arg == "bitcast" and literal(k.value) == (True, True) for k in node.keywords)
        to = ast.unparse(given[0])
        kind = "i64" if "pointer_type" in to else None
        if bits and kind is None:
            width = re.search(r"float8|int8|float16|int16", to)
            kind = {"float8": "u8", "int8": "f8e4m3", "float16": "u16", "int16": "f16"}.get(width.group(0)) if width else None
        if kind:
            for name in loaded_from(value, names):
                found[name] = kind
    return found


@functools.cache
def conditions(kernel):
    """Pointers to booleans: what is loaded through one is a condition, or joined with a comparison."""
    found, names = set(), loads(kernel)
    for node in ast.walk(kernel.function):
        operands = []
        if isinstance(node, ast.BoolOp):
            operands = node.values
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            operands = [node.operand]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
            sides = [node.left, node.right]
            if any(isinstance(n, ast.Compare) for side in sides for n in ast.walk(side)):
                operands = sides
        for operand in operands:
            if isinstance(operand, ast.IfExp):
                found |= loaded_from(operand.body, names) | loaded_from(operand.orelse, names)
            found |= loaded_from(operand, names)
    return found


@functools.cache
def indexed(kernel, name):
    """Whether a parameter is a tuple: subscripted by an integer, or asked for its length."""
    for node in ast.walk(kernel.function):
        if isinstance(node, ast.Call) and last(node) == "len" and any(isinstance(a, ast.Name) and a.id == name for a in node.args):
            return True
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            if isinstance(node.slice, (ast.Constant, ast.Name)) and not (isinstance(node.slice, ast.Constant) and node.slice.value is None):
                return True
    return False


@functools.cache
def unit_stride(kernel, name):
    """Whether a parameter is the last stride of a descriptor, which must be 1."""
    for node in ast.walk(kernel.function):
        if isinstance(node, ast.Call) and last(node) in ("make_tensor_descriptor", "_experimental_make_tensor_descriptor"):
            strides = [k.value for k in node.keywords if k.arg == "strides"] or node.args[2:3]
            for given in strides:
                if isinstance(given, (ast.List, ast.Tuple)) and given.elts and isinstance(given.elts[-1], ast.Name):
                    return given.elts[-1].id == name
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
                args[name] = guess_constexpr(kernel, name, attempt)
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
            if casts(kernel).get(name) == "i64" or name in casts(kernel) and not attempt["plain"]:
                args[name] = "*" + casts(kernel)[name]
            elif not attempt["plain"] and (name in conditions(kernel) or re.search(r"mask|eligible|valid|flag|keep|active", name, re.I)):
                args[name] = "*bool"
            elif name in integers(kernel) and attempt["float"] in ("f64", "f32", "f16", "bf16"):
                args[name] = "*i32" if attempt["index"] == 32 else "*i64"
            elif INDEX.search(name) and not attempt["plain"]:
                args[name] = "*i32" if attempt["index"] == 32 else "*i64"
            else:
                args[name] = "*" + attempt["float"]
        elif unit_stride(kernel, name):
            args[name] = 1
        elif "float" in annotation:
            args[name] = "f32"
        elif re.search(r"int64", annotation):
            args[name] = "i64"
        elif name in kernel.defaults and attempt["defaults"]:
            continue
        elif FLOAT.search(name) and attempt["scalars"] and not re.search(r"^(M|N|K)|stride|size|num|len|dim|count|rows|cols", name) and "int" not in annotation:
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
        ("f64", True, 64, 32, True, False, True),
        ("bf16", False, 256, 64, True, False, True),
    ]
]
