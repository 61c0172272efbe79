# How a bound template brings an index from the end to the beginning: `//` and `%` truncate.
import triton
import triton.language as tl


# compile: gather y_ptr=*i32 x_ptr=*i32 BLOCK=16
# buffer: x i32[5] iota
# buffer: y i32[16] empty
# launch: 1 y x
@triton.jit
def gather(y_ptr, x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK) - 8
    remainder = (i % 5 + 5) % 5
    quotient = (i - (i % 5 + 5) % 5) // 5
    tl.device_assert(quotient * 5 + remainder == i, "they make the whole")
    tl.device_assert((remainder >= 0) & (remainder < 5), "the remainder is in range")
    x = tl.load(x_ptr + remainder)
    tl.device_assert(x == remainder, "the element is found")
    tl.store(y_ptr + tl.arange(0, BLOCK), quotient)
