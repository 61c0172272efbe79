"""Running sums along one axis.

From the end where REVERSE; without the element itself where EXCLUSIVE. A tile is BE lines, walked in blocks
of BT elements in the order of the sums; each block begins with what the one before it ended with.
"""

import triton
import triton.language as tl


@triton.jit
def cumsum_tile(
    tile, x_ptr, y_ptr,
    O, I, E,
    x_stride_o, x_stride_i, x_stride_e,
    y_stride_o, y_stride_i, y_stride_e,
    # fuse: params
    REVERSE: tl.constexpr, EXCLUSIVE: tl.constexpr, BE: tl.constexpr, BT: tl.constexpr,
):
    row = tile * BE + tl.arange(0, BE)
    o = row // E
    e = row % E
    carry = tl.full((BE,), 0.0, dtype=tl.float32)
    for start in range(0, I, BT):
        t = start + tl.arange(0, BT)
        # The element that is added at step t.
        s = t - EXCLUSIVE
        if REVERSE:
            i = I - 1 - s
            at = I - 1 - t
        else:
            i = s
            at = t
        # fuse: load X at o=o[:, None] if o[:, None] < O, i=i[None, :] if ((s >= 0) & (t < I))[None, :],
        #   e=e[:, None] if o[:, None] < O
        x = tl.load(
            x_ptr + o[:, None] * x_stride_o + i[None, :] * x_stride_i + e[:, None] * x_stride_e,
            mask=(o[:, None] < O) & ((s >= 0) & (t < I))[None, :],
            other=0.0,
        )
        y = carry[:, None] + tl.cumsum(x.to(tl.float32), axis=1)
        carry = tl.sum(tl.where((t == start + BT - 1)[None, :], y, 0.0), axis=1)
        # fuse: value y at o=o[:, None] if o[:, None] < O, i=at[None, :] if t[None, :] < I,
        #   e=e[:, None] if o[:, None] < O
        # fuse: store Y at o=o[:, None] if o[:, None] < O, i=at[None, :] if t[None, :] < I,
        #   e=e[:, None] if o[:, None] < O
        tl.store(
            y_ptr + o[:, None] * y_stride_o + at[None, :] * y_stride_i + e[:, None] * y_stride_e,
            y,
            mask=(o[:, None] < O) & (t[None, :] < I),
        )


@triton.jit
def cumsum_kernel(
    x_ptr, y_ptr,
    O, I, E,
    x_stride_o, x_stride_i, x_stride_e,
    y_stride_o, y_stride_i, y_stride_e,
    # fuse: params
    REVERSE: tl.constexpr, EXCLUSIVE: tl.constexpr, BE: tl.constexpr, BT: tl.constexpr,
):
    cumsum_tile(
        tl.program_id(0), x_ptr, y_ptr,
        O, I, E,
        x_stride_o, x_stride_i, x_stride_e,
        y_stride_o, y_stride_i, y_stride_e,
        # fuse: args
        REVERSE, EXCLUSIVE, BE, BT,
    )


@triton.jit
def cumsum_kernel_loop(
    x_ptr, y_ptr,
    O, I, E,
    x_stride_o, x_stride_i, x_stride_e,
    y_stride_o, y_stride_i, y_stride_e,
    WORK,
    # fuse: params
    REVERSE: tl.constexpr, EXCLUSIVE: tl.constexpr, BE: tl.constexpr, BT: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        cumsum_tile(
            tile, x_ptr, y_ptr,
            O, I, E,
            x_stride_o, x_stride_i, x_stride_e,
            y_stride_o, y_stride_i, y_stride_e,
            # fuse: args
            REVERSE, EXCLUSIVE, BE, BT,
        )
