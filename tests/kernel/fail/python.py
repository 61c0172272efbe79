# compile: a_dict x_ptr=*f32
# compile: a_lambda x_ptr=*f32
# compile: a_set x_ptr=*f32
# compile: a_generator x_ptr=*f32
# compile: a_dict_comprehension x_ptr=*f32
# compile: membership x_ptr=*f32 A="gelu"
# compile: nested x_ptr=*f32
# compile: imports x_ptr=*f32
# compile: a_class x_ptr=*f32
# compile: raises x_ptr=*f32
# compile: tries x_ptr=*f32
# compile: deletes x_ptr=*f32
# compile: outer x_ptr=*f32
# compile: two_targets x_ptr=*f32
# compile: starred x_ptr=*f32
# compile: attribute x_ptr=*f32
# compile: element x_ptr=*f32
# compile: too_many x_ptr=*f32
# compile: continues x_ptr=*f32
# compile: loop_else x_ptr=*f32
# compile: over_a_list x_ptr=*f32
# compile: float_bound x_ptr=*f32
# compile: runtime_static x_ptr=*f32 n=i32
# compile: return_in_while x_ptr=*f32 n=i32
# compile: changes_in_loop x_ptr=*f32 n=i32
# compile: changes_in_if x_ptr=*f32 n=i32
# compile: differs_in_if x_ptr=*f32 n=i32
# compile: three x_ptr=*f32
# compile: backwards x_ptr=*f32
# compile: a_block x_ptr=*f32
# compile: power x_ptr=*f32 n=i32
# compile: matrix x_ptr=*f32 n=i32
# compile: asserted x_ptr=*f32 n=i32
# compile: formatted x_ptr=*f32 n=i32
# compile: conditional x_ptr=*f32 n=i32
# compile: again x_ptr=*f32 n=i32
# compile: called_twice x_ptr=*f32 n=i32
# compile: no_function x_ptr=*f32
# compile: returns_differ x_ptr=*f32 n=i32
# compile: empty_while x_ptr=*f32
# compile: type_called x_ptr=*f32
# compile: index x_ptr=*f32
# compile: text_condition x_ptr=*f32 A="gelu"
import triton
import triton.language as tl


def plain(x):
    return x


@triton.jit
def a_dict(x_ptr):
    sizes = {"a": 1}
    tl.store(x_ptr, sizes["a"])


@triton.jit
def a_lambda(x_ptr):
    f = lambda v: v + 1
    tl.store(x_ptr, f(1.0))


@triton.jit
def a_set(x_ptr):
    tl.store(x_ptr, len({1, 2}))


@triton.jit
def a_generator(x_ptr):
    tl.store(x_ptr, max(v for v in (1, 2)))


@triton.jit
def a_dict_comprehension(x_ptr):
    tl.store(x_ptr, len({v: v for v in (1, 2)}))


@triton.jit
def membership(x_ptr, A: tl.constexpr):
    if A in ("gelu", "silu"):
        tl.store(x_ptr, 1.0)


@triton.jit
def nested(x_ptr):
    def f(v):
        return v

    tl.store(x_ptr, f(1.0))


@triton.jit
def imports(x_ptr):
    import math

    tl.store(x_ptr, math.pi)


@triton.jit
def a_class(x_ptr):
    class C:
        pass

    tl.store(x_ptr, 1.0)


@triton.jit
def raises(x_ptr):
    raise ValueError("no")


@triton.jit
def tries(x_ptr):
    try:
        tl.store(x_ptr, 1.0)
    except ValueError:
        pass


@triton.jit
def deletes(x_ptr):
    v = 1.0
    del v


@triton.jit
def outer(x_ptr):
    global counter
    tl.store(x_ptr, 1.0)


@triton.jit
def two_targets(x_ptr):
    a = b = 1.0
    tl.store(x_ptr, a + b)


@triton.jit
def starred(x_ptr):
    a, *b = (1.0, 2.0, 3.0)
    tl.store(x_ptr, a)


@triton.jit
def attribute(x_ptr):
    x_ptr.name = 1.0


@triton.jit
def element(x_ptr):
    v = tl.zeros((4,), tl.float32)
    v[0] = 1.0


@triton.jit
def too_many(x_ptr):
    a, b = (1.0, 2.0, 3.0)
    tl.store(x_ptr, a + b)


@triton.jit
def continues(x_ptr):
    for i in range(4):
        if i == 2:
            continue
        tl.store(x_ptr + i, 1.0)


@triton.jit
def loop_else(x_ptr):
    for i in range(4):
        tl.store(x_ptr + i, 1.0)
    else:
        tl.store(x_ptr, 2.0)


@triton.jit
def over_a_list(x_ptr):
    for v in [1.0, 2.0]:
        tl.store(x_ptr, v)


@triton.jit
def float_bound(x_ptr):
    for i in range(4.0):
        tl.store(x_ptr, i)


@triton.jit
def runtime_static(x_ptr, n):
    for i in tl.static_range(n):
        tl.store(x_ptr + i, 1.0)


@triton.jit
def return_in_while(x_ptr, n):
    while n > 0:
        if n == 4:
            return
        n -= 1


@triton.jit
def changes_in_loop(x_ptr, n):
    v = 0
    for i in range(n):
        v = v + 0.5
    tl.store(x_ptr, v)


@triton.jit
def changes_in_if(x_ptr, n):
    v = 0
    if n > 4:
        v = 0.5
    tl.store(x_ptr, v)


@triton.jit
def differs_in_if(x_ptr, n):
    if n > 4:
        v = 0.5
    else:
        v = n
    tl.store(x_ptr, v)


@triton.jit
def three(x_ptr):
    tl.store(x_ptr + tl.arange(0, 3), 1.0)


@triton.jit
def backwards(x_ptr):
    tl.store(x_ptr + tl.arange(8, 4), 1.0)


@triton.jit
def a_block(x_ptr):
    if tl.arange(0, 4) > 2:
        tl.store(x_ptr, 1.0)


@triton.jit
def power(x_ptr, n):
    tl.store(x_ptr, n**2)


@triton.jit
def matrix(x_ptr, n):
    a = tl.zeros((16, 16), tl.float32)
    tl.store(x_ptr, tl.sum(a @ a))


@triton.jit
def asserted(x_ptr, n):
    tl.static_assert(n > 4)


@triton.jit
def formatted(x_ptr, n):
    tl.device_assert(n > 4, f"n is {n}")


@triton.jit
def conditional(x_ptr, n):
    tl.store(x_ptr, 1 if n > 4 else 0.5)


@triton.jit
def again(x_ptr, n):
    v: tl.constexpr = 1
    v: tl.constexpr = 2
    tl.store(x_ptr, v)


@triton.jit
def helper(a, b):
    return a + b


@triton.jit
def called_twice(x_ptr, n):
    tl.store(x_ptr, helper(n, a=n))


@triton.jit
def no_function(x_ptr):
    tl.store(x_ptr, plain(1.0))


@triton.jit
def either(n):
    if n > 0:
        return 1.0
    return tl.zeros((4,), tl.float32)


@triton.jit
def returns_differ(x_ptr, n):
    tl.store(x_ptr, either(n))


@triton.jit
def empty_while(x_ptr):
    while True:
        tl.store(x_ptr, 1.0)


@triton.jit
def type_called(x_ptr):
    tl.store(x_ptr, tl.float32(0.0))


@triton.jit
def index(x_ptr):
    v = tl.arange(0, 4)
    tl.store(x_ptr, v[1])


@triton.jit
def text_condition(x_ptr, A: tl.constexpr):
    if A:
        tl.store(x_ptr, 1.0)
