# compile: tiles x_ptr=*f16 y_ptr=*f16 M=i32 K=i64 BM=16 BK=32
# compile: unchecked x_ptr=*f32 n=i32 B=8
# compile: by_helper x_ptr=*f32 n=i32 B=8
# compile: chosen x_ptr=*f32 n=i32 B=8
# compile: described x_ptr=*f32 y_ptr=*f32 M=i32 N=i32 B=8
# compile: from_the_host x=desc:f16:8x16 y=desc:f16:8x16 n=i32
# compile: rows x=desc:f32:1x16 at_ptr=*i32
import triton
import triton.language as tl


@triton.jit
def tiles(x_ptr, y_ptr, M, K, BM: tl.constexpr, BK: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (M, K), (K, 1), (tl.program_id(0) * BM, 0), (BM, BK), (1, 0))
    y = tl.make_block_ptr(y_ptr, shape=(M, K), strides=(K, 1), offsets=(tl.program_id(0) * BM, 0), block_shape=(BM, BK), order=(1, 0))
    for k in range(0, tl.cdiv(K, BK)):
        v = tl.load(x, boundary_check=(0, 1), padding_option="zero")
        tl.store(y, (v * 2).to(y.dtype.element_ty), boundary_check=(0, 1))
        x = tl.advance(x, (0, BK))
        y = y.advance((0, BK))


@triton.jit
def unchecked(x_ptr, n, B: tl.constexpr):
    p = tl.make_block_ptr(x_ptr, [n], [1], [4], [B], [0])
    v = tl.load(p, boundary_check=[0])
    tl.store(p, v)
    tl.store(p, 0.0, boundary_check=(0,))


@triton.jit
def moved(p, by: tl.constexpr):
    return tl.advance(p, (by,)), by


@triton.jit
def by_helper(x_ptr, n, B: tl.constexpr):
    p = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (B,), (0,))
    pair = moved(p, 8)
    for i in range(2):
        tl.store(pair[0], tl.load(p))
        pair = moved(pair[0], 8)


@triton.jit
def chosen(x_ptr, n, B: tl.constexpr):
    p = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (B,), (0,))
    if n > 4:
        p = tl.advance(p, (n,))
    tl.store(p, 1.0)


@triton.jit
def described(x_ptr, y_ptr, M, N, B: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[B, B])
    y = tl.make_tensor_descriptor(y_ptr, [M, N], [N, 1], [B, B], padding_option="nan")
    at = tl.program_id(0) * B
    v = x.load([at, 4]) + tl.load_tensor_descriptor(y, [at, 0])
    y.store([at, 4], v.to(tl.float16))
    tl.store(y_ptr, x.shape[0] + x.block_shape[1])


@triton.jit
def from_the_host(x, y, n):
    for i in range(n):
        y.store([i * 8, 0], x.load([i * 8, 16]).to(y.dtype))


@triton.jit
def rows(x, at_ptr):
    at = tl.load(at_ptr + tl.arange(0, 8))
    v = x.gather(at, 16)
    x.scatter(v + 1, at, 0)
