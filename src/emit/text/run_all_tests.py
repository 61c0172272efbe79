"""Runs the test of every kernel in kernels/, found by name.

On a GPU as it is; without one, set TRITON_INTERPRET=1.
"""

import importlib
import pathlib
import sys
import time
import traceback

import torch


def main():
    root = pathlib.Path(__file__).resolve().parent
    sys.path.insert(0, str(root))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    names = sorted(path.stem for path in (root / "kernels").glob("*__*.py"))
    failed = []
    for name in names:
        start = time.perf_counter()
        try:
            importlib.import_module(f"kernels.{name}").test(device)
        except Exception:
            traceback.print_exc()
            failed.append(name)
        verdict = "FAILED" if name in failed else "ok"
        print(f"{verdict:6} {time.perf_counter() - start:7.2f} s  {name}", flush=True)
    print(f"{len(names) - len(failed)} of {len(names)} kernels passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
