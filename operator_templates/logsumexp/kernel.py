"""The logarithm of the sum of exponentials over some axes, max + log(sum(exp(x - max))).

Every lane keeps its running maximum and the sum rescaled to it; lanes are joined at the end. A maximum
that is infinite counts as the largest finite number, so that infinities come out as they went in.

The axes are at most two stretches of neighbours: x is [o, i, e, j, f], of which i and j are reduced. A
tile is BE results by BT elements of each line; a line longer than BT is walked in blocks.
"""

import triton
import triton.language as tl


@triton.jit
def logsumexp_tile(
    tile, x_ptr, y_ptr,
    O, I, E, J, F,
    x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
    y_stride_o, y_stride_e, y_stride_f,
    # fuse: params
    BE: tl.constexpr, BT: tl.constexpr,
):
    row = tile * BE + tl.arange(0, BE)
    o = row // (E * F)
    e = row // F % E
    f = row % F
    best = tl.full((BE, BT), -3.4028234663852886e38, dtype=tl.float32)
    total = tl.zeros((BE, BT), dtype=tl.float32)
    for start in range(0, I * J, BT):
        t = start + tl.arange(0, BT)
        i = t // J
        j = t % J
        # fuse: load X at o=o[:, None] if o[:, None] < O, i=i[None, :] if i[None, :] < I,
        #   e=e[:, None] if o[:, None] < O, j=j[None, :] if i[None, :] < I, f=f[:, None] if o[:, None] < O
        x = tl.load(
            x_ptr + o[:, None] * x_stride_o + i[None, :] * x_stride_i + e[:, None] * x_stride_e
            + j[None, :] * x_stride_j + f[:, None] * x_stride_f,
            mask=(o[:, None] < O) & (i[None, :] < I),
            other=float("-inf"),
        )
        x = x.to(tl.float32)
        top = tl.minimum(tl.maximum(best, x), 3.4028234663852886e38)
        total = total * tl.exp(best - top)
        total += tl.exp(x - top)
        best = top
    top = tl.max(best, axis=1)
    y = top + tl.log(tl.sum(total * tl.exp(best - top[:, None]), axis=1))
    # fuse: value y at o=o if o < O, u=0, e=e if o < O, v=0, f=f if o < O
    # fuse: store Y at o=o if o < O, u=0, e=e if o < O, v=0, f=f if o < O
    tl.store(y_ptr + o * y_stride_o + e * y_stride_e + f * y_stride_f, y, mask=o < O)


@triton.jit
def logsumexp_kernel(
    x_ptr, y_ptr,
    O, I, E, J, F,
    x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
    y_stride_o, y_stride_e, y_stride_f,
    # fuse: params
    BE: tl.constexpr, BT: tl.constexpr,
):
    logsumexp_tile(
        tl.program_id(0), x_ptr, y_ptr,
        O, I, E, J, F,
        x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
        y_stride_o, y_stride_e, y_stride_f,
        # fuse: args
        BE, BT,
    )


@triton.jit
def logsumexp_kernel_loop(
    x_ptr, y_ptr,
    O, I, E, J, F,
    x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
    y_stride_o, y_stride_e, y_stride_f,
    WORK,
    # fuse: params
    BE: tl.constexpr, BT: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        logsumexp_tile(
            tile, x_ptr, y_ptr,
            O, I, E, J, F,
            x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
            y_stride_o, y_stride_e, y_stride_f,
            # fuse: args
            BE, BT,
        )
