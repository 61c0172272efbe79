"""a + b over a flattened index space; an operand that is broadcast gets its own address."""

import triton
import triton.language as tl


@triton.jit
def add_tile(
    tile, a_ptr, b_ptr, y_ptr, E,
    # fuse: params
    BLOCK: tl.constexpr,
):
    e = tile * BLOCK + tl.arange(0, BLOCK)
    # fuse: load A at e=e if e < E
    a = tl.load(a_ptr + e, mask=e < E, other=0)
    # fuse: load B at e=e if e < E
    b = tl.load(b_ptr + e, mask=e < E, other=0)
    y = a + b
    # fuse: value y at e=e if e < E
    # fuse: store Y at e=e if e < E
    tl.store(y_ptr + e, y, mask=e < E)


@triton.jit
def add_kernel(
    a_ptr, b_ptr, y_ptr, E,
    # fuse: params
    BLOCK: tl.constexpr,
):
    add_tile(
        tl.program_id(0), a_ptr, b_ptr, y_ptr, E,
        # fuse: args
        BLOCK,
    )


@triton.jit
def add_kernel_loop(
    a_ptr, b_ptr, y_ptr, E, WORK,
    # fuse: params
    BLOCK: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        add_tile(
            tile, a_ptr, b_ptr, y_ptr, E,
            # fuse: args
            BLOCK,
        )
