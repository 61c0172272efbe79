"""Holds sums of products against the bound of src/tolerance.rs; needs numpy, no GPU.

    python tools/check_tolerance.py [--quick]

Every class is computed as its kernels do: operands truncated or split, products summed in blocks of
32 by fused multiply-adds in fp32, sums of split classes added to the accumulator a block at a time.
16-bit types compute in fp32 and round the result once. Printed is the largest |error| / bound over
trials, by law of the operands and by K: a class holds while it stays below 1. The last column is the
largest error relative to the largest result.

A fused multiply-add is an f64 sum rounded to fp32: the product is exact there, the sum nearly always.
"""

import sys

import numpy as np

ELEMENTS = 4096
BLOCK = 32
F32 = np.float32


def bf16(x):
    """fp32 values rounded to bf16, ties to even."""
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(F32)


def f16(x):
    return x.astype(np.float16).astype(F32)


def truncate(x):
    return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(F32)


def round_away(x):
    return truncate((x.view(np.uint32) + np.uint32(0x1000)).view(F32))


def parts(x, name):
    if name == "tf32x3":
        high = round_away(x)
        return [high, truncate(x - high)]
    out, rest = [], x
    for _ in range(3 if name == "bf16x6" else 2):
        out.append(bf16(rest))
        rest = rest - out[-1]
    return out


ORDER = {
    "tf32x3": [(1, 0), (0, 1), (0, 0)],
    "bf16x3": [(1, 0), (0, 1), (0, 0)],
    "bf16x6": [(1, 1), (2, 0), (0, 2), (1, 0), (0, 1), (0, 0)],
}


def chain(acc, a, b):
    """acc + a[0] b[0] + a[1] b[1] + … along the first axis."""
    for x, y in zip(a.astype(np.float64), b.astype(np.float64)):
        acc = (acc + x * y).astype(F32)
    return acc


def product(a, b, name):
    """Sums over the first axis of a and b, [K, elements]."""
    acc = np.zeros(a.shape[1], F32)
    if name == "tf32":
        a, b = truncate(a), truncate(b)
    for start in range(0, len(a), BLOCK):
        x, y = a[start : start + BLOCK], b[start : start + BLOCK]
        if name in ORDER:
            sums = np.zeros_like(acc)
            xs, ys = parts(x, name), parts(y, name)
            for i, j in ORDER[name]:
                sums = chain(sums, xs[i], ys[j])
            acc = acc + sums
        else:
            acc = chain(acc, x, y)
    return acc


# u_in of Precision::operand_error.
OPERAND = {"ieee": 0.0, "tf32": 2.0**-10, "tf32x3": 3 * 2.0**-23, "bf16x3": 2.0**-16, "bf16x6": 2.0**-25 + 2.0**-35}
DIGITS = {"f16": (11, -14), "bf16": (8, -126)}

LAWS = {
    "uniform [-1, 1)": lambda rng, size: rng.uniform(-1, 1, size),
    "normal": lambda rng, size: rng.standard_normal(size),
    "uniform [0, 1)": lambda rng, size: rng.uniform(0, 1, size),
}


def half_ulp(value, digits, least):
    exponent = np.maximum(np.floor(np.log2(np.maximum(np.abs(value), 2.0**-1022))), least)
    return 2.0 ** (exponent - digits)


def trial(name, law, terms, seed):
    rng = np.random.default_rng(seed)
    a, b = (LAWS[law](rng, (terms, ELEMENTS)).astype(F32) for _ in range(2))
    narrow = {"f16": f16, "bf16": bf16}.get(name)
    if narrow:
        a, b = narrow(a), narrow(b)
    got = product(a, b, "ieee" if narrow else name)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    truth = (wide_a * wide_b).sum(0)
    weight = np.sqrt((wide_a**2 * wide_b**2).sum(0))
    u, u_in = 2.0**-24, OPERAND.get(name, 0.0)
    bound = 4 * u * np.sqrt(terms) * (weight + abs(truth)) + u_in * (6 * weight + 2 * abs(truth))
    bound += half_ulp(truth, 24, -126)
    if narrow:
        got = narrow(got)
        bound += half_ulp(truth, *DIGITS[name])
    error = np.abs(got - truth)
    return (error / bound).max(), error.max() / np.abs(truth).max()


def main():
    sizes = [49, 576, 4096] if "--quick" in sys.argv else [49, 147, 576, 2048, 4608, 16384]
    print("| class | law | " + " | ".join(f"K = {k}" for k in sizes) + " | error, K = 4096 |")
    print("| --- | --- |" + " --- |" * (len(sizes) + 1))
    worst = 0.0
    for name in [*OPERAND, *DIGITS]:
        for law in LAWS:
            shares = [trial(name, law, terms, terms)[0] for terms in sizes]
            worst = max(worst, *shares)
            cells = " | ".join(f"{share:.2f}" for share in shares)
            print(f"| {name} | {law} | {cells} | {trial(name, law, 4096, 1)[1]:.1e} |", flush=True)
    print(f"largest share of the bound: {worst:.2f}")
    return 1 if worst > 1 else 0


if __name__ == "__main__":
    sys.exit(main())
