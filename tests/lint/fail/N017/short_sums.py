# lint: ascend910b4 a_ptr=*f16 b_ptr=*f16
import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K, B: tl.constexpr = 64):
    m = tl.arange(0, B)
    acc = tl.zeros((B, B), dtype=tl.float16)  #~ N017
    block = tl.zeros((B, B), dtype=tl.float16)
    for start in range(0, K, B):
        k = start + tl.arange(0, B)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)  #~ N010 N020
        b = tl.load(b_ptr + k[:, None] * B + m[None, :], mask=k[:, None] < K, other=0.0)  #~ N010
        acc += tl.dot(a, b, out_dtype=tl.float16)  #~ N017
    at = c_ptr + m[:, None] * B + m[None, :]
    tl.store(at, acc + block, mask=m[:, None] < B)  #~ N010
