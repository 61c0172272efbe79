# compile: append x_ptr=*f32
# compile: broken x_ptr=*f32
# compile: lost x_ptr=*f32 n=i32
# compile: plain_global x_ptr=*f32
# compile: return_in_loop x_ptr=*f32 n=i32
# compile: recursive x_ptr=*f32
# compile: missing x_ptr=*f32
# compile: nowhere x_ptr=*f32
# compile: no_such_name x_ptr=*f32
# compile: wide x_ptr=*f32
import triton
import triton.language as tl

FACTOR = 2


@triton.jit
def append(x_ptr):
    parts = []
    parts.append(1)


@triton.jit
def broken(x_ptr):
    for i in range(4):
        if i == 2:
            break


@triton.jit
def lost(x_ptr, n):
    if n > 0:
        y = 1.0
    tl.store(x_ptr, y)


@triton.jit
def plain_global(x_ptr):
    tl.store(x_ptr, FACTOR)


@triton.jit
def return_in_loop(x_ptr, n):
    for i in range(n):
        if i == 2:
            return


@triton.jit
def again(v):
    return again(v)


@triton.jit
def recursive(x_ptr):
    tl.store(x_ptr, again(1.0))


@triton.jit
def missing(x_ptr, n):
    pass


@triton.jit
def no_such_name(x_ptr):
    tl.store(x_ptr, tl.maximumm(1.0, 2.0))


@triton.jit
def wide(x_ptr):
    at = tl.arange(0, 65536)[:, None] + tl.arange(0, 65536)[None, :]
    tl.store(x_ptr + at, 1.0)
