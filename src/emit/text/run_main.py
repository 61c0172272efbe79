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


def main():
    parser = argparse.ArgumentParser(description=NAME)
    parser.add_argument("--check", action="store_true", help="compare with torch in float64")
    parser.add_argument("--cuda-graph", action="store_true", help="run as a CUDA graph")
    parser.add_argument("--bench", action="store_true", help="time against torch")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    if (options.bench or options.cuda_graph) and not torch.cuda.is_available():
        parser.error("--bench and --cuda-graph need a GPU")

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
    if not options.check:
        return 0

    def widened(t):
        return t.double() if t.is_floating_point() else t

    wide = {name: widened(t) for name, t in weights.items()}
    expected = reference(*map(widened, given), wide)
    expected = expected if isinstance(expected, tuple) else (expected,)
    errors = [largest_error(a, e) for a, e in zip(results, expected)]
    print("largest error against torch in float64:", max(errors))
    return 0 if max(errors) <= CHECK else 1


if __name__ == "__main__":
    sys.exit(main())
