"""Asks `decompose emulate --lower-batch` to run kernels on drawn inputs: what tools/compare_doors.py and tools/run_corpus.py share."""

import json
import re
import subprocess

# What a public kernel's integers are: strides as wide as a block is, all others so that the last block is cut.
STRIDE, SIZE, ELEMENTS = 64, 50, 1 << 16


def sizes(args):
    """Integers by their names."""
    integers = [name for name, text in args.items() if isinstance(text, str) and text in ("i32", "i64", "u32", "u64")]
    return {name: STRIDE if re.search("stride|_s[a-z]?$|^s[a-z]+$|ld[abc]", name, re.I) else SIZE for name in integers}


def ask(binary, requests):
    """Answers by number; a process that ends loses its request alone."""
    answers, rest = {}, list(requests)
    while rest:
        lines = "".join(json.dumps(request) + "\n" for request in rest)
        done = subprocess.run([binary, "emulate", "--lower-batch"], input=lines, capture_output=True, text=True, check=False)
        told = [json.loads(line) for line in done.stdout.splitlines()]
        answers.update((answer["id"], answer) for answer in told)
        if len(told) == len(rest):
            break
        answers[rest[len(told)]["id"]] = {"ok": False, "code": "X", "message": f"the process ends: {done.stderr[-200:]}"}
        rest = rest[len(told) + 1 :]
    return answers
