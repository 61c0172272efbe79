import triton
import triton.language as tl

LOWER = -7 // 2
REST = -7 % 2


# compile: quotients x_ptr=*i32 y_ptr=*i32 n=i32 C=-7
# buffer: x i32[4] -7
# buffer: y i32[16] empty
# launch: 1 x y -7
# value: y -3 -1 -3 -1 -3 -1 -4 1 -4 1 -4 1 0 0 0 0
@triton.jit
def quotients(x_ptr, y_ptr, n, C: tl.constexpr, lower: tl.constexpr = LOWER, rest: tl.constexpr = REST):
    # Lanes, a scalar that is loaded, a run-time argument.
    lane = tl.load(x_ptr + tl.arange(0, 4))
    tl.store(y_ptr, tl.max(lane // 2))
    tl.store(y_ptr + 1, tl.max(lane % 2))
    x = tl.load(x_ptr)
    tl.store(y_ptr + 2, x // 2)
    tl.store(y_ptr + 3, x % 2)
    tl.store(y_ptr + 4, n // 2)
    tl.store(y_ptr + 5, n % 2)
    # Python's own arithmetic: of constexprs, in the file, in a default.
    tl.store(y_ptr + 6, C // 2)
    tl.store(y_ptr + 7, C % 2)
    tl.store(y_ptr + 8, -7 // 2)
    tl.store(y_ptr + 9, -7 % 2)
    tl.store(y_ptr + 10, lower)
    tl.store(y_ptr + 11, rest)
    tl.store(y_ptr + 12 + tl.arange(0, 4), lane * 0)
