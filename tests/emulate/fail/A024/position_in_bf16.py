import triton
import triton.language as tl


# compile: positions y_ptr=*bf16 n=i32
# buffer: y bf16[320] empty
# launch: 5 y 320
@triton.jit
def positions(y_ptr, n):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    # From 257 on only every second position has a number of its own.
    tl.store(y_ptr + at, at.to(tl.bfloat16), mask=at < n)  #~ A024
