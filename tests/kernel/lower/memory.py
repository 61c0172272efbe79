# compile: atomics p_ptr=*i32 u_ptr=*u32 l_ptr=*i64 f_ptr=*f32 d_ptr=*f64 h_ptr=*f16 b_ptr=*bf16 n=i32 BLOCK=16
# compile: locks lock_ptr=*i32 flag_ptr=*i32 y_ptr=*f32
# compile: hints x_ptr=*f32 n=i32 BLOCK=16
# compile: addresses p_ptr=*i32 table_ptr=*i64 BLOCK=16
import triton
import triton.language as tl


@triton.jit
def atomics(p_ptr, u_ptr, l_ptr, f_ptr, d_ptr, h_ptr, b_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = at < n
    old = tl.atomic_add(p_ptr + at, 1, mask=mask, sem="relaxed", scope="cta")
    tl.atomic_add(f_ptr + at, 1.0)
    tl.atomic_add(h_ptr + at, 1.0, mask=mask)
    tl.atomic_add(b_ptr + at, 1.0, sem="release", scope="sys")
    tl.atomic_add(d_ptr, 2.0)
    tl.atomic_max(f_ptr + at, old.to(tl.float32), mask=mask)
    tl.atomic_min(f_ptr, -1.5)
    tl.atomic_min(d_ptr + at, 0.25)
    tl.atomic_max(p_ptr + at, at)
    tl.atomic_min(p_ptr, 3)
    tl.atomic_max(u_ptr + at, 3)
    tl.atomic_min(u_ptr + at, at, mask=mask)
    tl.atomic_and(p_ptr, 3)
    tl.atomic_or(l_ptr, 3)
    tl.atomic_and(f_ptr + at, 3.0)
    tl.atomic_xor(p_ptr + at, old, mask=mask, sem="acquire")
    tl.atomic_xchg(f_ptr + at, 3.0)
    tl.atomic_xchg(p_ptr, n)


@triton.jit
def locks(lock_ptr, flag_ptr, y_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    while tl.load(flag_ptr, volatile=True) == 0:
        pass
    x = tl.load(y_ptr, cache_modifier=".cg")
    tl.store(y_ptr, x + 1.0, eviction_policy="evict_first")
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)
    at = tl.arange(0, 16)
    old = tl.atomic_cas(flag_ptr + at, at, at + 1, sem="relaxed")
    flagged = tl.load(flag_ptr + at, mask=old < 3, other=0, volatile=True)
    tl.store(flag_ptr + at, flagged)


@triton.jit
def hints(x_ptr, n, BLOCK: tl.constexpr):
    tl.assume(n > 0)
    pid = tl.program_id(0)
    at = tl.max_contiguous(tl.multiple_of((pid * BLOCK + tl.arange(0, BLOCK)) % n, BLOCK), BLOCK)
    row = tl.max_constancy(at // 4, 4)
    col = tl.multiple_of(pid * 8, 8)
    m = tl.arange(0, 4)
    tile = m[:, None] * 64 + m[None, :]
    tile = tl.multiple_of(tile, (4, 1))
    tile = tl.max_contiguous(tile, (1, 4))
    tl.store(x_ptr + at + row + col, 1.0)
    tl.store(x_ptr + tile, 1.0)


@triton.jit
def addresses(p_ptr, table_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    address = p_ptr.to(tl.int64)
    second = (address + 4).to(tl.pointer_type(tl.int32))
    tl.store(second, 7)
    found = tl.load(table_ptr).to(tl.pointer_type(tl.float32))
    tl.store(found + at, 1.0)
    floats = (p_ptr + at).to(tl.pointer_type(tl.float32), bitcast=True)
    tl.store(floats, 2.0)
    each = tl.load(table_ptr + at).to(tl.pointer_type(tl.float32))
    tl.store(each, (p_ptr + at).to(tl.int64).to(tl.float32))
