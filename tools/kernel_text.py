"""The text of a kernel and of everything that it calls, as one file that stands alone.

A kernel's names mean what they mean in the running program: a helper may come from another module, a constant from the
environment, a function from a choice made at import. So the text is put together from the functions as they are: each
is copied as it was written, and the names that it reads are defined above it with the values that they have.
Where two modules use one name for different things, the second is renamed where it is read.

Not copied: classes and other objects that are no number, text, type, function or module; they are listed in a comment, and
whoever reads the file complains if they matter.
"""

import ast
import inspect
import re
import textwrap
import types

HEAD = "import triton\nimport triton.language as tl\n"


def unwrapped(kernel):
    """The jitted function inside of autotuners, heuristics and other wrappers, or None."""
    for _ in range(8):
        kind = type(kernel).__name__
        if kind in ("JITFunction", "InterpretedFunction", "ConstexprFunction", "ConstexprFunctionInterpreted"):
            return kernel
        inner = getattr(kernel, "__dict__", {}).get("fn", getattr(kernel, "jit_function", None))
        if inner is None or inner is kernel:
            return None
        kernel = inner
    return None


def source(owner, fn):
    """A function from its `def` on, without decorators and without indentation; as its owner holds it, where it does."""
    text = getattr(owner, "src", None)
    if not isinstance(text, str):
        text = textwrap.dedent(inspect.getsource(fn))
        text = text[re.search(r"^def\s+\w+\s*\(", text, re.MULTILINE).start():]
    return text.rstrip() + "\n"


def place(fn):
    """Module, line."""
    return f"{fn.__module__}:{fn.__code__.co_firstlineno}"


class Text:
    """A file that grows by what its functions need."""

    def __init__(self):
        self.lines = []
        self.names = {"triton": "module triton", "tl": "module triton.language"}
        self.missing = []

    def kernel(self, jitted):
        """Adds the entry; its name in the file."""
        names = [p.name for p in getattr(jitted, "params", []) if getattr(p, "do_not_specialize", False)]
        arguments = f"(do_not_specialize={names!r})" if names else ""
        return self.function(jitted, jitted.fn, jitted.fn.__name__, f"triton.jit{arguments}")

    def text(self):
        missing = "".join(f"# not copied: {what}\n" for what in dict.fromkeys(self.missing))
        return HEAD + missing + "\n" + "\n".join(self.lines)

    # --- names -------------------------------------------------------------------------------------------------

    def free(self, wanted, identity):
        """A name of the file for a thing, and whether it has to be defined first."""
        name, number = wanted, 2
        while self.names.get(name, identity) != identity:
            name, number = f"{wanted}_{number}", number + 1
        fresh = name not in self.names
        self.names[name] = identity
        return name, fresh

    def value(self, wanted, value):
        """The name under which a value stands in the file; None where it cannot."""
        jitted = unwrapped(value)
        if jitted is not None and not (getattr(jitted.fn, "__module__", "") or "").startswith("triton.language"):
            decorator = "triton.constexpr_function" if "Constexpr" in type(jitted).__name__ else "triton.jit"
            return self.function(jitted, jitted.fn, wanted, decorator)
        if isinstance(value, types.ModuleType):
            return self.module(wanted, value.__name__)
        member = triton_member(jitted.fn if jitted is not None else value)
        if member is not None:
            module, attribute = member
            return self.define(wanted, f"{module}.{attribute}", f"from {module} import {attribute} as {{}}")
        if type(value).__name__ == "constexpr" and isinstance(value.value, types.FunctionType):
            return self.function(value, value.value, wanted, "tl.constexpr")
        text = literal(value)
        if text is None:
            return None
        return self.define(wanted, f"value {text}", f"{{}}: tl.constexpr = {text}")

    def define(self, wanted, identity, line):
        name, fresh = self.free(wanted, identity)
        if fresh:
            self.lines.append(line.replace("{}", name, 1) + "\n")
        return name

    def module(self, wanted, path):
        if not is_triton(path):
            return None
        if path.endswith(".libdevice"):
            path = "triton.language.extra.libdevice"
        parent, _, last = path.rpartition(".")
        line = f"from {parent} import {last} as {{}}" if parent else f"import {last} as {{}}"
        return self.define(wanted, f"module {path}", line)

    # --- functions ---------------------------------------------------------------------------------------------

    def function(self, owner, fn, wanted, decorator):
        """Adds a function below what it needs; its name in the file."""
        identity = f"function {place(fn)} {id(fn)}"
        known = [name for name, what in self.names.items() if what == identity]
        if known:
            return known[0]
        name, _ = self.free(wanted, identity)
        text = source(owner, fn)
        edits = self.edits(text, fn, fn.__name__, name)
        self.lines.append(f"\n# {place(fn)}\n@{decorator}\n{edited(text, edits)}\n")
        return name

    def edits(self, text, fn, own, name):
        """Names to be replaced in a function's text: (line, column, end column, new)."""
        found = []
        if own != name:
            at = re.match(r"def\s+", text).end()
            found.append((1, at, at + len(own), name))
        scope = dict(fn.__globals__)
        scope.update(inspect.getclosurevars(fn).nonlocals)
        tree = ast.parse(text).body[0]
        local = bound(tree)
        for node, chain in sorted(chains(tree), key=lambda found: (found[0].lineno, found[0].col_offset)):
            root = chain[0]
            if root in local or root not in scope:
                continue
            value, used = scope[root], 1
            while isinstance(value, types.ModuleType) and not is_triton(value.__name__) and used < len(chain):
                if not hasattr(value, chain[used]):
                    break
                value, used = getattr(value, chain[used]), used + 1
            new = self.value(chain[used - 1], value)
            if new is None:
                self.missing.append(f"{'.'.join(chain[:used])} ({type(value).__name__})")
            elif used > 1 or new != root:
                first = node
                for _ in range(len(chain) - used):
                    first = first.value
                if first.lineno == first.end_lineno:
                    found.append((first.lineno, first.col_offset, first.end_col_offset, new))
        return found


def bound(tree):
    """Names that a function assigns, its parameters among them."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
    return names


def chains(tree):
    """Every name or dotted name that is read, the longest form alone: (node, its parts)."""
    inner = set()
    for node in ast.walk(tree):
        if id(node) in inner or not isinstance(node, (ast.Attribute, ast.Name)):
            continue
        parts, at = [], node
        while isinstance(at, ast.Attribute):
            parts.append(at.attr)
            at = at.value
            inner.add(id(at))
        if isinstance(at, ast.Name) and isinstance(at.ctx, ast.Load):
            yield node, [at.id, *reversed(parts)]


def edited(text, edits):
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    for line, start, end, new in sorted(set(edits), reverse=True):
        old = lines[line - 1]
        lines[line - 1] = old[:start] + new.encode() + old[end:]
    return b"".join(lines).decode()


def is_triton(module):
    return module == "triton" or module.startswith("triton.")


def triton_member(value):
    """(module, name) of a function or type of Triton's language."""
    name, module = getattr(value, "__name__", None), getattr(value, "__module__", None)
    if not name or not module or not module.startswith("triton.language"):
        return None
    import triton.language as tl

    if ".libdevice" in module:
        return "triton.language.extra.libdevice", name
    if hasattr(tl, name):
        return "triton.language", name
    return module, name


def literal(value):
    """A value as Python writes it; None where it has no such form."""
    kind, module = type(value).__name__, type(value).__module__
    if module.startswith("triton") and kind == "constexpr":
        return literal(value.value)
    if module.startswith("triton") and kind == "dtype":
        return f"tl.{value}" if hasattr(value, "is_ptr") and not value.is_ptr() else None
    if module == "torch" and kind == "dtype":
        return {"torch.float32": "tl.float32", "torch.float16": "tl.float16", "torch.bfloat16": "tl.bfloat16"}.get(str(value))
    if isinstance(value, float):
        return repr(value) if value == value and abs(value) != float("inf") else f'float("{value}")'
    if value is None or type(value) in (bool, int, str):
        return repr(value)
    if isinstance(value, int):
        return repr(int(value))
    if type(value) in (tuple, list) or (isinstance(value, tuple) and not hasattr(value, "_fields")):
        items = [literal(item) for item in value]
        return None if None in items else "(" + "".join(f"{item}, " for item in items) + ")"
    return None
