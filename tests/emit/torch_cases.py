"""Operators as torch, compared with the reference: `python tests/emit/torch_cases.py`."""

import torch
import torch.nn.functional as F


def check(name, actual, expected):
    torch.testing.assert_close(actual.to(expected.dtype), expected, msg=lambda m: f"{name}: {m}")


# pad
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25], dtype=torch.float64).reshape(2, 3)
i0 = torch.arange(4, device=x0.device).view(-1, 1)
i1 = torch.arange(5, device=x0.device).view(1, -1)
part = torch.where(
    (i0 - 1 >= 0) & (i0 - 1 < 2) & (i1 - 2 >= 0) & (i1 - 2 < 3),
    x0[(i0 - 1).clamp(0, 1), (i1 - 2).clamp(0, 2)], 0.5,
)
y = part
check("pad", y, torch.tensor([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, -2.25, 1.25, -0.75, 0.5, 0.5, 2.75, 0.75, -1.25, 0.5, 0.5, 0.5, 0.5, 0.5], dtype=torch.float64).reshape(4, 5))

# slice, flipped
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25], dtype=torch.float64).reshape(4, 3)
i0 = torch.arange(2, device=x0.device).view(-1, 1)
i1 = torch.arange(3, device=x0.device).view(1, -1)
part = x0[i0 * 2 + 1, i1 * -1 + 2]
y = part
check("slice, flipped", y, torch.tensor([-1.25, 0.75, 2.75, -2.25, -0.25, 1.75], dtype=torch.float64).reshape(2, 3))

# concat
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75], dtype=torch.float64).reshape(2, 2)
x1 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25], dtype=torch.float64).reshape(3, 2)
i0 = torch.arange(5, device=x0.device).view(-1, 1)
i1 = torch.arange(2, device=x0.device).view(1, -1)
part = torch.where(
    (i0 >= 0) & (i0 < 2) & (i1 >= 0) & (i1 < 2), x0[i0.clamp(0, 1), i1.clamp(0, 1)], 0.0,
)
part_2 = torch.where(
    (i0 - 2 >= 0) & (i0 - 2 < 3) & (i1 >= 0) & (i1 < 2), x1[(i0 - 2).clamp(0, 2), i1.clamp(0, 1)],
    0.0,
)
y = torch.where(i0 < 2, part, part_2)
check("concat", y, torch.tensor([-2.25, 1.25, -0.75, 2.75, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25], dtype=torch.float64).reshape(5, 2))

# expand
x0 = torch.tensor([-2.25, 1.25], dtype=torch.float64).reshape(1, 2)
y = x0.expand(3, 2, 2)
check("expand", y, torch.tensor([-2.25, 1.25, -2.25, 1.25, -2.25, 1.25, -2.25, 1.25, -2.25, 1.25, -2.25, 1.25], dtype=torch.float64).reshape(3, 2, 2))

# gather
x0 = torch.tensor([0, 5, 1], dtype=torch.int64).reshape(3,)
x1 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25], dtype=torch.float64).reshape(11, 2)
i0 = torch.arange(3, device=x0.device).view(-1, 1)
i1 = torch.arange(2, device=x0.device).view(1, -1)
part = x1[x0.reshape(3, 1).to(torch.int64), i1]
y = part
check("gather", y, torch.tensor([-2.25, 1.25, -0.25, -2.25, -0.75, 2.75], dtype=torch.float64).reshape(3, 2))

# space to depth
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75], dtype=torch.float64).reshape(2, 4, 2)
i0 = torch.arange(2, device=x0.device).view(-1, 1, 1)
i1 = torch.arange(2, device=x0.device).view(1, -1, 1)
i2 = torch.arange(3, device=x0.device).view(1, 1, -1)
part = x0[i2 // 2, (i2 + i1 * 3) % 4, i0]
y = part
check("space to depth", y, torch.tensor([-2.25, -0.75, 1.25, 2.25, -2.25, -0.25, 1.25, 2.75, -0.75, 0.25, 1.25, -2.25], dtype=torch.float64).reshape(2, 2, 3))

# transposed and broadcast
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25], dtype=torch.float64).reshape(3, 2)
x1 = torch.tensor([-2.25, 1.25], dtype=torch.float64).reshape(2,)
t = x0.permute(1, 0) + x1.reshape(2, 1)
y = t * t
check("transposed and broadcast", y, torch.tensor([20.25, 9.0, 2.25, 6.25, 16.0, 0.0], dtype=torch.float64).reshape(2, 3))

# iota
i0 = torch.arange(4, device=None).view(-1,)
y = (i0.to(torch.float32).to(torch.float64) * -0.5).expand(4)
check("iota", y, torch.tensor([-0.0, -0.5, -1.0, -1.5], dtype=torch.float64).reshape(4,))

# constant
y = torch.full((2, 2), 3.0, dtype=torch.float32, device=None).expand(2, 2)
check("constant", y, torch.tensor([3.0, 3.0, 3.0, 3.0], dtype=torch.float64).reshape(2, 2))

# relu
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25], dtype=torch.float64).reshape(2, 3)
y = torch.relu(x0)
check("relu", y, torch.tensor([0.0, 1.25, 0.0, 2.75, 0.75, 0.0], dtype=torch.float64).reshape(2, 3))

# hard swish
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25], dtype=torch.float64).reshape(2, 6)
y = x0 * torch.clamp(torch.clamp(x0 + 3.0, min=0.0), max=6.0) / 6.0
check("hard swish", y, torch.tensor([-0.28125, 0.8854166667, -0.28125, 2.635416667, 0.46875, -0.3645833333, 1.96875, 0.1354166667, -0.3645833333, 1.385416667, -0.1145833333, -0.28125], dtype=torch.float64).reshape(2, 6))

# extremes
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75], dtype=torch.float64).reshape(5,)
x1 = torch.tensor([1.0, -3.0, 0.0, 2.0, -1.0], dtype=torch.float64).reshape(5,)
y = torch.maximum(torch.fmax(x0, x0 - x1), x0) - -torch.minimum(torch.fmin(x0, x1), x1)
check("extremes", y, torch.tensor([-4.5, 1.25, -1.5, 4.75, 0.75], dtype=torch.float64).reshape(5,))

# integers
x0 = torch.tensor([-4, 1, -3, 2, -2, 3, -1], dtype=torch.int64).reshape(7,)
x1 = torch.tensor([3], dtype=torch.int64).reshape(1,)
y = (torch.div(x0, x1, rounding_mode="trunc") * 10 ^ torch.div(x0, x1, rounding_mode="floor")) & 10 | x1
check("integers", y, torch.tensor([11, 3, 11, 3, 11, 11, 11], dtype=torch.int64).reshape(7,))

# logic
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25], dtype=torch.float64).reshape(6,)
x1 = torch.tensor([0.25, 0.25, 0.25, 0.25, 0.25, 0.25], dtype=torch.float64).reshape(6,)
t = x0 <= x1
y = (~(t == (x0 > 0.0)) & t).to(torch.float32).to(torch.float64)
check("logic", y, torch.tensor([1.0, 0.0, 1.0, 0.0, 0.0, 1.0], dtype=torch.float64).reshape(6,))

# abs
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25], dtype=torch.float64).reshape(7,)
y = torch.abs(x0)
check("abs", y, torch.tensor([2.25, 1.25, 0.75, 2.75, 0.75, 1.25, 2.25], dtype=torch.float64).reshape(7,))

# exp
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25], dtype=torch.float64).reshape(7,)
y = torch.exp(x0)
check("exp", y, torch.tensor([0.1053992246, 3.490342957, 0.4723665527, 15.64263188, 2.117000017, 0.2865047969, 9.487735836], dtype=torch.float64).reshape(7,))

# sin
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25], dtype=torch.float64).reshape(7,)
y = torch.sin(x0)
check("sin", y, torch.tensor([-0.7780731969, 0.9489846194, -0.68163876, 0.3816609921, 0.68163876, -0.9489846194, 0.7780731969], dtype=torch.float64).reshape(7,))

# cos
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25], dtype=torch.float64).reshape(7,)
y = torch.cos(x0)
check("cos", y, torch.tensor([-0.6281736227, 0.3153223624, 0.7316888689, -0.9243023786, 0.7316888689, 0.3153223624, -0.6281736227], dtype=torch.float64).reshape(7,))

# tanh
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25], dtype=torch.float64).reshape(7,)
y = torch.tanh(x0)
check("tanh", y, torch.tensor([-0.9780261147, 0.84828364, -0.6351489524, 0.9918597246, 0.6351489524, -0.84828364, 0.9780261147], dtype=torch.float64).reshape(7,))

# erf
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25], dtype=torch.float64).reshape(7,)
y = torch.erf(x0)
check("erf", y, torch.tensor([-0.9985372834, 0.9229001283, -0.7111556337, 0.9998993781, 0.7111556337, -0.9229001283, 0.9985372834], dtype=torch.float64).reshape(7,))

# sigmoid
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25], dtype=torch.float64).reshape(7,)
y = torch.sigmoid(x0)
check("sigmoid", y, torch.tensor([0.0953494649, 0.7772998612, 0.3208213008, 0.9399133498, 0.6791786992, 0.2227001388, 0.9046505351], dtype=torch.float64).reshape(7,))

# floor
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25], dtype=torch.float64).reshape(7,)
y = torch.floor(x0)
check("floor", y, torch.tensor([-3.0, 1.0, -1.0, 2.0, 0.0, -2.0, 2.0], dtype=torch.float64).reshape(7,))

# ceil
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25], dtype=torch.float64).reshape(7,)
y = torch.ceil(x0)
check("ceil", y, torch.tensor([-2.0, 2.0, -0.0, 3.0, 1.0, -1.0, 3.0], dtype=torch.float64).reshape(7,))

# round
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25], dtype=torch.float64).reshape(7,)
y = torch.round(x0)
check("round", y, torch.tensor([-2.0, 1.0, -1.0, 3.0, 1.0, -1.0, 2.0], dtype=torch.float64).reshape(7,))

# log
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25], dtype=torch.float64).reshape(7,)
y = torch.log(torch.pow(x0, 2.0))
check("log", y, torch.tensor([1.621860432, 0.4462871026, -0.5753641449, 2.023201823, -0.5753641449, 0.4462871026, 1.621860432], dtype=torch.float64).reshape(7,))

# sqrt
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25], dtype=torch.float64).reshape(7,)
y = torch.sqrt(torch.pow(x0, 2.0))
check("sqrt", y, torch.tensor([2.25, 1.25, 0.75, 2.75, 0.75, 1.25, 2.25], dtype=torch.float64).reshape(7,))

# rsqrt
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25], dtype=torch.float64).reshape(7,)
y = torch.rsqrt(torch.pow(x0, 2.0))
check("rsqrt", y, torch.tensor([0.4444444444, 0.8, 1.333333333, 0.3636363636, 1.333333333, 0.8, 0.4444444444], dtype=torch.float64).reshape(7,))

# conv
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75], dtype=torch.float64).reshape(1, 2, 5, 6)
x1 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75], dtype=torch.float64).reshape(3, 2, 3, 2)
x2 = torch.tensor([-2.25, 1.25, -0.75], dtype=torch.float64).reshape(3,)
y = F.conv2d(x0, x1, x2, stride=(2, 1), padding=1, dilation=(1, 2))
check("conv", y, torch.tensor([2.25, 6.0, -9.875, 1.75, 2.375, -5.25, 0.75, -11.25, 5.625, 3.25, -1.875, -0.125, -1.125, 6.875, -4.25, 3.875, 5.125, -7.625, 3.25, -23.0, 15.125, 3.75, -10.375, 5.25, -6.25, 22.125, -1.0, -13.125, 18.75, 3.0, 7.375, -5.75, 1.375, 14.0, -7.75, 9.0, -6.75, 8.5, 1.625, -10.75, 12.625, -0.75, 3.25, -11.875, -3.5, 15.875, -25.25, -9.0, -6.125, 2.25, 8.375, -24.0, 2.75, 5.0], dtype=torch.float64).reshape(1, 3, 3, 6))

# conv, grouped and padded to one side
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75], dtype=torch.float64).reshape(2, 4, 5, 6)
x1 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75], dtype=torch.float64).reshape(4, 2, 3, 2)
y = F.conv2d(F.pad(x0, (1, 1, 1, 0)), x1, stride=(2, 1), dilation=(1, 2), groups=2)
check("conv, grouped and padded to one side", y, torch.tensor([4.5, 8.25, -7.625, 4.0, 4.625, -3.0, 3.0, -9.0, 7.875, 5.5, 0.375, 2.125, 2.0, -24.25, 13.875, 2.5, -11.625, 4.0, -7.5, 20.875, -2.25, -14.375, 17.5, 1.75, -10.0, -10.0, 13.375, -10.0, 2.375, 4.0, 4.5, 15.625, -10.375, 7.625, 6.375, -6.75, 11.125, 6.125, -26.5, 6.875, 7.25, -8.0, 2.625, -36.25, 16.0, 5.0, -8.75, 4.25, -18.25, 3.5, 8.25, -7.625, 4.0, 2.625, 8.0, 9.875, -9.0, 7.875, 5.5, -1.875, 7.25, 5.0, -24.25, 13.875, 2.5, -3.625, -4.5, -27.5, 20.875, -2.25, -14.375, 6.75, 4.0, -10.0, -10.0, 13.375, -10.0, 2.375, -19.25, -3.75, 15.625, -10.375, 7.625, 5.875, -4.625, 7.125, 6.125, -26.5, 6.875, 7.375, 9.875, 6.375, -36.25, 16.0, 5.0, -4.375], dtype=torch.float64).reshape(2, 4, 2, 6))

# max pool
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75], dtype=torch.float64).reshape(1, 2, 6, 5)
y = F.max_pool2d(x0, (3, 2), stride=2, padding=1)
check("max pool", y, torch.tensor([-1.25, 2.25, 2.75, 0.75, 2.25, 2.75, 2.75, 2.25, 2.25, -0.75, 2.75, 2.25, 1.25, 2.75, 2.25, 2.25, 2.75, 2.75], dtype=torch.float64).reshape(1, 2, 3, 3))

# max pool, padded to one side
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75], dtype=torch.float64).reshape(1, 2, 6, 5)
y = F.max_pool2d(F.pad(x0, (0, 0, 0, 1), value=float("-inf")), (3, 2), stride=2)
check("max pool, padded to one side", y, torch.tensor([2.25, 2.75, 1.75, 2.25, 2.75, 2.25, 2.75, 1.75, 2.25, 2.75, 2.25, 2.75], dtype=torch.float64).reshape(1, 2, 3, 2))

# average pool
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75], dtype=torch.float64).reshape(1, 2, 6, 5)
y = F.avg_pool2d(x0, (3, 2), stride=2, padding=1, count_include_pad=False)
check("average pool", y, torch.tensor([-1.75, 0.75, 0.875, -0.25, 0.4166666667, 0.08333333333, 1.75, -0.3333333333, 0.25, -1.25, 1.25, 0.0, 0.25, 0.9166666667, -0.3333333333, 0.4166666667, 0.1666666667, 0.75], dtype=torch.float64).reshape(1, 2, 3, 3))

# average pool, padded to one side
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75], dtype=torch.float64).reshape(1, 2, 6, 5)
y = (
    F.avg_pool2d(F.pad(x0, (1, 1, 1, 2)), (3, 2), stride=2)
    / F.avg_pool2d(F.pad(torch.ones_like(x0), (1, 1, 1, 2)), (3, 2), stride=2)
)
check("average pool, padded to one side", y, torch.tensor([-1.75, 0.75, 0.875, -0.25, 0.4166666667, 0.08333333333, 1.75, -0.3333333333, 0.25, 2.75, -0.25, 1.25, -1.25, 1.25, 0.0, 0.25, 0.9166666667, -0.3333333333, 0.4166666667, 0.1666666667, 0.75, -2.25, 0.25, 1.75], dtype=torch.float64).reshape(1, 2, 4, 3))

# average pool, counting
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75], dtype=torch.float64).reshape(1, 2, 6, 5)
y = F.avg_pool2d(x0, (3, 2), stride=2, padding=1)
check("average pool, counting", y, torch.tensor([-0.5833333333, 0.5, 0.5833333333, -0.125, 0.4166666667, 0.08333333333, 0.875, -0.3333333333, 0.25, -0.4166666667, 0.8333333333, 0.0, 0.125, 0.9166666667, -0.3333333333, 0.2083333333, 0.1666666667, 0.75], dtype=torch.float64).reshape(1, 2, 3, 3))

# average pool, counting, padded to one side
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75], dtype=torch.float64).reshape(1, 2, 6, 5)
y = F.avg_pool2d(F.pad(x0, (1, 1, 1, 2)), (3, 2), stride=2)
check("average pool, counting, padded to one side", y, torch.tensor([-0.5833333333, 0.5, 0.5833333333, -0.125, 0.4166666667, 0.08333333333, 0.875, -0.3333333333, 0.25, 0.4583333333, -0.08333333333, 0.4166666667, -0.4166666667, 0.8333333333, 0.0, 0.125, 0.9166666667, -0.3333333333, 0.2083333333, 0.1666666667, 0.75, -0.375, 0.08333333333, 0.5833333333], dtype=torch.float64).reshape(1, 2, 4, 3))

# adaptive pool
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25, 1.25, -0.75, 2.75, 0.75], dtype=torch.float64).reshape(1, 2, 6, 5)
y = F.adaptive_avg_pool2d(x0, (4, 2))
check("adaptive pool", y, torch.tensor([-0.08333333333, 0.5, 0.0, 0.5833333333, 0.1666666667, -0.1666666667, 0.25, -0.08333333333, 0.4166666667, 0.08333333333, 0.5, 0.1666666667, 0.6666666667, 0.3333333333, -0.1666666667, 0.4166666667], dtype=torch.float64).reshape(1, 2, 4, 2))

# batch norm
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25], dtype=torch.float64).reshape(1, 2, 3)
x1 = torch.tensor([-2.25, 1.25], dtype=torch.float64).reshape(2,)
x2 = torch.tensor([-2.25, 1.25], dtype=torch.float64).reshape(2,)
x3 = torch.tensor([-2.25, 1.25], dtype=torch.float64).reshape(2,)
x4 = torch.tensor([0.5, 2.0], dtype=torch.float64).reshape(2,)
y = F.batch_norm(x0, x3, x4, x1, x2, eps=0.001)
check("batch norm", y, torch.tensor([-2.25, -13.37581155, -7.01820495, 2.575493883, 0.8081687058, -0.9591564711], dtype=torch.float64).reshape(1, 2, 3))

# matmul
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25], dtype=torch.float64).reshape(2, 2, 3)
x1 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25], dtype=torch.float64).reshape(3, 2)
y = torch.matmul(x0, x1)
check("matmul", y, torch.tensor([3.5625, 1.5625, -7.6875, 7.0625, -6.5625, 5.6875, -5.4375, 4.3125], dtype=torch.float64).reshape(2, 2, 2))

# softmax
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25], dtype=torch.float64).reshape(3, 2)
y = torch.softmax(x0, dim=0)
check("softmax", y, torch.tensor([0.03911257327, 0.1797341135, 0.1752903921, 0.805512412, 0.7855970346, 0.01475347446], dtype=torch.float64).reshape(3, 2))

# lrn
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25], dtype=torch.float64).reshape(1, 4, 3)
y = F.local_response_norm(x0, 3, alpha=0.5, beta=0.75, k=2.0)
check("lrn", y, torch.tensor([-0.7803038982, 0.6577064614, -0.3946238768, 0.8289262854, 0.3933193342, -0.5676934945, 0.7146331337, 0.1425677859, -0.6675662428, 0.7060729434, -0.1475000393, -0.90780807], dtype=torch.float64).reshape(1, 4, 3))

# lrn over an even window
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25], dtype=torch.float64).reshape(2, 3)
y = F.local_response_norm(x0.unsqueeze(-1).flip(1), 2, alpha=0.5, beta=0.75, k=2.0).flip(1).squeeze(-1)
check("lrn over an even window", y, torch.tensor([-0.8509530624, 0.6228862335, -0.4237949902, 0.9666135857, 0.3737317401, -0.6501692423], dtype=torch.float64).reshape(2, 3))

# reshape
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25], dtype=torch.float64).reshape(2, 3)
y = x0.reshape(3, 2)
check("reshape", y, torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25], dtype=torch.float64).reshape(3, 2))

# transpose
x0 = torch.tensor([-2.25, 1.25, -0.75, 2.75, 0.75, -1.25, 2.25, 0.25, -1.75, 1.75, -0.25, -2.25], dtype=torch.float64).reshape(2, 3, 2)
y = x0.permute(2, 0, 1)
check("transpose", y, torch.tensor([-2.25, -0.75, 0.75, 2.25, -1.75, -0.25, 1.25, 2.75, -1.25, 0.25, 1.75, -2.25], dtype=torch.float64).reshape(2, 2, 3))

# broadcast
x0 = torch.tensor([-2.25, 1.25, -0.75], dtype=torch.float64).reshape(3, 1)
y = x0.expand(2, 3, 2)
check("broadcast", y, torch.tensor([-2.25, -2.25, 1.25, 1.25, -0.75, -0.75, -2.25, -2.25, 1.25, 1.25, -0.75, -0.75], dtype=torch.float64).reshape(2, 3, 2))

print("ok")
