# x=f32[2]
import triton


@triton.jit
def k(a, b, c, d, e, f, g, h, i, j):
    pass


def launch(x):
    (a, b) = tuple(range(9223372036854775800, 9223372036854775807, 5))
    (c, d, e) = tuple(range(2, -3, -2))
    (f, g, h) = tuple(range(-9223372036854775807, 9223372036854775807, 9000000000000000000))
    i = len(tuple(range(1, 9223372036854775807, -1)))
    j = len(tuple(range(65536)))
    k[(1,)](a, b, c, d, e, f, g, h, i, j)
    return x
