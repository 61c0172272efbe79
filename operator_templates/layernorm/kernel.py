"""Normalisation by the operand's own statistics, y = (x - mean) / sqrt(var + epsilon).

Over any axes that are at most two stretches of neighbours: layer, group and instance normalisation, batch
normalisation in training. x is [o, i, e, j, f], statistics go over i and j. A tile is BE lines; a line
that fits into one block is read once and its variance taken around its mean (`layernorm_kernel`); a
longer one is read twice, block by block (`layernorm_long_kernel`). Scale and shift are applied to the
finished value.
"""

import triton
import triton.language as tl


@triton.jit
def layernorm_tile(
    tile, x_ptr, y_ptr,
    O, I, E, J, F,
    x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
    y_stride_o, y_stride_i, y_stride_e, y_stride_j, y_stride_f,
    # fuse: params
    EPSILON: tl.constexpr, BE: tl.constexpr, BT: tl.constexpr,
):
    row = tile * BE + tl.arange(0, BE)
    o = row // (E * F)
    e = row // F % E
    f = row % F
    t = tl.arange(0, BT)
    i = t // J
    j = t % J
    # fuse: load X at o=o[:, None] if o[:, None] < O, i=i[None, :] if i[None, :] < I,
    #   e=e[:, None] if o[:, None] < O, j=j[None, :] if i[None, :] < I, f=f[:, None] if o[:, None] < O
    x = tl.load(
        x_ptr + o[:, None] * x_stride_o + i[None, :] * x_stride_i + e[:, None] * x_stride_e
        + j[None, :] * x_stride_j + f[:, None] * x_stride_f,
        mask=(o[:, None] < O) & (i[None, :] < I),
        other=0.0,
    )
    x = x.to(tl.float32)
    count = tl.zeros((BE,), dtype=tl.float32) + I * J
    mean = tl.div_rn(tl.sum(x, axis=1), count)
    x = tl.where(i[None, :] < I, x - mean[:, None], 0.0)
    variance = tl.div_rn(tl.sum(x * x, axis=1), count)
    y = x * tl.div_rn(1.0, tl.sqrt_rn(variance + EPSILON))[:, None]
    # fuse: value y at o=o[:, None] if o[:, None] < O, i=i[None, :] if i[None, :] < I,
    #   e=e[:, None] if o[:, None] < O, j=j[None, :] if i[None, :] < I, f=f[:, None] if o[:, None] < O
    # fuse: store Y at o=o[:, None] if o[:, None] < O, i=i[None, :] if i[None, :] < I,
    #   e=e[:, None] if o[:, None] < O, j=j[None, :] if i[None, :] < I, f=f[:, None] if o[:, None] < O
    tl.store(
        y_ptr + o[:, None] * y_stride_o + i[None, :] * y_stride_i + e[:, None] * y_stride_e
        + j[None, :] * y_stride_j + f[:, None] * y_stride_f,
        y,
        mask=(o[:, None] < O) & (i[None, :] < I),
    )


@triton.jit
def layernorm_kernel(
    x_ptr, y_ptr,
    O, I, E, J, F,
    x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
    y_stride_o, y_stride_i, y_stride_e, y_stride_j, y_stride_f,
    # fuse: params
    EPSILON: tl.constexpr, BE: tl.constexpr, BT: tl.constexpr,
):
    layernorm_tile(
        tl.program_id(0), x_ptr, y_ptr,
        O, I, E, J, F,
        x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
        y_stride_o, y_stride_i, y_stride_e, y_stride_j, y_stride_f,
        # fuse: args
        EPSILON, BE, BT,
    )


@triton.jit
def layernorm_kernel_loop(
    x_ptr, y_ptr,
    O, I, E, J, F,
    x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
    y_stride_o, y_stride_i, y_stride_e, y_stride_j, y_stride_f,
    WORK,
    # fuse: params
    EPSILON: tl.constexpr, BE: tl.constexpr, BT: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        layernorm_tile(
            tile, x_ptr, y_ptr,
            O, I, E, J, F,
            x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
            y_stride_o, y_stride_i, y_stride_e, y_stride_j, y_stride_f,
            # fuse: args
            EPSILON, BE, BT,
        )


@triton.jit
def layernorm_long_tile(
    tile, x_ptr, y_ptr,
    O, I, E, J, F,
    x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
    y_stride_o, y_stride_i, y_stride_e, y_stride_j, y_stride_f,
    # fuse: params
    EPSILON: tl.constexpr, BE: tl.constexpr, BT: tl.constexpr,
):
    row = tile * BE + tl.arange(0, BE)
    o = row // (E * F)
    e = row // F % E
    f = row % F
    mean = tl.zeros((BE,), dtype=tl.float32)
    squares = tl.zeros((BE,), dtype=tl.float32)
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
            other=0.0,
        )
        x = x.to(tl.float32)
        # The block's own mean and squares, joined with those before (Chan et al. 1983).
        stop = tl.minimum(start + BT, I * J)
        count = tl.zeros((BE,), dtype=tl.float32) + (stop - start)
        share = tl.div_rn(count, tl.zeros((BE,), dtype=tl.float32) + stop)
        own = tl.div_rn(tl.sum(x, axis=1), count)
        x = tl.where(i[None, :] < I, x - own[:, None], 0.0)
        apart = own - mean
        squares += tl.sum(x * x, axis=1) + apart * apart * (share * start)
        mean += apart * share
    variance = tl.div_rn(squares, tl.zeros((BE,), dtype=tl.float32) + I * J)
    factor = tl.div_rn(1.0, tl.sqrt_rn(variance + EPSILON))
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
            other=0.0,
        )
        y = (x.to(tl.float32) - mean[:, None]) * factor[:, None]
        # fuse: value y at o=o[:, None] if o[:, None] < O, i=i[None, :] if i[None, :] < I,
        #   e=e[:, None] if o[:, None] < O, j=j[None, :] if i[None, :] < I, f=f[:, None] if o[:, None] < O
        # fuse: store Y at o=o[:, None] if o[:, None] < O, i=i[None, :] if i[None, :] < I,
        #   e=e[:, None] if o[:, None] < O, j=j[None, :] if i[None, :] < I, f=f[:, None] if o[:, None] < O
        tl.store(
            y_ptr + o[:, None] * y_stride_o + i[None, :] * y_stride_i + e[:, None] * y_stride_e
            + j[None, :] * y_stride_j + f[:, None] * y_stride_f,
            y,
            mask=(o[:, None] < O) & (i[None, :] < I),
        )


@triton.jit
def layernorm_long_kernel(
    x_ptr, y_ptr,
    O, I, E, J, F,
    x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
    y_stride_o, y_stride_i, y_stride_e, y_stride_j, y_stride_f,
    # fuse: params
    EPSILON: tl.constexpr, BE: tl.constexpr, BT: tl.constexpr,
):
    layernorm_long_tile(
        tl.program_id(0), x_ptr, y_ptr,
        O, I, E, J, F,
        x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
        y_stride_o, y_stride_i, y_stride_e, y_stride_j, y_stride_f,
        # fuse: args
        EPSILON, BE, BT,
    )


@triton.jit
def layernorm_long_kernel_loop(
    x_ptr, y_ptr,
    O, I, E, J, F,
    x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
    y_stride_o, y_stride_i, y_stride_e, y_stride_j, y_stride_f,
    WORK,
    # fuse: params
    EPSILON: tl.constexpr, BE: tl.constexpr, BT: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        layernorm_long_tile(
            tile, x_ptr, y_ptr,
            O, I, E, J, F,
            x_stride_o, x_stride_i, x_stride_e, x_stride_j, x_stride_f,
            y_stride_o, y_stride_i, y_stride_e, y_stride_j, y_stride_f,
            # fuse: args
            EPSILON, BE, BT,
        )
