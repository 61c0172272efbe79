"""Whether Triton's compiler agrees on what is a kernel: those of a report of tools/lower_corpus.py, compiled by it.

    pip install triton numpy
    python tools/lower_with_triton.py REPORT FOLDER... [--sample N] [--seed S] [--out FILE]

The report says of each kernel of the FOLDERs with which types of arguments it lowers, or with which it is refused. The
kernel's module is imported (whatever else it imports that is not installed, torch first, is replaced by objects that
answer everything), and the same function with the same types goes through Triton's front end and its first passes, for
a CUDA target of compute capability 9.0; no GPU is needed. Printed are the kernels on which the two disagree:

    only ours      Triton refuses it: a kernel of another version of Triton, or a fault of ours
    only Triton's  we refuse it

and how many could not be asked, because their module or the kernel's Python object cannot be had this way. A time limit
of a minute a kernel applies; modules run their Python, so this belongs into a container.

What it does not catch: whether the two IRs mean the same (tools/compare_ir.py does, over our own test kernels).
"""

import argparse
import collections
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import pathlib
import random
import re
import signal
import sys
import tempfile
import types
from unittest import mock

from triton.runtime.jit import JITFunction
from triton_ir import after_the_stage, source_ir, specialised


class Answer(mock.MagicMock):
    """Stands for a module or an object that is not installed."""

    __path__ = []
    __version__ = "2.9.0"
    __all__ = []

    def __call__(self, *args, **kwargs):
        # A decorator that is not there leaves what it decorates.
        if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type, JITFunction)):
            return args[0]
        return super().__call__(*args, **kwargs)


class Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module that nothing else finds."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "triton":
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = Answer(name=spec.name)
        module.__spec__, module.__name__, module.__file__ = spec, spec.name, ""
        return module

    def exec_module(self, module):
        pass


class Forgiving(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the libraries' own modules, and keeps what they define before they fail."""

    def __init__(self, roots):
        self.roots, self.loaders = [str(root) for root in roots], {}

    def find_spec(self, name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None or not any((spec.origin or "").startswith(root) for root in self.roots):
            return None
        self.loaders[name], spec.loader = spec.loader, self
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        try:
            self.loaders[module.__name__].exec_module(module)
        except BaseException as error:
            module.failed = error
        if not hasattr(module, "__getattr__"):
            module.__getattr__ = lambda name: self.absent(module, name)

    def absent(self, module, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Answer(name=f"{module.__name__}.{name}")


class Late(Exception):
    pass


stopped = []


def enough(*_):
    """Asked to end, the script says what it has found so far."""
    stopped.append(True)


def late(*_):
    raise Late("no answer within the time limit")


def module_name(root, file):
    """The dotted name of a file, from the folder that holds its outermost package."""
    path = root / file
    folder = path.parent
    while (folder / "__init__.py").exists() and folder != root.parent:
        folder = folder.parent
    # Packages without __init__.py are found from the library's folder.
    for base in (folder, root):
        if str(base) not in sys.path:
            sys.path.insert(0, str(base))
    parts = list(path.relative_to(folder).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def function_of(root, file, name):
    module = importlib.import_module(module_name(root, file))
    found = vars(module).get(name)
    if found is None:
        raise getattr(module, "failed", AttributeError(f"no {name}"))
    while not isinstance(found, JITFunction):
        found = found.fn
    return found


def compile_it(function, args):
    text = source_ir(specialised(None, function, args))
    with tempfile.TemporaryDirectory() as folder:
        after_the_stage(text, pathlib.Path(folder))


def apart(root, entry):
    """How far a kernel comes and what stops it there, in a process of its own: imports and the compiler may end theirs."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        stage, told = "import", ""
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.alarm(60)
            function = function_of(root, entry["file"], entry["kernel"])
            os.write(writer, b"had ")
            stage = "compile"
            compile_it(function, entry["args"])
        except BaseException as error:
            told = construct(error) or type(error).__name__
        os.write(writer, f"{stage} {told}".encode()[:4000])
        os._exit(0)
    os.close(writer)
    told = b""
    while piece := os.read(reader, 4096):
        told += piece
    os.close(reader)
    os.waitpid(child, 0)
    told = told.decode(errors="replace")
    if told in ("", "had "):
        return "import" if not told else "compile", "it ends its process"
    stage, _, why = told.removeprefix("had ").partition(" ")
    return stage, why or None


def construct(error):
    lines = [line for line in str(error).strip().splitlines() if line.strip(" ^")]
    text = (lines[-1].strip() if lines else "") or type(error).__name__
    if type(error).__name__ == "CompilationError" and error.__cause__ is not None:
        text = str(error.__cause__).strip().splitlines()[-1].strip() if str(error.__cause__).strip() else text
    return re.sub(r"\d+", "N", text)[:150]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out")
    options = parser.parse_args()
    roots = {pathlib.Path(folder).name: pathlib.Path(folder).resolve() for folder in options.folders}
    entries = [e for e in json.loads(pathlib.Path(options.report).read_text()) if e["library"] in roots and "args" in e]
    random.Random(options.seed).shuffle(entries)
    sys.meta_path.insert(0, Forgiving(roots.values()))
    sys.meta_path.append(Missing())
    signal.signal(signal.SIGALRM, late)
    count, told, disagreements = collections.Counter(), [], []
    signal.signal(signal.SIGTERM, enough)
    for entry in entries:
        if stopped or count["asked"] == options.sample:
            break
        root = roots[entry["library"]]
        stage, theirs = apart(root, entry)
        if stage == "import":
            count["not to be had"] += 1
            told.append(f"{entry['library']}: {theirs}")
            continue
        count["asked"] += 1
        ours = None if entry["ok"] else f"{entry['code']} {entry['construct']}"
        verdict = {(True, True): "both", (False, False): "neither", (True, False): "only ours", (False, True): "only Triton's"}
        verdict = verdict[ours is None, theirs is None]
        count[verdict] += 1
        if verdict.startswith("only"):
            disagreements.append({"verdict": verdict, "why": theirs or ours, **entry})
    for key in ("asked", "both", "neither", "only ours", "only Triton's", "not to be had"):
        print(f"{key:15} {count[key]:6}")
    print()
    why = collections.Counter((d["verdict"], d["why"]) for d in disagreements)
    for (verdict, text), n in why.most_common():
        print(f"{n:4}  {verdict:14} {text}")
    for text, n in collections.Counter(told).most_common(5):
        print(f"{n:4}  not to be had  {text}")
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(disagreements, indent=1))


if __name__ == "__main__":
    main()
