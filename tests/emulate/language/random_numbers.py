# compile: random_numbers y_ptr=*f32 z_ptr=*u32 seed=i32
# buffer: y f32[1] zeros
# buffer: z u32[4] zeros
# launch: 1 y z 0
# value: z 1 1 1 1
import triton
import triton.language as tl


@triton.jit
def random_numbers(y_ptr, z_ptr, seed):
    drawn = tl.rand(seed, tl.arange(0, 16))
    inside = (drawn >= 0.0) & (drawn < 1.0)
    tl.store(y_ptr, tl.sum(inside.to(tl.float32)) - 16)
    zero = (seed * 0).to(tl.uint32)
    a, b, c, d = tl.philox(0, zero, zero, zero, zero)
    tl.store(z_ptr, (a == 0x6627E8D5).to(tl.uint32))
    tl.store(z_ptr + 1, (b == 0xE169C58D).to(tl.uint32))
    tl.store(z_ptr + 2, (c == 0xBC57AC4C).to(tl.uint32))
    tl.store(z_ptr + 3, (d == 0x9B00DBD8).to(tl.uint32))
