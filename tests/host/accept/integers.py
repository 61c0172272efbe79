# x=f32[2,7] n=-7
import triton


@triton.jit
def k(a, b, c, d, e, f, g, h, s, t, u, v=3, w=None):
    pass


def double(i, by=2):
    return i * by


def launch(x, n):
    (a, b) = (n // 2, n % 3)
    c = 0
    for i in range(1, 10, 4):
        if i != 5:
            c = c + double(i)
        else:
            c = c + double(i, by=10)
    for i in range(3, 0, -1):
        c = c - 1
    d = min(4, 2, 9) * max((1, 5))
    sizes = (3,) + tuple(range(2, 4))
    e = len(sizes) if sizes == (3, 2, 3) else -1
    f = triton.next_power_of_2(100)
    g = triton.cdiv(x.shape[-1], 4)
    h = not (n < 0 < d and x.dim() == 2)
    s = None or "ieee"
    t = 0.5 if s is not None else 1
    k[sizes](a, b, c, d, e, f, *(g, h), s=s, t=t, u=x.size(1) - x.stride(0))
    return None
