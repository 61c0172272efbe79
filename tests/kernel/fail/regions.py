# compile: masked x_ptr=*f32 n=i32
# compile: wide x_ptr=*f32 n=i64
# compile: other_type x_ptr=*f16 n=i32
# compile: other_shape x_ptr=*f32 n=i32
# compile: no_axis x_ptr=*f32 n=i32
# compile: integer_nan x_ptr=*i32 n=i32
# compile: checked_pointer x_ptr=*f32 n=i32
# compile: ranks x_ptr=*f32 n=i32
# compile: strided x_ptr=*f32 n=i32
# compile: narrow x_ptr=*f16 n=i32
# compile: few_rows x=desc:f32:1x16 at_ptr=*i32
# compile: many_rows x=desc:f32:2x16 at_ptr=*i32
import triton
import triton.language as tl


@triton.jit
def masked(x_ptr, n):
    p = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (8,), (0,))
    tl.load(p, mask=tl.arange(0, 8) < n)


@triton.jit
def wide(x_ptr, n):
    p = tl.make_block_ptr(x_ptr, (n,), (1,), (n,), (8,), (0,))
    tl.load(p)


@triton.jit
def other_type(x_ptr, n):
    p = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (8,), (0,))
    tl.store(p, tl.load(p).to(tl.float32))


@triton.jit
def other_shape(x_ptr, n):
    p = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (8,), (0,))
    tl.store(p, tl.zeros((16,), tl.float32))


@triton.jit
def no_axis(x_ptr, n):
    p = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (8,), (0,))
    tl.load(p, boundary_check=(1,))


@triton.jit
def integer_nan(x_ptr, n):
    p = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (8,), (0,))
    tl.load(p, boundary_check=(0,), padding_option="nan")


@triton.jit
def checked_pointer(x_ptr, n):
    tl.load(x_ptr + tl.arange(0, 8), boundary_check=(0,))


@triton.jit
def ranks(x_ptr, n):
    tl.make_block_ptr(x_ptr, (n, n), (1,), (0, 0), (8, 8), (1, 0))


@triton.jit
def strided(x_ptr, n):
    tl.make_tensor_descriptor(x_ptr, [n, n], [n, 2], [8, 8])


@triton.jit
def narrow(x_ptr, n):
    tl.make_tensor_descriptor(x_ptr, [n, n], [n, 1], [8, 4])


@triton.jit
def few_rows(x, at_ptr):
    x.gather(tl.load(at_ptr + tl.arange(0, 4)), 0)


@triton.jit
def many_rows(x, at_ptr):
    x.gather(tl.load(at_ptr + tl.arange(0, 8)), 0)
