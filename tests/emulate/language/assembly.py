# compile: assembly x_ptr=*i32 y_ptr=*i32
# buffer: x i32[8] iota
# buffer: y i32[8] empty
# launch: 1 x y
# value: y 3 4 5 6 7 8 9 10
import triton
import triton.language as tl


@triton.jit
def assembly(x_ptr, y_ptr):
    at = tl.arange(0, 8)
    x = tl.load(x_ptr + at)
    y = tl.inline_asm_elementwise("add.s32 $0, $1, 3;", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(y_ptr + at, y)
