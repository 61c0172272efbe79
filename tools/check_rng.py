"""Compares the numpy or torch text of the generated-number laws with numbers blessed from Rust.

    python tools/check_rng.py [numpy|torch]

Reads src/rng/seeded_numpy.py or src/rng/seeded_torch.py, and tests/rng/blessed.txt (written by
`cargo test rng::` under UPDATE_EXPECT=1). Needs the library that is named; numpy when none is.
"""

import ast
import importlib
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    library = sys.argv[1] if len(sys.argv) > 1 else "numpy"
    scope = {library: importlib.import_module(library), "math": math}
    exec((ROOT / f"src/rng/seeded_{library}.py").read_text(), scope)
    wrong = 0
    lines = (ROOT / "tests/rng/blessed.txt").read_text().splitlines()
    for line in lines:
        call, values = line.split(" = ")
        got = [float(v) for v in eval(call, scope).reshape(-1)]
        if got != ast.literal_eval(values):
            wrong += 1
            print(f"differs: {call}\n  {library} {got}\n  Rust {values}")
    print(f"{len(lines) - wrong} of {len(lines)} laws agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
