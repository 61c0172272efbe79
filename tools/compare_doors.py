"""Whether kernels leave the same bits through both doors: lowered from Python here, and from Triton's own IR.

    pip install triton==3.9.0 numpy    # any of 3.2 to 3.9
    python tools/compare_doors.py --decompose target/release/decompose tests
    python tools/compare_doors.py --decompose target/release/decompose templates
    python tools/compare_doors.py --decompose target/release/decompose corpus REPORT FOLDER... [--sample N]

`tests` are the kernels of tests/kernel/lower and tests/emulate/language, `templates` every operator template at the
shapes of tools/check_templates.py, in fp32, fp16 and bf16, direct and looped; `corpus` are the kernels of a report of
tools/lower_corpus.py with the types of arguments that lowered there (see tools/lower_with_triton.py on how their modules
are imported). For each Triton's front end makes its IR, with and without the passes of its ttir stage (`--stage`), and
`decompose emulate --lower-batch` runs that and its own lowering on the same drawn inputs:

    same       equal bits in every buffer
    same fault both find a fault of the same code first; looked past, equal bits
    endless    neither ends within its fuel or memory
    differ     said in what
    not read   Triton's IR has something that ours lacks
    refused    by Triton, by us, or by both

No GPU is needed. Modules run their Python, so this belongs into a container.
"""

import argparse
import collections
import contextlib
import io
import json
import os
import pathlib
import random
import signal
import sys
import tempfile

import triton
from drawn_runs import ELEMENTS, ask, sizes
from triton_ir import after_the_stage, load, source_ir, specialised

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Case:
    """A kernel with its arguments, as texts, and how it is run."""

    def __init__(self, group, file, entry, args, run, function):
        self.group, self.file, self.entry, self.args, self.run, self.function = group, file, entry, args, run, function

    def name(self):
        return f"{self.group}: {self.file.name} {self.entry}"


def of_tests():
    for folder in ("tests/kernel/lower", "tests/emulate/language"):
        for path in sorted((ROOT / folder).glob("*.py")):
            for line in path.read_text().splitlines():
                if line.startswith("# compile: "):
                    entry, *words = line.removeprefix("# compile: ").split()
                    args = dict(word.split("=", 1) for word in words)
                    ours = {name: for_us(text) for name, text in args.items()}
                    yield Case(path.stem, path, entry, args, {}, lambda path=path, entry=entry: of_file(path, entry)), ours


def for_us(text):
    """What tests write, as `--lower-batch` reads it."""
    if text.startswith("dtype:"):
        return {"f32": "tl.float32", "f16": "tl.float16", "bf16": "tl.bfloat16", "f64": "tl.float64"}.get(text[6:], "tl.int32")
    if text.startswith("desc:"):
        _, dtype, block = text.split(":")
        return f"tensordesc<{dtype}[{block.replace('x', ', ')}]>"
    return text.replace(";", ",") if text.startswith("[") else text


def of_file(path, entry):
    module = load(path)
    return module, getattr(module, entry)


def of_templates():
    import check_templates

    for template in check_templates.TEMPLATES:
        path = ROOT / "operator_templates" / template.__name__ / "kernel.py"
        for name, given, constexprs, work, _want in template():
            for entry in (name, name + "_loop"):
                for dtype in ("f32", "f16", "bf16"):
                    arrays = {k: v for k, v in given.items() if hasattr(v, "dtype")}
                    types = {"float32": f"*{dtype}", "int64": "*i64"}
                    args = {k: types[v.dtype.name] for k, v in arrays.items()}
                    scalars = {k: int(v) for k, v in given.items() if k not in arrays}
                    if entry != name:
                        scalars["WORK"] = work
                    args |= {k: "i32" for k in scalars}
                    args |= {k: repr(v) if isinstance(v, str) else v for k, v in constexprs.items()}
                    run = {"grid": [work if entry == name else min(work, 3), 1, 1], "scalars": scalars}
                    run["lengths"] = {k: int(v.size) for k, v in arrays.items()}
                    yield Case(template.__name__, path, entry, args, run, lambda p=path, e=entry: of_file(p, e)), args


def of_corpus(report, folders, sample, seed):
    import lower_with_triton as corpus

    roots = {pathlib.Path(folder).name: pathlib.Path(folder).resolve() for folder in folders}
    entries = [e for e in json.loads(pathlib.Path(report).read_text()) if e["library"] in roots and e["ok"] and e.get("args") is not None]
    if sample:
        random.Random(seed).shuffle(entries)
        entries = entries[:sample]
    sys.meta_path.insert(0, corpus.Forgiving(roots.values()))
    sys.meta_path.append(corpus.Missing())
    for entry in entries:
        root = roots[entry["library"]]

        def function(root=root, entry=entry):
            return None, corpus.function_of(root, entry["file"], entry["kernel"])

        run = {"elements": ELEMENTS, "scalars": sizes(entry["args"])}
        yield Case(entry["library"], root / entry["file"], entry["kernel"], entry["args"], run, function), entry["args"]


def late(*_):
    raise TimeoutError("no answer within a minute")


def apart(case, folder, number, stages):
    """Has Triton make the IR in a process of its own; why it does not, or nothing. Modules are imported here, once."""
    signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            module, function = case.function()
    except BaseException as error:
        return f"not to be had: {str(error)[:100] or type(error).__name__}"
    finally:
        signal.alarm(0)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        told = "done"
        try:
            signal.alarm(120)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                source = specialised(module, function, case.args)
                text = source_ir(source)
                (folder / f"{number}.source.ttir").write_text(text)
                if "ttir" in stages:
                    (folder / f"{number}.stage.ttir").write_text(after_the_stage(text, folder))
        except BaseException as error:
            lines = [line for line in str(error).splitlines() if line.strip(" ^")]
            told = lines[-1].strip()[:120] if lines else type(error).__name__
        os.write(writer, told.encode()[:3000])
        os._exit(0)
    os.close(writer)
    told = b""
    while piece := os.read(reader, 4096):
        told += piece
    os.close(reader)
    os.waitpid(child, 0)
    told = told.decode(errors="replace")
    return "" if told == "done" else told or "it ends its process"


def verdict(why, answer):
    """One word, and what is said beside it."""
    if why and not answer["ok"]:
        return "refused by both", why
    if why:
        return ("not to be had" if why.startswith("not to be had") else "refused by Triton"), why
    if not answer["ok"]:
        return "refused here", f"{answer['code']} {answer['message']}"
    doors = answer["doors"]
    if doors["verdict"] == "same":
        return ("same fault", doors["fault"]) if doors["fault"] else ("same", "")
    return doors["verdict"], doors.get("how") or doors.get("limit") or f"{doors.get('code')} {doors.get('message')}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["tests", "templates", "corpus"])
    parser.add_argument("report", nargs="?")
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--decompose", default="decompose")
    parser.add_argument("--stage", choices=["source", "ttir", "both"], default="both")
    parser.add_argument("--sample", type=int, default=0, help="kernels of the corpus, drawn; all where nothing is said")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="every verdict as JSON")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for Triton's IR")
    parser.add_argument("--show", type=int, default=30)
    options = parser.parse_args()
    made = {"tests": of_tests, "templates": of_templates}.get(options.what)
    cases = list(made() if made else of_corpus(options.report, options.folders, options.sample, options.seed))
    stages = {"source": ["source"], "ttir": ["ttir"], "both": ["source", "ttir"]}[options.stage]
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        whys = [apart(case, folder, number, stages) for number, (case, _) in enumerate(cases)]
        report = []
        for stage in stages:
            requests = []
            for number, (case, args) in enumerate(cases):
                run = {**case.run, "triton": triton.__version__}
                request = {"id": number, "file": str(case.file), "entry": case.entry, "args": args, "run": run}
                if not whys[number]:
                    request["ttir"] = str(folder / f"{number}.{'stage' if stage == 'ttir' else 'source'}.ttir")
                else:
                    del request["run"]
                requests.append(request)
            answers = ask(options.decompose, requests)
            counts, told = collections.defaultdict(collections.Counter), []
            for number, (case, _) in enumerate(cases):
                word, why = verdict(whys[number], answers[number])
                counts[case.group][word] += 1
                counts["all"][word] += 1
                report.append({"stage": stage, "group": case.group, "file": str(case.file), "kernel": case.entry,
                               "number": number, "verdict": word, "why": why})
                if word in ("differ", "not read", "refused here"):
                    told.append(f"{word:10} {number:5} {case.name()}: {why}")
            words = ["same", "same fault", "endless", "differ", "not read", "refused here", "refused by Triton", "refused by both",
                     "not to be had"]
            words = [word for word in words if counts["all"][word]]
            print(f"\ntriton {triton.__version__}, {'before any pass' if stage == 'source' else 'after the ttir stage'}")
            print(f"{'':24}" + "".join(f"{word:>18}" for word in words))
            for group in (["all"] if options.what == "tests" else [*(g for g in counts if g != "all"), "all"]):
                print(f"{group:24}" + "".join(f"{counts[group][word]:18}" for word in words))
            print("\n".join(told[: options.show]))
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(report, indent=1))
    sys.exit(any(entry["verdict"] == "differ" for entry in report))


if __name__ == "__main__":
    main()
