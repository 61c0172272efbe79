import triton
import triton.language as tl


# compile: kinds i_ptr=*i32 u_ptr=*u32 l_ptr=*i64 f_ptr=*f32 d_ptr=*f64 h_ptr=*f16 b_ptr=*bf16 old_ptr=*f32
# buffer: i i32[8] 5
# buffer: u u32[4] 5
# buffer: l i64[4] 5
# buffer: f f32[8] -2
# buffer: d f64[2] 5
# buffer: h f16[2] 5
# buffer: b bf16[2] 256
# buffer: old f32[4] zeros
# launch: 1 i u l f d h b old
# value: i 9 5 5 -1 4 7 3 11
# value: u 4294967295 5 0 5
# value: l 5 8589934592 5 5
# value: f -1 -2 4 -2 -3 -2 -2 0.5
# value: d 5.5 2
# value: h 6 5
# value: b 256 260
# value: old -2 -2 -2 -2
@triton.jit
def kinds(i_ptr, u_ptr, l_ptr, f_ptr, d_ptr, h_ptr, b_ptr, old_ptr):
    tl.atomic_max(i_ptr, 9)
    tl.atomic_max(i_ptr + 1, -9)
    tl.atomic_min(i_ptr + 2, 9)
    tl.atomic_min(i_ptr + 3, -1)
    tl.atomic_and(i_ptr + 4, 12)
    tl.atomic_or(i_ptr + 5, 2)
    tl.atomic_xor(i_ptr + 6, 6)
    tl.atomic_xchg(i_ptr + 7, 11)
    # Without a sign, -1 is the greatest number.
    tl.atomic_max(u_ptr, -1)
    tl.atomic_min(u_ptr + 1, -1)
    tl.atomic_min(u_ptr + 2, 0)
    tl.atomic_max(u_ptr + 3, 0)
    tl.atomic_cas(l_ptr, tl.full((), 4, tl.int64), tl.full((), 9, tl.int64))
    tl.atomic_max(l_ptr + 1, 8589934592)
    lane = tl.arange(0, 4)
    old = tl.atomic_max(f_ptr + lane, tl.where(lane == 0, -1.0, tl.where(lane == 2, 4.0, -2.5)))
    tl.store(old_ptr + lane, old)
    tl.atomic_min(f_ptr + 4 + lane, tl.where(lane == 0, -3.0, 7.0), mask=lane < 3)
    tl.atomic_add(f_ptr + 7, 2.5)
    tl.atomic_add(d_ptr, 0.5)
    tl.atomic_min(d_ptr + 1, 2.0)
    tl.atomic_add(h_ptr, 1.0)
    # bf16 has 8 bits: 256 and 1 make 256 again, 256 and 3 make 260.
    tl.atomic_add(b_ptr, 1.0)
    tl.atomic_add(b_ptr + 1, 3.0)
