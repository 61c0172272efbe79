import triton
import triton.language as tl


# compile: quiet x_ptr=*f32 s_ptr=*f32 y_ptr=*f32 z_ptr=*f32 n=i32
# buffer: x f32[64] iota
# buffer: s f32[1] zeros
# buffer: y f32[64] empty
# buffer: z f32[4] empty
# launch: 4 x s y z 60
# value: s 1770
@triton.jit
def quiet(x_ptr, s_ptr, y_ptr, z_ptr, n):
    pid = tl.program_id(0)
    at = pid * 16 + tl.arange(0, 16)
    inside = at < n
    # An infinity as neutral element, NaN in lanes that are not stored, one element from several lanes at once.
    x = tl.load(x_ptr + at, mask=inside, other=float("-inf"))
    most = tl.max(x)
    tl.store(z_ptr + pid + at * 0, most)
    root = tl.where(inside, tl.sqrt(x), 0.0)
    tl.store(y_ptr + at, root)
    # Sums in another order differ by their rounding.
    tl.atomic_add(s_ptr, tl.sum(tl.where(inside, x, 0.0)))
    shifted = tl.where(at < 64, 1 << (at & 15), 0)
    tl.store(y_ptr + at, root, mask=shifted == -1)
