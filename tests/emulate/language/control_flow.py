# compile: control_flow x_ptr=*i32 y_ptr=*i32 n=i32 MODE='second' bias=None
# buffer: x i32[8] iota
# buffer: y i32[16] zeros
# launch: 3 x y 5
# value: y 10 21 9 1 103 4 6 12 3 7 22 35 0 0 0 0
import triton
import triton.language as tl


@triton.jit
def control_flow(x_ptr, y_ptr, n, MODE: tl.constexpr, bias):
    pid = tl.program_id(0)
    if pid > 0:
        return
    total = 0
    for i in range(n):
        total += tl.load(x_ptr + i)
    tl.store(y_ptr, total)

    for i in range(0, 3, 2):
        for j in tl.range(n, 0, -1, num_stages=2):
            if j > 3 and i == 2:
                total += j
            elif j == 1 or j > 100:
                total += 1 - i
            else:
                pass
    tl.store(y_ptr + 1, total + 2)

    for step in tl.static_range(3):
        total -= step * 3 + 0
    while total > 9:
        total -= 1
    tl.store(y_ptr + 2, total)

    if MODE == "first":
        which = 0
    elif MODE == "second":
        which = 1
    else:
        which = 2
    tl.store(y_ptr + 3, which)
    if bias is None:
        which += 100
    if bias is not None:
        which += tl.load(bias)
    tl.store(y_ptr + 4, which + 2)
    if not (n > 7):
        which = 4
    tl.store(y_ptr + 5, which)
    tl.store(y_ptr + 6, 6 if n == 5 else -6)
    tl.store(y_ptr + 7, max(n, 12, 7))
    tl.store(y_ptr + 8, min(n, 3))
    negative = -n
    tl.store(y_ptr + 9, ~negative + 3)
    sizes = [10, 20, 30]
    tl.store(y_ptr + 10, sizes[1] + 2)
    first, (second, third) = 5, (10, 20)
    tl.store(y_ptr + 11, first + second + third)
