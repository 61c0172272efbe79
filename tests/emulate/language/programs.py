# compile: programs x_ptr=*f32 y_ptr=*f32 n=i32 BLOCK=4
# buffer: x f32[10] iota
# buffer: y f32[10] zeros
# launch: 1,2,3 x y 10
# value: y 0 10 20 30 40 50 60 70 80 90
import triton
import triton.language as tl


@triton.jit
def programs(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Each program of the second axis takes a part of x; those of the third agree."""
    pid = tl.program_id(axis=1)
    parts = tl.num_programs(1)
    for part in range(pid, triton.cdiv(10, BLOCK), parts):
        at = part * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        x = tl.load(x_ptr + at, mask=inside, other=0.0)
        if tl.program_id(2) == tl.num_programs(2) - 1:
            tl.store(y_ptr + at, x * 10, mask=inside)
