"""Our CPU time over ONNX Runtime's, for one emulation of a fused model with the same seeded weights.

usage: pip install onnxruntime numpy && python benches/vs_onnxruntime.py MODEL.onnx [BMxBNxBK]

Both sides run on one thread on the same input; ours without process start, reference and weight
preparation, every check on. Each side's figure is its best of several runs, and the outputs are
compared. With tile sizes, convolutions and matrix products have tiles of at most these; without, those
of their schedules. Prints as its last line `ratio: N`.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime as ort

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNS = 15


# What a tile's sides run over, by template.
SIDES = {
    "conv2d_resnet": ("N * P * Q", "K // GROUPS", "C * R * S"),
    "matmul": ("M", "N", "K"),
}


def with_tiles(tiles, folder):
    """Templates whose one schedule has these tiles, smaller where the problem is."""
    for name, sides in SIDES.items():
        shutil.copytree(ROOT / "operator_templates" / name, folder / name)
        blocks = [
            f'    {block}: "min({size}, max(16, next_power_of_2({side})))"\n'
            for block, size, side in zip(("BM", "BN", "BK"), tiles, sides)
        ]
        schedule = "- set:\n" + "".join(blocks) + "  num_warps: 4\n  num_stages: 3\n  source: as the bench was asked\n"
        (folder / name / "schedule.yaml").write_text(schedule)
    return ["--templates", str(folder)]


def ours(model, tiles, folder):
    suite = folder / "suite"
    decompose = ["cargo", "run", "-q", "--release", "--", str(model), "-o", str(suite), "--verify", "none"]
    if tiles:
        decompose += with_tiles(tiles, folder / "templates")
    subprocess.run(decompose, cwd=ROOT, check=True, capture_output=True)
    bench = ["cargo", "bench", "-q", "--bench", "model", "--", str(suite), str(model), str(folder)]
    run = subprocess.run(bench, cwd=ROOT, check=True, capture_output=True, text=True)
    return float(run.stdout.split("cpu_seconds: ")[1].split()[0])


def theirs(folder):
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    feeds = {
        value.name: np.fromfile(folder / f"input_{i}.f32", np.float32).reshape(value.shape)
        for i, value in enumerate(session.get_inputs())
    }
    best = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        outputs = session.run(None, feeds)
        best = min(best, time.process_time() - start)
    return best, outputs


def main():
    model = pathlib.Path(sys.argv[1]).resolve()
    tiles = [int(size) for size in sys.argv[2].split("x")] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        our_seconds = ours(model, tiles, folder)
        their_seconds, outputs = theirs(folder)
        for i, output in enumerate(outputs):
            result = np.fromfile(folder / f"output_{i}.f32", np.float32).reshape(output.shape)
            difference = float(np.abs(result - output).max() / np.abs(output).max())
            print(f"output {i}: largest difference {difference:.1e} of the largest value")
            assert difference < 1e-4, "the outputs disagree"
    print(f"emulator {our_seconds * 1e3:.0f} ms, ONNX Runtime {their_seconds * 1e3:.0f} ms (CPU, one thread)")
    print(f"ratio: {our_seconds / their_seconds:.2f}")


main()
