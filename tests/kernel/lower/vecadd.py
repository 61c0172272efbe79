# compile: add x_ptr=*f32 y_ptr=*f32 out_ptr=*f32 n=i32 BLOCK=1024
# compile: add x_ptr=*f16 y_ptr=*f32 out_ptr=*bf16 n=i64 BLOCK=128
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(axis=0) * BLOCK
    at = first + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, x + y, mask=inside)
