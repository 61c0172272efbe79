# convert: emulator
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    either = x_ptr
    either = y_ptr
    tl.store(y_ptr + i, tl.load(either + i))


@triton.jit
def other(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    block = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (BLOCK,), (0,))
    chosen = tl.where(n > 0, x_ptr, y_ptr)
    tl.store(y_ptr + tl.arange(0, BLOCK), helper(x_ptr + 1, BLOCK).to(y_ptr.dtype.element_ty))
    tl.load(tl.multiple_of(x_ptr + n, 8))


@triton.jit
def helper(x_ptr, BLOCK: tl.constexpr):
    return tl.load(x_ptr + tl.arange(0, BLOCK))


def launch(x, y, n):
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    other[grid](x, y, n, BLOCK=triton.next_power_of_2(n))
    other[(1, 1, 1, 1)](x[0], y, n, BLOCK=16)
