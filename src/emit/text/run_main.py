def largest_error(actual, expected):
    """The largest difference, against the largest element of `expected`."""
    scale = expected.abs().max().clamp(min=1e-30)
    return ((actual.double() - expected).abs().max() / scale).item()


def main():
    parser = argparse.ArgumentParser(description=NAME)
    parser.add_argument("--check", action="store_true", help="compare with torch in float64")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()

    weights = load(options.device)
    given = inputs(options.device)
    results = forward(*given, weights, prepare(weights))
    results = results if isinstance(results, tuple) else (results,)
    for result in results:
        print(tuple(result.shape), result.dtype)
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
