"""The logarithm of softmax along one axis, x - max - log(sum(exp(x - max))), one row a program.

A row that fits in one block is read once (`log_softmax_kernel`); a longer one is read twice
(`log_softmax_long_kernel`), keeping the running maximum and the sum rescaled to it.
"""

import triton
import triton.language as tl


@triton.jit
def log_softmax_tile(
    tile, x_ptr, y_ptr,
    E, I,
    x_stride_o, x_stride_i, x_stride_e,
    y_stride_o, y_stride_i, y_stride_e,
    # fuse: params
    BLOCK: tl.constexpr,
):
    o = tile // E
    e = tile % E
    i = tl.arange(0, BLOCK)
    # fuse: load X at o=o, i=i if i < I, e=e
    x = tl.load(
        x_ptr + o * x_stride_o + i * x_stride_i + e * x_stride_e,
        mask=i < I,
        other=float("-inf"),
    )
    x = x.to(tl.float32)
    x = x - tl.max(x)
    y = x - tl.log(tl.sum(tl.exp(x)))
    # fuse: value y at o=o, i=i if i < I, e=e
    # fuse: store Y at o=o, i=i if i < I, e=e
    tl.store(y_ptr + o * y_stride_o + i * y_stride_i + e * y_stride_e, y, mask=i < I)


@triton.jit
def log_softmax_kernel(
    x_ptr, y_ptr,
    E, I,
    x_stride_o, x_stride_i, x_stride_e,
    y_stride_o, y_stride_i, y_stride_e,
    # fuse: params
    BLOCK: tl.constexpr,
):
    log_softmax_tile(
        tl.program_id(0), x_ptr, y_ptr,
        E, I,
        x_stride_o, x_stride_i, x_stride_e,
        y_stride_o, y_stride_i, y_stride_e,
        # fuse: args
        BLOCK,
    )


@triton.jit
def log_softmax_kernel_loop(
    x_ptr, y_ptr,
    E, I,
    x_stride_o, x_stride_i, x_stride_e,
    y_stride_o, y_stride_i, y_stride_e,
    WORK,
    # fuse: params
    BLOCK: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        log_softmax_tile(
            tile, x_ptr, y_ptr,
            E, I,
            x_stride_o, x_stride_i, x_stride_e,
            y_stride_o, y_stride_i, y_stride_e,
            # fuse: args
            BLOCK,
        )


@triton.jit
def log_softmax_long_tile(
    tile, x_ptr, y_ptr,
    E, I,
    x_stride_o, x_stride_i, x_stride_e,
    y_stride_o, y_stride_i, y_stride_e,
    # fuse: params
    BLOCK: tl.constexpr,
):
    o = tile // E
    e = tile % E
    # The lowest finite number: a block of minus infinities then adds 0 and not NaN.
    best = -3.4028234663852886e38
    total = 0.0
    for start in range(0, I, BLOCK):
        i = start + tl.arange(0, BLOCK)
        # fuse: load X at o=o, i=i if i < I, e=e
        x = tl.load(
            x_ptr + o * x_stride_o + i * x_stride_i + e * x_stride_e,
            mask=i < I,
            other=float("-inf"),
        )
        x = x.to(tl.float32)
        top = tl.maximum(best, tl.max(x))
        total = total * tl.exp(best - top)
        total += tl.sum(tl.exp(x - top))
        best = top
    logarithm = tl.log(total)
    for start in range(0, I, BLOCK):
        i = start + tl.arange(0, BLOCK)
        # fuse: load X at o=o, i=i if i < I, e=e
        x = tl.load(
            x_ptr + o * x_stride_o + i * x_stride_i + e * x_stride_e,
            mask=i < I,
            other=float("-inf"),
        )
        x = x.to(tl.float32)
        y = x - best - logarithm
        # fuse: value y at o=o, i=i if i < I, e=e
        # fuse: store Y at o=o, i=i if i < I, e=e
        tl.store(y_ptr + o * y_stride_o + i * y_stride_i + e * y_stride_e, y, mask=i < I)


@triton.jit
def log_softmax_long_kernel(
    x_ptr, y_ptr,
    E, I,
    x_stride_o, x_stride_i, x_stride_e,
    y_stride_o, y_stride_i, y_stride_e,
    # fuse: params
    BLOCK: tl.constexpr,
):
    log_softmax_long_tile(
        tl.program_id(0), x_ptr, y_ptr,
        E, I,
        x_stride_o, x_stride_i, x_stride_e,
        y_stride_o, y_stride_i, y_stride_e,
        # fuse: args
        BLOCK,
    )


@triton.jit
def log_softmax_long_kernel_loop(
    x_ptr, y_ptr,
    E, I,
    x_stride_o, x_stride_i, x_stride_e,
    y_stride_o, y_stride_i, y_stride_e,
    WORK,
    # fuse: params
    BLOCK: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        log_softmax_long_tile(
            tile, x_ptr, y_ptr,
            E, I,
            x_stride_o, x_stride_i, x_stride_e,
            y_stride_o, y_stride_i, y_stride_e,
            # fuse: args
            BLOCK,
        )
