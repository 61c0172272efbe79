"""Milliseconds of suites on a GPU beside torch's: eager, as a CUDA graph, compiled, compiled in a CUDA graph.

usage: python benches/vs_torch.py SUITE... [--seconds 60] [--warm] [--autotune]

The network in torch is the suite's own `reference` (the model's operators, as torch users write them), on the
same weights and inputs. It is timed with contiguous and with channels-last tensors; the better of the two is the
figure, since torch's convolutions are tuned for either. Like is compared with like: fp32 products where the suite
is `ieee` or splits fp32 into parts (tf32 is then forbidden in torch), tf32 where it is tf32, halves where it has
halves. A figure is the median of at least 30 runs by CUDA events, outputs on the device, weights prepared before.

Compiling takes torch most of a minute a network: `--warm` only compiles, with one suite a process and all at once,
and leaves the result in torch's caches; a second run then measures. A suite whose time is up shows `-` in what is
left; so does what torch cannot do, with the reason below the table.

Not measured: batches other than the suite's, and copies between host and device.
"""

import argparse
import functools
import importlib
import json
import os
import pathlib
import subprocess
import sys
import time

import torch

RUNS, WARM_UP = 50, 5
LEAST = 30
COLUMNS = ["ours", "ours, graph", "eager", "eager, graph", "compile", "compile, graph", "autotuned, graph"]


def opened(suite):
    """A suite's `run.py` and its settings; modules of an earlier suite are forgotten."""
    for name in [n for n in sys.modules if n in ("run", "weights", "kernels") or n.startswith("kernels.")]:
        del sys.modules[name]
    sys.path.insert(0, str(suite))
    importlib.invalidate_caches()
    try:
        return importlib.import_module("run"), json.loads((suite / "manifest.json").read_text())
    finally:
        sys.path.remove(str(suite))


def channels_last(tensor):
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return tensor.contiguous(memory_format=formats[tensor.dim()]) if tensor.dim() in formats else tensor


def captured(call):
    """The call as a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def milliseconds(call, until):
    """The median of up to RUNS runs, of at least LEAST of them."""
    for _ in range(WARM_UP):
        call()
    times = []
    while len(times) < RUNS and (len(times) < LEAST or time.monotonic() < until):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[len(times) // 2]


def variants(reference, given, weights, autotune):
    """torch's ways to run the network: column, and what makes the call (which may compile)."""

    @functools.cache
    def compiled(**options):
        torch._dynamo.reset()
        call = torch.compile(reference, fullgraph=True, dynamic=False, **options)
        call(*given, weights)
        return lambda: call(*given, weights)

    plain = lambda: reference(*given, weights)  # noqa: E731
    yield "eager", lambda: plain
    yield "eager, graph", lambda: captured(plain)
    yield "compile", compiled
    yield "compile, graph", lambda: captured(compiled())
    if autotune:
        yield "autotuned, graph", lambda: captured(compiled(mode="max-autotune-no-cudagraphs"))


def measured(suite, seconds, autotune, compile_only):
    """Milliseconds by column, which layout won, and remarks."""
    until = time.monotonic() + seconds
    module, manifest = opened(suite)
    settings = manifest["settings"]
    tf32 = settings.get("precision") == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    with torch.device("cuda"):
        weights, given = module.load("cuda"), module.inputs("cuda")
    prepared = module.prepare(weights)
    figures, layouts, remarks = {}, {}, []

    def note(column, make, layout):
        if time.monotonic() > until:
            remarks.append(f"{column} {layout}: not measured, {seconds:.0f} s were up")
            return
        try:
            call = make()
            figure = None if compile_only else milliseconds(call, until)
        except Exception as error:
            remarks.append(f"{column} {layout}: {type(error).__name__}: {error}".splitlines()[0])
            return
        if figure is not None and figure < figures.get(column, float("inf")):
            figures[column], layouts[column] = figure, layout

    with torch.no_grad():
        if not compile_only:
            ours = lambda: module.forward(*given, weights, prepared)  # noqa: E731
            note("ours", lambda: ours, "")
            note("ours, graph", lambda: captured(ours), "")
        last = [channels_last(t) for t in given], {name: channels_last(t) for name, t in weights.items()}
        for (inputs, tensors), layout in ((given, weights), ""), (last, "channels-last"):
            for column, make in variants(module.reference, inputs, tensors, autotune):
                if not compile_only or "eager" not in column:
                    note(column, make, layout)
    return manifest, figures, layouts, remarks


def warm(suites, options):
    """Compiles all suites at once, a process each."""
    command = [sys.executable, __file__, "--compile-only", "--seconds", str(options.seconds)]
    command += ["--autotune"] if options.autotune else []
    jobs = [(suite, subprocess.Popen([*command, str(suite)])) for suite in suites]
    failed = [suite for suite, job in jobs if job.wait() != 0]
    for suite in failed:
        print(f"{suite}: could not be compiled")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="+", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=60, help="after this many a suite's next figure is left out")
    parser.add_argument("--warm", action="store_true", help="only fill torch's caches, a process a suite")
    parser.add_argument("--compile-only", action="store_true", help="only fill torch's caches")
    parser.add_argument("--autotune", action="store_true", help="measure torch.compile's max-autotune, too")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("a GPU is needed")
    suites = [suite.resolve() for suite in options.suites]
    if options.warm:
        return warm(suites, options)

    columns = COLUMNS if options.autotune else COLUMNS[:-1]
    if not options.compile_only:
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; milliseconds, medians; c: channels-last\n")
        print("| suite | precision | " + " | ".join(columns) + " |")
        print("| --- " * (len(columns) + 2) + "|")
    remarks, broken = [], 0
    for suite in suites:
        try:
            manifest, figures, layouts, more = measured(suite, options.seconds, options.autotune, options.compile_only)
        except Exception as error:
            broken += 1
            remarks.append(f"{suite.name}: {type(error).__name__}: {error}".splitlines()[0])
            continue
        remarks += [f"{suite.name}: {remark}" for remark in more]
        broken += not options.compile_only and "ours" not in figures
        shown = [f"{figures[c]:.3f}{' c' if layouts[c] else ''}" if c in figures else "-" for c in columns]
        settings = manifest["settings"]
        dtypes = sorted({operand["dtype"] for kernel in manifest["kernels"] for operand in kernel["operands"]})
        precision = next((t for t in ("f16", "bf16") if t in dtypes), settings.get("precision", "ieee"))
        if not options.compile_only:
            print(f"| {suite.name} | {precision} | " + " | ".join(shown) + " |", flush=True)
    print("\n".join(["", *remarks]))
    return 1 if broken else 0


if __name__ == "__main__":
    os.environ.setdefault("TORCHINDUCTOR_FX_GRAPH_CACHE", "1")
    sys.exit(main())
