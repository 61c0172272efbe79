# lint: none
# compile: total x_ptr=*f32 y_ptr=*f32 n=i32 BLOCK=16
# buffer: x f32[40]
# buffer: y f32[4]
# launch: 1 x y 37
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = 0.0
    at = x_ptr
    offsets = tl.arange(0, BLOCK)
    blocks = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        x = tl.load(at + offsets, mask=start + offsets < n, other=0.0)
        acc = acc + tl.sum(x, axis=0)  # the row's sum
        blocks = (blocks +
                  x * 2.0)
        # Moves on.
        at   =   at + BLOCK
    tl.store(y_ptr, acc)
    tl.store(y_ptr + 1, tl.max(
        blocks,
        axis=0,
    ))
    tl.store(y_ptr + 2, blocks.min(0))
    tl.store(y_ptr + 3, tl.sum(x, axis=0, dtype=tl.float32) if False else tl.min(input=blocks, axis=0))
