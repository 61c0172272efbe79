# compile: early x_ptr=*f32 n=i32 BLOCK=64
# compile: branches x_ptr=*f32 n=i32 WHICH=2
# compile: loops x_ptr=*f32 n=i32
# compile: helpers x_ptr=*f32 n=i32
import triton
import triton.language as tl

SCALE = tl.constexpr(3)


@triton.jit
def early(x_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    shift = 0
    if pid > n:
        return
    elif pid == 3:
        shift = 5
    if n == 7:
        shift += 1
        if pid == 1:
            return
    at = pid * BLOCK + tl.arange(0, BLOCK) + shift
    tl.store(x_ptr + at, 1.0)


@triton.jit
def branches(x_ptr, n, WHICH: tl.constexpr):
    x = tl.load(x_ptr)
    if WHICH == 1:
        x = x.to(tl.float16)
    elif WHICH == 2:
        x *= SCALE
    if n > 0:
        x += 1
        y = x
    else:
        y = -x
    z = x if n > 3 else y
    if n > 5 and z > 0.5:
        z = z + 1
    tl.store(x_ptr, z)


@triton.jit
def loops(x_ptr, n):
    total = 0.0
    kept = 2.0
    for i in range(n):
        row = 0.0
        for j in tl.range(i, n, 2, num_stages=3):
            row += tl.load(x_ptr + i * n + j)
            if j == 4:
                total += kept
        total += row
    for k in tl.static_range(3):
        total += k
    for down in range(10, 0, -3):
        total += down
    while n > 0:
        n = n // 2
        total += n % 3
    tl.store(x_ptr, total)


@triton.jit
def clip(v, low, high=6.0):
    if v < low:
        return low, 1
    if v > high:
        return high, 2
    return v, 0


@triton.jit
def twice(v, f: tl.constexpr = 2):
    return v * f


@triton.jit
def helpers(x_ptr, n):
    v = twice(tl.load(x_ptr + n))
    v, why = clip(v, n.to(tl.float32), high=twice(v, f=3))
    tl.store(x_ptr, v + why)
