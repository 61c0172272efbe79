# compile: shapes x_ptr=*i32 y_ptr=*i32
# buffer: x i32[8] iota
# buffer: y i32[104] zeros
# launch: 1 x y
# value: y 0 4 1 5 2 6 3 7 0 4 1 5 2 6 3 7 0 4 1 5 2 6 3 7 7 6 5 4 3 2 1 0 0 1 2 3 4 5 6 7 0 2 4 6 1 3 5 7 0 4 0 1 1 5 2 3 2 6 4 5 3 7 6 7 0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 3 3 3 3 3 3 3 3 1 3 5 7 9 11 13 15 0 2 4 6 8 10 12 14
import triton
import triton.language as tl


@triton.jit
def shapes(x_ptr, y_ptr):
    at = tl.arange(0, 8)
    x = tl.load(x_ptr + at)
    square = tl.reshape(x, (2, 4))
    turned = tl.arange(0, 4)[:, None] * 2 + tl.arange(0, 2)[None, :]
    tl.store(y_ptr + turned, tl.trans(square))
    tl.store(y_ptr + 8 + turned, square.trans())
    tl.store(y_ptr + 16 + turned, tl.permute(square, (1, 0)))
    tl.store(y_ptr + 24 + at, tl.flip(x))
    tl.store(y_ptr + 32 + at, tl.ravel(square))
    even, odd = tl.split(x.reshape(4, 2))
    tl.store(y_ptr + 40 + at, tl.ravel(tl.join(even, odd).permute(1, 0)))
    low, high = square.permute(1, 0).split()
    pair = tl.arange(0, 4) * 4
    tl.store(y_ptr + 48 + pair, low)
    tl.store(y_ptr + 49 + pair, high)
    tl.store(y_ptr + 50 + pair, even)
    tl.store(y_ptr + 51 + pair, odd)
    tl.store(y_ptr + 64 + tl.arange(0, 16), tl.interleave(x, x))
    three = tl.full((1,), 3, tl.int32)
    tl.store(y_ptr + 80 + at, tl.broadcast_to(three, (8,)))
    cube = x[:, None, None] + x[None, :, None].broadcast_to(8, 8, 1)
    cell = (at[:, None, None] == at[None, :, None]).to(tl.int32)
    tl.store(y_ptr + 88 + at, tl.sum(tl.sum(cube * cell, 2), 1) + 1)
    tl.store(y_ptr + 96 + at[:], x[:] * 2)
