"""The `@triton.jit` kernels of installed libraries, read as text: what tools/lower_corpus.py asks about."""

import ast
import pathlib

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
        self.helpers = {}
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
