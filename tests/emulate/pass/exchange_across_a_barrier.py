import triton
import triton.language as tl


# compile: turned x_ptr=*f32 y_ptr=*f32
# buffer: x f32[16] iota
# buffer: y f32[16] iota
# launch: 1 x y
# value: x 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0
# value: y 1*16
@triton.jit
def turned(x_ptr, y_ptr):
    at = tl.arange(0, 16)
    x = tl.load(x_ptr + at)
    tl.debug_barrier()
    tl.store(x_ptr + 15 - at, x)
    # A reduction brings all lanes together, and lanes that keep to their own element need nothing.
    y = tl.load(y_ptr + at)
    tl.store(y_ptr + at, y - y + 1.0)
    again = tl.load(y_ptr + at)
    total = tl.sum(again)
    tl.store(y_ptr + 15 - at, again * total / 16.0)
