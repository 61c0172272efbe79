import triton
import triton.language as tl


# compile: smooth x_ptr=*f32 n=i32 BLOCK=16
# buffer: x f32[32] iota
# launch: 2 x 32
@triton.jit
def smooth(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x_ptr + offsets - 1, mask=offsets > 0, other=0.0)  #~ A008
    tl.debug_barrier()
    tl.store(x_ptr + offsets, left + 1.0)
