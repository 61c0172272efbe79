import triton
import triton.language as tl


# compile: big y_ptr=*f32 BLOCK=65536
# buffer: y f32[65536] empty
# launch: 1 y
# memory: 100000
@triton.jit
def big(y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.exp(offsets * 0.001)  #~ L002
    y = tl.sqrt(x)
    tl.store(y_ptr + offsets, x + y)
