"""Exports a KernelBench-format task, or any module, as a pair of files that `decompose task` reads.

    python export_task.py TASK.py [-o OUT.pt2] [--reduce N]
    python export_task.py FILE.py:Class --shape 1x3x224x224 [--shape …] [--init '[64, 0.5]'] [--eval]

Needs torch. Writes OUT.pt2, an archive of torch.export with the weights, and OUT.json beside it: the task's text, what
`__init__` was called with, the parameters in the order of their creation, and the shapes of inputs and outputs. Both appear
whole or not at all. Tasks run as they are: parameters after `torch.manual_seed(0)`, in training mode (`--eval` changes
that), inputs as shapes alone, so that no memory is needed for them.

`--reduce N` lowers every integer above N among the task's module-level assignments, for a verification at small shapes: to
unequal odd numbers where the task can be exported with these, else to unequal multiples of 8, else all to N (odd ones to
N - 1). Integers that were equal stay equal.

Exit status: 0, or 2 with one line on stderr that says what is wrong with the task.
"""

import argparse
import ast
import contextlib
import hashlib
import importlib.util
import inspect
import io
import json
import logging
import math
import os
import pathlib
import sys
import warnings

FORMAT, VERSION = "decompose-task", 2


class Refused(Exception):
    """What is wrong with the task, for its author."""


def reductions(text, most):
    """The text with smaller integers among its module-level assignments, in three ways, the most telling one first."""

    def constants(tree):
        assigned = (statement.value for statement in tree.body if isinstance(statement, ast.Assign))
        nodes = (node for value in assigned for node in ast.walk(value) if isinstance(node, ast.Constant))
        return [node for node in nodes if isinstance(node.value, int) and node.value > most]

    large = sorted({node.value for node in constants(ast.parse(text))}, reverse=True)
    odd = most - (most % 2 == 0)
    even = most - most % 8
    ways = [
        {value: odd - 2 * place for place, value in enumerate(large)},
        {value: even - 8 * place for place, value in enumerate(large)},
        {value: most if value % 2 == 0 else most - 1 for value in large},
    ]
    for at, way in enumerate(ways):
        if at == 2 or way and min(way.values()) > most // 2:
            tree = ast.parse(text)
            for node in constants(tree):
                node.value = way[node.value]
            yield ast.unparse(tree) + "\n"


def load(path, text):
    """The module of a task's text. Runs the task's own code."""
    try:
        code = compile(text, str(path), "exec")
    except SyntaxError as error:
        raise Refused(f"{path}:{error.lineno}: syntax error: {error.msg}") from None
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("task", loader=None))
    module.__file__ = str(path)
    sys.modules["task"] = module
    sys.path.insert(0, str(path.parent))
    try:
        exec(code, module.__dict__)
    except (Exception, SystemExit) as error:
        raise Refused(f"{path}: {type(error).__name__} while it is loaded: {error}") from None
    return module


def call(path, what, function, *args, **keywords):
    """A call of the task's code, whose failure is the task's."""
    try:
        return function(*args, **keywords)
    except (Exception, SystemExit) as error:
        raise Refused(f"{path}: {what} fails: {type(error).__name__}: {first_line(error)}") from None


def first_line(error):
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")


def plain(value):
    """An argument of `__init__` as JSON; a tuple is {"tuple": […]}, a type that JSON lacks {"opaque": name}."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, tuple):
        return {"tuple": [plain(item) for item in value]}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {"opaque": type(value).__name__}


def described(name, tensor):
    entry = {"name": name, "shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}
    return entry if tensor.is_contiguous() else entry | {"strides": list(tensor.stride())}


def function_text(text, *names):
    """The text of a function, or of a method; None where the task has none."""
    body = ast.parse(text).body
    for name in names:
        found = next((s for s in body if isinstance(s, (ast.ClassDef, ast.FunctionDef)) and s.name == name), None)
        if found is None:
            return None
        body = found.body
    return ast.get_source_segment(text, found)


@contextlib.contextmanager
def registrations(module_class, created):
    """Lists every tensor that becomes a parameter or a buffer of a module, in order of time."""
    original = module_class.register_parameter, module_class.register_buffer

    def register_parameter(self, name, param):
        original[0](self, name, param)
        created.append(param)

    def register_buffer(self, name, tensor, persistent=True):
        original[1](self, name, tensor, persistent)
        created.append(tensor)

    module_class.register_parameter, module_class.register_buffer = register_parameter, register_buffer
    try:
        yield
    finally:
        module_class.register_parameter, module_class.register_buffer = original


def in_order(model, created):
    """Parameters and buffers as they were created, those that were put in place otherwise at the end."""
    place = {id(tensor): at for at, tensor in reversed(list(enumerate(created)))}
    found = [
        (place.get(id(tensor), len(created)), described(key, tensor) | {"kind": kind})
        for kind, tensors in (("parameter", model.named_parameters()), ("buffer", model.named_buffers()))
        for key, tensor in tensors
    ]
    return [entry for _, entry in sorted(found, key=lambda pair: pair[0])]


def shapes_of(path, torch, module, shapes):
    """Example inputs without elements: from `--shape`, or what `get_inputs` would make."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode()
    if shapes:
        with mode:
            return tuple(torch.empty(shape) for shape in shapes)
    if not hasattr(module, "get_inputs"):
        raise Refused(f"{path}: no function get_inputs; name the class and its shapes: FILE.py:Class --shape 1x3x8x8")
    try:
        with torch.device("meta"):
            made = module.get_inputs()
        if any(torch.is_tensor(item) and item.device.type != "meta" for item in made):
            raise NotImplementedError
    except Exception:
        made = call(path, "get_inputs()", module.get_inputs)
    with mode:
        empty = lambda item: torch.empty_strided(item.shape, item.stride(), dtype=item.dtype)
        return tuple(empty(item) if torch.is_tensor(item) else item for item in made)


def export(torch, path, text, name, options):
    """The model of a text, its program, what it was made with, and the parameters and inputs of forward."""
    module = load(path, text)
    model_class = getattr(module, name, None)
    if not (isinstance(model_class, type) and issubclass(model_class, torch.nn.Module)):
        raise Refused(f"{path}: no class {name} that is a torch.nn.Module")
    if options.init is not None:
        given = json.loads(options.init)
    elif hasattr(module, "get_init_inputs"):
        given = call(path, "get_init_inputs()", module.get_init_inputs)
    else:
        given = []
    args, keywords = ((), dict(given)) if isinstance(given, dict) else (tuple(given), {})
    # KernelBench also knows [args, {keywords}].
    if len(args) == 2 and isinstance(args[0], list) and isinstance(args[1], dict):
        args, keywords = tuple(args[0]), args[1]

    torch.manual_seed(0)
    created = []
    with registrations(torch.nn.Module, created):
        model = call(path, f"{name}(…)", model_class, *args, **keywords)
    model.train(not options.eval)
    inputs = shapes_of(path, torch, module, options.shape)
    taken = [p for p in inspect.signature(model.forward).parameters.values()]
    if any(p.kind not in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY) for p in taken):
        raise Refused(f"{path}: forward takes *args, **kwargs or keyword-only arguments, which no ModelNew can be written for")
    if len(inputs) > len(taken):
        raise Refused(f"{path}: {len(inputs)} inputs for a forward of {len(taken)} parameters")
    try:
        # What torch has to say of a failure is in the exception, too.
        logging.disable(logging.CRITICAL)
        with warnings.catch_warnings(), torch.no_grad(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            program = torch.export.export(model, inputs, strict=False)
    except (Exception, SystemExit) as error:
        kind = type(error).__name__
        data = "data-dependent control flow: " if "data-dependent" in str(error).lower() or "GuardOnDataDependent" in kind else ""
        raise Refused(f"{path}: torch.export refuses it: {data}{kind}: {first_line(error)}") from None
    return in_order(model, created), program, args, keywords, taken, inputs


def run(options):
    source, _, name = options.task.partition(":") if not os.path.exists(options.task) else (options.task, "", "")
    path, name = pathlib.Path(source), name or "Model"
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path}: {error}") from None
    digest = hashlib.sha256(text.encode()).hexdigest()
    try:
        import torch
    except ImportError as error:
        raise Refused(f"torch cannot be imported ({error}): pip install torch") from None

    # Before the task's code may change the folder.
    output = (options.output or path.with_suffix(".pt2")).absolute()
    texts = [text]
    if options.reduce is not None:
        try:
            texts = list(reductions(text, options.reduce))
        except SyntaxError as error:
            raise Refused(f"{path}:{error.lineno}: syntax error: {error.msg}") from None
    for text in texts:
        try:
            exported = export(torch, path, text, name, options)
            break
        except Refused:
            if text is texts[-1]:
                raise
    parameters, program, args, keywords, taken, inputs = exported

    example = program.graph_module.graph.output_node().args[0]
    returned = [node.meta["val"] for node in example][-len(program.graph_signature.user_outputs) :]
    document = {
        "format": FORMAT,
        "version": VERSION,
        "torch": torch.__version__,
        "file": path.name,
        "sha256": digest,
        "reduced": options.reduce,
        "class": name,
        "source": text,
        "init": {
            "source": function_text(text, name, "__init__"),
            "args": [plain(value) for value in args],
            "keywords": {key: plain(value) for key, value in keywords.items()},
        },
        "training": not options.eval,
        "parameters": parameters,
        "inputs": [
            described(p.name, value) if torch.is_tensor(value) else {"name": p.name, "value": plain(value)}
            for p, value in zip(taken, inputs)
        ],
        "recipe": function_text(text, "get_inputs"),
        "outputs": [described(f"output.{i}", value) for i, value in enumerate(returned)],
    }

    def save(file):
        torch.export.save(program, file)
        sha256 = hashlib.sha256()
        with open(file, "rb") as archive:
            for part in iter(lambda: archive.read(1 << 20), b""):
                sha256.update(part)
        document["archive"] = sha256.hexdigest()

    write(output, save)
    write(output.with_suffix(".json"), lambda file: pathlib.Path(file).write_text(json.dumps(document, indent=1) + "\n"))
    return options.output or path.with_suffix(".pt2")


def write(path, save):
    """Writes a file whole or not at all."""
    new = path.with_name(f".{path.stem}.new-{os.getpid()}{path.suffix}")
    try:
        save(new)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def shape(text):
    try:
        return tuple(int(size) for size in text.split("x")) if text else ()
    except ValueError:
        raise argparse.ArgumentTypeError(f"`{text}` is no shape such as 1x3x224x224") from None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", metavar="TASK.py|FILE.py:Class")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="the archive to write; the .json lies beside it")
    parser.add_argument("--shape", type=shape, action="append", default=[], help="an input's shape, float32")
    parser.add_argument("--init", metavar="JSON", help="arguments of __init__: a list, or an object of keywords")
    parser.add_argument("--eval", action="store_true", help="export in evaluation mode")
    parser.add_argument("--reduce", type=int, metavar="N", help="lower module-level integers above N")
    try:
        print(run(parser.parse_args()))
    except (Refused, OSError, json.JSONDecodeError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
