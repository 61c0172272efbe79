def largest_error(actual, expected):
    """The largest difference, against the largest element of `expected`."""
    scale = expected.abs().max().clamp(min=1e-30)
    return ((actual.double() - expected).abs().max() / scale).item()


def captured(call):
    """The call as a CUDA graph, which launches everything at once, and its results."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = call()
    return graph.replay, results


def milliseconds(call, warm_up=10, runs=50):
    """The median of many runs, by CUDA events."""
    for _ in range(warm_up):
        call()
    times = []
    for _ in range(runs):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[runs // 2]


def bench(given, weights, prepared):
    """Prints milliseconds an inference, of this suite and of torch in the same precision class."""
    tf32 = PRECISION == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    calls = {
        "this suite": lambda: forward(*given, weights, prepared),
        "torch": lambda: reference(*given, weights),
    }
    print("precision class:", PRECISION, "(torch: tf32 allowed)" if tf32 else "(torch: fp32)")
    with torch.no_grad():
        for name, call in calls.items():
            print(f"{name + ', eager':24} {milliseconds(call):9.4f} ms", flush=True)
            replay, _ = captured(call)
            print(f"{name + ', CUDA graph':24} {milliseconds(replay):9.4f} ms", flush=True)
        compiled = torch.compile(reference)
        try:
            print(f"{'torch.compile':24} {milliseconds(lambda: compiled(*given, weights)):9.4f} ms")
        except Exception as error:
            print(f"{'torch.compile':24} failed: {type(error).__name__}: {error}".splitlines()[0])


def planned():
    """Device kernels of one inference as the manifest plans them: how often each function is launched."""
    manifest = json.loads((pathlib.Path(__file__).resolve().parent / "manifest.json").read_text())
    counts = collections.Counter()
    for launch in manifest["launches"]:
        counts.update(part["function"] for part in manifest["kernels"][launch["kernel"]]["launches"])
    return counts


def device_work(trace):
    """What a profiler's trace says the device did: kernels, copies and fills, by name."""
    kinds = ("kernel", "gpu_memcpy", "gpu_memset")
    return collections.Counter(event["name"] for event in trace["traceEvents"] if event.get("cat") in kinds)


def profiled(call):
    """`device_work` of one call."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json"
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
            call()
            torch.cuda.synchronize()
        profiler.export_chrome_trace(str(path))
        return device_work(json.loads(path.read_text()))


def profile(wanted, seen):
    """Prints what ran against the plan; whether they are the same."""
    for name in sorted(wanted | seen):
        remark = "" if wanted[name] == seen[name] else "  not as planned" if name in wanted else "  not in the plan"
        print(f"{seen[name]:6} of {wanted[name]:4} {name}{remark}")
    ours = sum(count for name, count in seen.items() if name in wanted)
    others = sum(seen.values()) - ours
    print(f"launches: {sum(wanted.values())} planned, {ours} seen; other device kernels: {others}")
    return wanted == seen


def main():
    parser = argparse.ArgumentParser(description=NAME)
    parser.add_argument("--check", action="store_true", help="compare with torch in float64")
    parser.add_argument("--cuda-graph", action="store_true", help="run as a CUDA graph")
    parser.add_argument("--bench", action="store_true", help="time against torch")
    parser.add_argument("--profile", action="store_true", help="compare the device's kernels with the plan")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    if (options.bench or options.cuda_graph or options.profile) and not torch.cuda.is_available():
        parser.error("--bench, --cuda-graph and --profile need a GPU")

    with torch.device(options.device):  # Where tensors are generated, too.
        weights = load(options.device)
        given = inputs(options.device)
    prepared = prepare(weights)
    if options.cuda_graph:
        replay, results = captured(lambda: forward(*given, weights, prepared))
        replay()
    else:
        results = forward(*given, weights, prepared)
    results = results if isinstance(results, tuple) else (results,)
    for result in results:
        print(tuple(result.shape), result.dtype)
    if options.bench:
        bench(given, weights, prepared)
    as_planned = True
    if options.profile:
        profiled(lambda: forward(*given, weights, prepared))  # Sets the profiler up.
        as_planned = profile(planned(), profiled(lambda: forward(*given, weights, prepared)))
    if not options.check:
        return 0 if as_planned else 1

    def widened(t):
        return t.double() if t.is_floating_point() else t

    wide = {name: widened(t) for name, t in weights.items()}
    expected = reference(*map(widened, given), wide)
    expected = expected if isinstance(expected, tuple) else (expected,)
    errors = [largest_error(a, e) for a, e in zip(results, expected)]
    print("largest error against torch in float64:", max(errors))
    return 0 if max(errors) <= CHECK and as_planned else 1


if __name__ == "__main__":
    sys.exit(main())
