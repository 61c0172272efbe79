# compile: text_and_facts x_ptr=*f32 y_ptr=*f32 n=i32 BLOCK=8 NAME='gelu'
# buffer: x f32[8] iota
# buffer: y f32[8] empty
# launch: 1 x y 8
# value: y 0 2 4 6 8 10 12 14
import triton
import triton.language as tl


@triton.jit
def text_and_facts(x_ptr, y_ptr, n, BLOCK: tl.constexpr, NAME: tl.constexpr):
    tl.static_assert(BLOCK % 8 == 0, f"a block of {BLOCK}")
    tl.device_assert(n > 0, "n is positive")
    assert n < 100, "n is small"
    tl.assume(n > 0)
    HALF: tl.constexpr = BLOCK // 2
    both = tl.constexpr(2)
    at = tl.max_contiguous(tl.multiple_of(tl.arange(0, BLOCK), HALF), BLOCK)
    x = tl.load(x_ptr + at)
    if NAME == "gelu":
        x = x * both
    if isinstance(x, tl.tensor) and not isinstance(NAME, int):
        tl.static_print(f"{NAME}", x)
    if n < 0:
        print("never", x)
        tl.device_print("never", x)
    tl.debug_barrier()
    tl.store(y_ptr + at, x)
