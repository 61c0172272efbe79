import triton
import triton.language as tl


# compile: seen f_ptr=*f32 i_ptr=*i32 h_ptr=*f16 y_ptr=*i32 b_ptr=*u8
# buffer: f f32[2] 1
# buffer: i i32[2] zeros
# buffer: h f16[4] 1
# buffer: y i32[4] empty
# buffer: b u8[4] zeros
# launch: 1 f i h y b
# value: f -1 1
# value: i 67305985 255
# value: y 1065353216 1006648320 1 4
# value: h 1 0 1 1
# value: b 255 255 255 127
@triton.jit
def seen(f_ptr, i_ptr, h_ptr, y_ptr, b_ptr):
    bits = f_ptr.to(tl.pointer_type(tl.int32))
    tl.store(y_ptr, tl.load(bits))
    tl.store(bits, tl.load(bits) | -2147483648)
    # Two halves in one word, and the bytes of a word.
    tl.store(y_ptr + 1, tl.load(h_ptr.to(tl.pointer_type(tl.int32))))
    half = (h_ptr + 1).to(tl.pointer_type(tl.int16), bitcast=True)
    tl.store(half, 0)
    bytes = i_ptr.to(tl.pointer_type(tl.uint8))
    at = tl.arange(0, 4)
    tl.store(bytes + at, at + 1)
    tl.store(bytes + 4, 255)
    tl.store(y_ptr + 2, (i_ptr.to(tl.int64) % 16 == 0).to(tl.int32))
    tl.store(y_ptr + 3, ((i_ptr + 1).to(tl.int64) - i_ptr.to(tl.int64)).to(tl.int32))
    tl.store((b_ptr.to(tl.int64)).to(tl.pointer_type(tl.int32)), 2147483647)
