"""Where along one axis the largest element stands, or the smallest (LARGEST = 0), as int64.

NaN is more extreme than any number. Of equal ones the first counts, or the last (LAST). Every lane of
the block keeps its own best; the tile is BE lines by BT elements.
"""

import triton
import triton.language as tl


@triton.jit
def argreduce_tile(
    tile, x_ptr, y_ptr,
    O, I, E,
    x_stride_o, x_stride_i, x_stride_e,
    y_stride_o, y_stride_e,
    # fuse: params
    LARGEST: tl.constexpr, LAST: tl.constexpr, BE: tl.constexpr, BT: tl.constexpr,
):
    row = tile * BE + tl.arange(0, BE)
    o = row // E
    e = row % E
    best = tl.full((BE, BT), float("-inf"), dtype=tl.float32)
    at = tl.zeros((BE, BT), dtype=tl.int32) + tl.arange(0, BT)[None, :]
    for start in range(0, I, BT):
        i = start + tl.arange(0, BT)
        # fuse: load X at o=o[:, None] if o[:, None] < O, i=i[None, :] if i[None, :] < I,
        #   e=e[:, None] if o[:, None] < O
        x = tl.load(
            x_ptr + o[:, None] * x_stride_o + i[None, :] * x_stride_i + e[:, None] * x_stride_e,
            mask=(o[:, None] < O) & (i[None, :] < I),
            other=0.0,
        )
        key = x.to(tl.float32)
        if LARGEST == 0:
            key = -key
        if LAST:
            takes = (key != key) | ((best == best) & (key >= best))
        else:
            takes = (best == best) & ((key != key) | (key > best))
        takes = takes & (i[None, :] < I)
        best = tl.where(takes, key, best)
        at = tl.where(takes, i[None, :], at)
    holes = tl.max((best != best).to(tl.int32), axis=1)
    top = tl.max(tl.where(best != best, float("-inf"), best), axis=1)
    hit = tl.where(holes[:, None] > 0, best != best, best == top[:, None]) & (at < I)
    if LAST:
        found = tl.max(tl.where(hit, at, -1), axis=1)
    else:
        found = tl.min(tl.where(hit, at, I), axis=1)
    y = found.to(tl.int64)
    # fuse: value y at o=o if o < O, u=0, e=e if o < O
    # fuse: store Y at o=o if o < O, u=0, e=e if o < O
    tl.store(y_ptr + o * y_stride_o + e * y_stride_e, y, mask=o < O)


@triton.jit
def argreduce_kernel(
    x_ptr, y_ptr,
    O, I, E,
    x_stride_o, x_stride_i, x_stride_e,
    y_stride_o, y_stride_e,
    # fuse: params
    LARGEST: tl.constexpr, LAST: tl.constexpr, BE: tl.constexpr, BT: tl.constexpr,
):
    argreduce_tile(
        tl.program_id(0), x_ptr, y_ptr,
        O, I, E,
        x_stride_o, x_stride_i, x_stride_e,
        y_stride_o, y_stride_e,
        # fuse: args
        LARGEST, LAST, BE, BT,
    )


@triton.jit
def argreduce_kernel_loop(
    x_ptr, y_ptr,
    O, I, E,
    x_stride_o, x_stride_i, x_stride_e,
    y_stride_o, y_stride_e,
    WORK,
    # fuse: params
    LARGEST: tl.constexpr, LAST: tl.constexpr, BE: tl.constexpr, BT: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        argreduce_tile(
            tile, x_ptr, y_ptr,
            O, I, E,
            x_stride_o, x_stride_i, x_stride_e,
            y_stride_o, y_stride_e,
            # fuse: args
            LARGEST, LAST, BE, BT,
        )
