"""Maxima over some axes; NaN is kept.

The axes are at most two stretches of neighbours: x is [o, i, e, j, f], of which i and j are reduced. A
tile is BE results by BT elements of each line; a line longer than BT is walked in blocks.
"""

import triton
import triton.language as tl


@triton.jit
def reduce_max_tile(
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
    best = tl.full((BE, BT), float("-inf"), dtype=tl.float32)
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
        best = tl.maximum(best, x.to(tl.float32), propagate_nan=tl.PropagateNan.ALL)
    # tl.max drops NaN.
    holes = tl.max((best != best).to(tl.int32), axis=1)
    y = tl.where(holes > 0, float("nan"), tl.max(best, axis=1))
    # fuse: value y at o=o if o < O, u=0, e=e if o < O, v=0, f=f if o < O
    # fuse: store Y at o=o if o < O, u=0, e=e if o < O, v=0, f=f if o < O
    tl.store(y_ptr + o * y_stride_o + e * y_stride_e + f * y_stride_f, y, mask=o < O)


@triton.jit
def reduce_max_kernel(
    x_ptr, y_ptr,
    O, I, E, J, F,
    x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
    y_stride_o, y_stride_e, y_stride_f,
    # fuse: params
    BE: tl.constexpr, BT: tl.constexpr,
):
    reduce_max_tile(
        tl.program_id(0), x_ptr, y_ptr,
        O, I, E, J, F,
        x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
        y_stride_o, y_stride_e, y_stride_f,
        # fuse: args
        BE, BT,
    )


@triton.jit
def reduce_max_kernel_loop(
    x_ptr, y_ptr,
    O, I, E, J, F,
    x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
    y_stride_o, y_stride_e, y_stride_f,
    WORK,
    # fuse: params
    BE: tl.constexpr, BT: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        reduce_max_tile(
            tile, x_ptr, y_ptr,
            O, I, E, J, F,
            x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
            y_stride_o, y_stride_e, y_stride_f,
            # fuse: args
            BE, BT,
        )
