"""hand_made: the whole model as 3 kernel launches.

`python run.py` runs it on generated inputs, `python run.py --check` compares with torch.
"""

import argparse
import sys

import torch
import torch.nn.functional as F

from kernels import conv2d_resnet__00000000conv
from kernels import relu__00000000relu
from kernels import add__000000000add
from weights import inputs, load


def prepare(weights):
    """Tensors that depend on weights alone; computed once."""
    bn_scale = weights["bn.weight"] * torch.rsqrt(weights["bn.running_var"] + 1e-5)
    conv_weight_folded = weights["conv.weight"] * bn_scale.reshape(4, 1, 1, 1)
    bn_shift = weights["bn.bias"] - weights["bn.running_mean"] * bn_scale
    return (conv_weight_folded, bn_shift)


def forward(x, weights, prepared):
    """One inference.

    x: float32 [1, 3, 6, 6]

    Returns y float32 [4, 36].
    """
    (conv_weight_folded, bn_shift) = prepared
    b0 = torch.empty(144, dtype=torch.float32, device=x.device)
    b1 = torch.empty(144, dtype=torch.float32, device=x.device)
    b2 = torch.empty(144, dtype=torch.float32, device=x.device)

    # conv
    conv2d_resnet__00000000conv.launch(x, conv_weight_folded, bn_shift, b0.view(1, 4, 6, 6))

    # relu_again
    relu__00000000relu.launch(b0.view(1, 4, 6, 6), b1.view(1, 4, 6, 6))

    # add
    add__000000000add.launch(b0.view(4, 36), b1, b2.view(4, 36))

    return b2.view(4, 36)


def reference(x, weights):
    """The model's own operators in torch."""
    c = F.conv2d(x, weights["conv.weight"])
    n = F.batch_norm(
        c, weights["bn.running_mean"], weights["bn.running_var"], weights["bn.weight"],
        weights["bn.bias"], eps=1e-5,
    )
    a = torch.relu(n)
    b = torch.relu(a)
    flat = a.reshape(4, 36)
    long = b.reshape(36, 4)
    turned = long.permute(1, 0)
    y = flat + turned
    return y


def largest_error(actual, expected):
    """The largest difference, against the largest element of `expected`."""
    scale = expected.abs().max().clamp(min=1e-30)
    return ((actual.double() - expected).abs().max() / scale).item()


def main():
    parser = argparse.ArgumentParser(description="hand_made")
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
    return 0 if max(errors) <= 0.001 else 1


if __name__ == "__main__":
    sys.exit(main())
