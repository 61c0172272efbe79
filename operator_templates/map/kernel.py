"""Any elementwise or movement operator: binding replaces the body.

Unbound, the body writes each element's own flat index.
"""

import triton
import triton.language as tl


@triton.jit
def map_tile(
    tile,
    # fuse: params
    y_ptr, E, BLOCK: tl.constexpr,
):
    e = tile * BLOCK + tl.arange(0, BLOCK)
    # fuse: body y at e=e if e < E
    y = e
    # fuse: store Y at e=e if e < E
    tl.store(y_ptr + e, y, mask=e < E)


@triton.jit
def map_kernel(
    # fuse: params
    y_ptr, E, BLOCK: tl.constexpr,
):
    map_tile(
        tl.program_id(0),
        # fuse: args
        y_ptr, E, BLOCK,
    )


@triton.jit
def map_kernel_loop(
    # fuse: params
    y_ptr, E, WORK, BLOCK: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        map_tile(
            tile,
            # fuse: args
            y_ptr, E, BLOCK,
        )
