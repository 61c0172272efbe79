# compile: types x_ptr=*f16 y_ptr=*i32 u_ptr=*u64 i_ptr=*i64 d_ptr=*f64 f_ptr=*f8e5m2
# buffer: x f16[4] iota
# buffer: y i32[18] zeros
# buffer: u u64[1] zeros
# buffer: i i64[1] zeros
# buffer: d f64[1] zeros
# buffer: f f8e5m2[1] zeros
# launch: 1 x y u i d f
# value: y 1 2 3 4 5 6 7 8 9 10 11 16 13 0 2 3 4 8
import triton
import triton.language as tl


@triton.jit
def types(x_ptr, y_ptr, u_ptr, i_ptr, d_ptr, f_ptr):
    x = tl.load(x_ptr)
    u = tl.load(u_ptr)
    i = tl.load(i_ptr)
    d = tl.load(d_ptr)
    f = tl.load(f_ptr)
    if x.dtype.is_floating() and not i.dtype.is_floating():
        tl.store(y_ptr, 1)
    if x.dtype.is_fp16() and not d.dtype.is_fp16():
        tl.store(y_ptr + 1, 2)
    if x.to(tl.bfloat16).dtype.is_bf16() and not x.dtype.is_bf16():
        tl.store(y_ptr + 2, 3)
    if d.dtype.is_fp64() and not x.dtype.is_fp64():
        tl.store(y_ptr + 3, 4)
    if f.dtype.is_fp8() and not x.dtype.is_fp8():
        tl.store(y_ptr + 4, 5)
    if i.dtype.is_int() and not x.dtype.is_int():
        tl.store(y_ptr + 5, 6)
    if i.dtype.is_int64() and not u.dtype.is_int64():
        tl.store(y_ptr + 6, 7)
    if u.dtype.is_uint64() and not i.dtype.is_uint64():
        tl.store(y_ptr + 7, 8)
    if u.dtype.is_int_unsigned() and not i.dtype.is_int_unsigned():
        tl.store(y_ptr + 8, 9)
    if i.dtype.is_int_signed() and not u.dtype.is_int_signed():
        tl.store(y_ptr + 9, 10)
    if x_ptr.dtype.is_ptr() and not x.dtype.is_ptr():
        tl.store(y_ptr + 10, 11)
    tl.store(y_ptr + 11, x_ptr.dtype.element_ty.primitive_bitwidth)
    if x.dtype == tl.float16 and x.dtype != tl.float32:
        tl.store(y_ptr + 12, 13)
    halves = x_ptr.to(tl.pointer_type(tl.int16))
    tl.store(y_ptr + 13, tl.load(halves).to(tl.int32))
    wide: tl.dtype = tl.load(x_ptr + 2).to(tl.float32)
    tl.store(y_ptr + 14, wide.cast(tl.int32))
    tl.store(y_ptr + 15, tl.cast(tl.load(x_ptr + 3), tl.int32))
    row = tl.load(x_ptr + tl.arange(0, 4))
    tl.store(y_ptr + 16, tl.sum(tl.full(row.type.get_block_shapes(), 1, tl.int32), 0))
    narrow: tl.constexpr = tl.dtype("uint8")
    tl.store(y_ptr + 17, narrow.primitive_bitwidth)
