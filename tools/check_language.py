"""Whether Triton's own interpreter gives the values that tests/emulate/language says kernels give.

    pip install triton numpy ml_dtypes
    python tools/check_language.py [NAME ...]

Every file there says by `# buffer:`, `# launch:` and `# value:` what a launch leaves in memory; our emulator is held to
it by the tests of `emulate`. Here the same text runs under TRITON_INTERPRET=1, which shares nothing with us. What the
interpreter does not have stands in APART. No GPU is needed; torch is not used.
"""

import importlib.util
import os
import pathlib
import sys

os.environ["TRITON_INTERPRET"] = "1"

import ml_dtypes
import numpy as np

from interpreter_array import Array

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "emulate" / "language"
# Files that the interpreter cannot run, and why.
APART = {
    "assembly": "inline PTX",
    "device": "functions of NVIDIA GPUs",
    "block_pointers": "block pointers are gone since 3.8",
    "libraries": "libdevice",
    "narrow_floats": "8-bit floats of another device",
    "older": "names of former versions",
}
DTYPES = {
    "f64": (np.float64, "fp64"), "f32": (np.float32, "fp32"), "f16": (np.float16, "fp16"),
    "bf16": (ml_dtypes.bfloat16, "bf16"), "f8e5m2": (ml_dtypes.float8_e5m2, "fp8e5"),
    "f8e4m3": (ml_dtypes.float8_e4m3fn, "fp8e4nv"), "i64": (np.int64, "i64"), "i32": (np.int32, "i32"),
    "i16": (np.int16, "i16"), "i8": (np.int8, "i8"), "u64": (np.uint64, "u64"), "u32": (np.uint32, "u32"),
    "u16": (np.uint16, "u16"), "u8": (np.uint8, "u8"), "bool": (np.bool_, "i1"),
}


def lines(text, key):
    return [line[len(key) + 4 :].split() for line in text.splitlines() if line.startswith(f"# {key}: ")]


def number(word):
    try:
        return int(word)
    except ValueError:
        return float(word)


def run(path):
    """What is wrong with a file's values, by the interpreter."""
    text = path.read_text()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    [entry, *types] = lines(text, "compile")[0]
    kernel = getattr(module, entry)
    buffers = {}
    for name, kind, fill in lines(text, "buffer"):
        dtype, size = kind.rstrip("]").split("[")
        array = np.zeros(int(size), DTYPES[dtype][0])
        if fill == "iota":
            array[:] = np.arange(int(size)).astype(array.dtype)
        elif fill not in ("zeros", "empty"):
            array[:] = number(fill)
        buffers[name] = Array(array, DTYPES[dtype][1])
    [grid, *given] = lines(text, "launch")[0]
    grid = tuple(int(n) for n in grid.split(","))
    given = [buffers[word] if word in buffers else number(word) for word in given]
    constants = {}
    names = [word.split("=", 1) for word in types]
    for name, value in names:
        if not (value.startswith("*") or value in ("i32", "i64", "f32")):
            constants[name] = eval(value, {})
    kernel[grid](**dict(zip([n for n, _ in names if n not in constants], given)), **constants)
    wrong = []
    for name, *words in lines(text, "value"):
        want = [float(v) for word in words for v in [word.split("*")[0]] * int((word.split("*") + ["1"])[1])]
        got = buffers[name].array.astype(np.float64).tolist()
        if want != got:
            wrong.append(f"{name}: {' '.join(f'{v:g}' for v in got)}")
    return wrong


def main():
    sys.path.insert(0, str(FOLDER))
    failed = 0
    for path in sorted(FOLDER.glob("*.py")):
        if sys.argv[1:] and path.stem not in sys.argv[1:]:
            continue
        if path.stem in APART:
            print(f"{path.stem:24} not run: {APART[path.stem]}")
            continue
        try:
            wrong = run(path)
        except Exception as error:
            wrong = [f"{type(error).__name__}: {error}"]
        failed += bool(wrong)
        print(f"{path.stem:24} {'; '.join(wrong) or 'equal'}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
