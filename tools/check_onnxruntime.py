"""Whether ONNX Runtime computes what our suites compute, from the same weights and inputs.

usage: pip install onnxruntime numpy && python tools/check_onnxruntime.py [--dev] MODEL.onnx...

--dev: with cargo's dev profile, for small models.

For each model a suite is written, its `run.py` is emulated with every check on, and the model file,
with the suite's weights as initializers, is run by ONNX Runtime on the same input. Prints a table
(Markdown) and fails when an output is off by more than 1e-4 of its largest value, or says nothing: a
constant output agrees with anything.

What it does not catch: what both compute from one wrong weight; the laws of generated weights are
checked by tests.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime as ort

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALLOWED = 1e-4
DEV = "--dev" in sys.argv


def ours(model, folder):
    """Writes model.onnx with the suite's weights, input_<i>.f32 and our output_<i>.f32 into the folder."""
    suite = folder / "suite"
    run, bench = (["run"], ["test"]) if DEV else (["run", "--release"], ["bench"])
    decompose = ["cargo", *run, "-q", "--", str(model), "-o", str(suite), "--verify", "none"]
    subprocess.run(decompose, cwd=ROOT, check=True, capture_output=True)
    emulate = ["cargo", *bench, "-q", "--bench", "model", "--", str(suite), str(model), str(folder)]
    subprocess.run(emulate, cwd=ROOT, check=True, capture_output=True)


def theirs(folder):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    feeds = {
        value.name: np.fromfile(folder / f"input_{i}.f32", np.float32).reshape(value.shape)
        for i, value in enumerate(session.get_inputs())
    }
    return [(value.name, output) for value, output in zip(session.get_outputs(), session.run(None, feeds))]


def compare(model):
    """A row of the table for every output, and whether all are right."""
    rows, right = [], True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ours(model, folder)
        for i, (output, expected) in enumerate(theirs(folder)):
            result = np.fromfile(folder / f"output_{i}.f32", np.float32).reshape(expected.shape)
            largest = float(np.abs(expected).max())
            off = float(np.abs(result - expected).max()) / largest
            spread = float(expected.std()) / largest
            first = "equal" if result.argmax() == expected.argmax() else "differs"
            rows.append(f"| {model.stem} | {output} | {off:.1e} | {spread:.1e} | {first} |")
            right &= off <= ALLOWED and spread > 1e-3
    return rows, right


def main():
    print("| model | output | largest difference / largest value | spread / largest value | first place |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    wrong = []
    for argument in (a for a in sys.argv[1:] if a != "--dev"):
        model = pathlib.Path(argument).resolve()
        rows, right = compare(model)
        print("\n".join(rows), flush=True)
        wrong += [] if right else [model.stem]
    if wrong:
        sys.exit(f"not right: {', '.join(wrong)}")


main()
