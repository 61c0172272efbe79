"""Compares the numpy text of the generated-number laws with numbers blessed from Rust.

    python tools/check_rng.py

Reads src/rng/seeded_numpy.py and tests/rng/blessed.txt (written by `cargo test rng::` under
UPDATE_EXPECT=1). Needs numpy.
"""

import ast
import math
import pathlib
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    scope = {"numpy": numpy, "math": math}
    exec((ROOT / "src/rng/seeded_numpy.py").read_text(), scope)
    wrong = 0
    lines = (ROOT / "tests/rng/blessed.txt").read_text().splitlines()
    for line in lines:
        call, values = line.split(" = ")
        got = [float(v) for v in eval(call, scope).reshape(-1)]
        if got != ast.literal_eval(values):
            wrong += 1
            print(f"differs: {call}\n  numpy {got}\n  Rust  {values}")
    print(f"{len(lines) - wrong} of {len(lines)} laws agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
