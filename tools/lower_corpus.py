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
import collections
import json
import pathlib
import re
import subprocess
import sys

from corpus import entries, read
from guess_arguments import ATTEMPTS, specification


def ask(binary, requests):
    lines = "".join(json.dumps(r) + "\n" for r in requests)
    done = subprocess.run([binary, "emulate", "--lower-batch"], input=lines, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(requests):
        sys.exit(f"{len(requests)} requests, {len(answers)} answers: {done.stderr[-2000:]}")
    return answers


def place(kernel):
    return (kernel.library, str(kernel.path.relative_to(kernel.root)), kernel.name)


def construct(message):
    """A message without what differs from kernel to kernel."""
    return re.sub(r"\d+", "N", re.sub(r"`[^`]*[(\n][^`]*`", "`…`", message))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--decompose", default="decompose")
    parser.add_argument("--out")
    parser.add_argument("--again", help="a report: only the kernels that failed there are asked for again")
    parser.add_argument("--emulator", action="store_true", help="also ask whether the emulator runs what lowers")
    parser.add_argument("--show", type=int, default=40, help="constructs to list")
    parser.add_argument("folders", nargs="+")
    options = parser.parse_args()
    chosen, helpers_of = [], {}
    for folder in options.folders:
        kernels = list(read(folder))
        helpers_of[pathlib.Path(folder).name] = {k.name: k for k in kernels}
        for kernel in kernels:
            kernel.helpers = helpers_of[kernel.library]
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
        known = {(e["library"], e["file"], e["kernel"]): e["args"] for e in before if e["ok"]}
        lowered_with.update((id(k), known[place(k)]) for k in waiting if place(k) in known)
        waiting = [k for k in waiting if place(k) in failed]
    for attempt in ATTEMPTS:
        requests = [
            {"file": str(k.path), "entry": k.name, "args": specification(k, helpers_of[k.library], memo, attempt), "program": options.emulator}
            for k in waiting
        ]
        answers = ask(options.decompose, requests)
        still = []
        for kernel, request, answer in zip(waiting, requests, answers):
            if answer["ok"]:
                failures.pop(id(kernel), None)
                lowered_with[id(kernel)] = request["args"]
                if answer.get("program", True) is not True:
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
            entry["args"] = lowered_with.get(id(kernel))
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
    if options.emulator:
        print(f"\nlowered, and not run by the emulator: {sum(cannot.values())}")
    for (code, text), n in cannot.most_common(options.show):
        print(f"{n:4}  {code}  {text}")
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
