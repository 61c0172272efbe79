import triton
import triton.language as tl


# compile: norm x_ptr=*f16 n=i32 BLOCK=64
# buffer: x f16[64] 40
# launch: 1 x 60
@triton.jit
def norm(x_ptr, n, BLOCK: tl.constexpr):
    # In place: the sum is 96000, and an fp16 ends at 65504.
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    total = tl.sum(x * x).to(tl.float16)  #~ A024
    tl.store(x_ptr + at, (x / tl.sqrt(total.to(tl.float32))).to(tl.float16), mask=at < n)
