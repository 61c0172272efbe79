import triton
import triton.language as tl


# compile: shift x_ptr=*f32 n=i32 BLOCK=16
# buffer: x f32[32] iota
# launch: 2 x 32
@triton.jit
def shift(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    right = tl.load(x_ptr + offsets + 1, mask=offsets < n - 1, other=0.0)
    tl.debug_barrier()
    tl.store(x_ptr + offsets, right)  #~ A008
