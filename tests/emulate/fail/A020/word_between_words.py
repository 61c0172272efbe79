import triton
import triton.language as tl


# compile: words b_ptr=*u8 y_ptr=*i32
# buffer: b u8[16] zeros
# buffer: y i32[1] zeros
# launch: 1 b y
@triton.jit
def words(b_ptr, y_ptr):
    word = (b_ptr + 2).to(tl.pointer_type(tl.int32))
    tl.store(y_ptr, tl.load(word))  #~ A020
