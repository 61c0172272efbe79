"""max(x, 0) over a flattened index space; NaN is kept."""

import triton
import triton.language as tl


@triton.jit
def relu_tile(
    tile, x_ptr, y_ptr, E,
    # fuse: params
    BLOCK: tl.constexpr,
):
    e = tile * BLOCK + tl.arange(0, BLOCK)
    # fuse: load X at e=e if e < E
    x = tl.load(x_ptr + e, mask=e < E, other=0)
    y = tl.where(x < 0, 0, x)
    # fuse: value y at e=e if e < E
    # fuse: store Y at e=e if e < E
    tl.store(y_ptr + e, y, mask=e < E)


@triton.jit
def relu_kernel(
    x_ptr, y_ptr, E,
    # fuse: params
    BLOCK: tl.constexpr,
):
    relu_tile(
        tl.program_id(0), x_ptr, y_ptr, E,
        # fuse: args
        BLOCK,
    )


@triton.jit
def relu_kernel_loop(
    x_ptr, y_ptr, E, WORK,
    # fuse: params
    BLOCK: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        relu_tile(
            tile, x_ptr, y_ptr, E,
            # fuse: args
            BLOCK,
        )
