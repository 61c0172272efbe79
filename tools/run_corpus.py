"""What the checks, warnings among them, say of public kernels that are run on drawn inputs.

    python tools/run_corpus.py --decompose target/release/decompose REPORT FOLDER... [--codes A021,A022] [--out FILE]

REPORT is one of tools/lower_corpus.py over the same FOLDERS: each kernel that lowers there is launched with the types of
arguments it lowered with, on buffers of drawn numbers, with strides and sizes by the names of its integers (tools/
drawn_runs.py has them). Faults are looked past, as such a launch is out of bounds where its sizes do not fit together;
what the warnings say is listed with its line, to be read by a person. After a fault a warning says little of the kernel (it
may have read what no caller would give it), so they are told apart.
"""

import argparse
import collections
import json
import pathlib
import re

from drawn_runs import ELEMENTS, ask, sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--decompose", default="decompose")
    parser.add_argument("--codes", help="only these, by commas")
    parser.add_argument("--out", help="everything as JSON")
    options = parser.parse_args()
    roots = {pathlib.Path(folder).name: pathlib.Path(folder) for folder in options.folders}
    entries = [e for e in json.loads(pathlib.Path(options.report).read_text()) if e["library"] in roots and e["ok"] and e.get("args") is not None]
    requests = []
    for number, entry in enumerate(entries):
        run = {"elements": ELEMENTS, "scalars": sizes(entry["args"]), "warnings": True}
        file = str(roots[entry["library"]] / entry["file"])
        requests.append({"id": number, "file": file, "entry": entry["kernel"], "args": entry["args"], "run": run})
    answers = ask(options.decompose, requests)
    ended, faults, listed = collections.Counter(), collections.Counter(), []
    found = {True: collections.Counter(), False: collections.Counter()}
    for number, entry in enumerate(entries):
        answer = answers[number]
        run = answer.get("run")
        if run is None:
            ended["not run"] += 1
            continue
        ended["ended" if run["ended"] else "not ended"] += 1
        if run["fault"]:
            faults[run["fault"]["code"]] += 1
        for code in {finding["code"] for finding in run["findings"]}:
            found[run["fault"] is None][code] += 1
        for finding in run["findings"]:
            listed.append({"library": entry["library"], "kernel": entry["kernel"], "of": entry["file"],
                           "after": run["fault"] and run["fault"]["code"], **finding})
    print(f"{len(entries)} kernels:", ", ".join(f"{n} {what}" for what, n in ended.most_common()))
    print("faults that were looked past:", ", ".join(f"{n} {code}" for code, n in sorted(faults.items())))
    for clean, of in ((True, "without a fault"), (False, "after a fault")):
        print(f"kernels with a warning, {of}:", ", ".join(f"{n} {code}" for code, n in sorted(found[clean].items())))
    wanted = options.codes.split(",") if options.codes else None
    for finding in sorted(listed, key=lambda f: (f["code"], f["after"] or "", f["library"], f["of"])):
        if wanted is None or finding["code"] in wanted:
            place = f"{pathlib.Path(finding['file'] or '').name}:{finding['line']}"
            print(f"{finding['code']} {finding['after'] or '':4} {finding['library']:14} {finding['kernel'][:48]:48} {place:40} {re.sub(r' +', ' ', finding['message'])[:120]}")
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(listed, indent=1))


if __name__ == "__main__":
    main()
