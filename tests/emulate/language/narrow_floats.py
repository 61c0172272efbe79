# compile: narrow x_ptr=*f32 y_ptr=*f32 bits_ptr=*u8 a_ptr=*f8e4m3fnuz b_ptr=*f8e5m2fnuz
# target: gfx942
# warns: A024
# buffer: x f32[8] iota
# buffer: y f32[23] zeros
# buffer: bits u8[6] zeros
# buffer: a f8e4m3fnuz[16] 3.0
# buffer: b f8e5m2fnuz[8] zeros
# launch: 1 x y bits a b
# value: y 0 16 32 52 64 80 96 112 0 16 32 48 64 80 96 112 240 57344 1 0.0009765625 1 1 6
# value: bits 64 64 72 0 1 128
# value: a 0 1 2 3 4 5 6 7 3*8
# value: b 0 1 2 3 4 5 6 7
import triton
import triton.language as tl


@triton.jit
def narrow(x_ptr, y_ptr, bits_ptr, a_ptr, b_ptr):
    """The 8-bit floats of AMD's CDNA 3: no infinities, no negative zero, and a bias that is greater by one."""
    at = tl.arange(0, 8)
    x = tl.load(x_ptr + at)
    # Seventeen threes are 51, and 52 is nearest to it with four digits; with three, 48.
    y = tl.where(at == 3, 51.0, x * 16)
    tl.store(y_ptr + at, y.to(tl.float8e4b8).to(tl.float32))
    tl.store(y_ptr + 8 + at, y.to(tl.float8e5b16).to(tl.float32))
    # Beyond the largest number is the largest number; what rounds to zero has no sign.
    tl.store(y_ptr + 16, (tl.load(x_ptr + 1) * 1000).to(tl.float8e4b8).to(tl.float32))
    tl.store(y_ptr + 17, (tl.load(x_ptr + 1) * 1e9).to(tl.float8e5b16).to(tl.float32))
    tl.store(y_ptr + 18, tl.where(1 / (tl.load(x_ptr + 1) * -1e-9).to(tl.float8e4b8).to(tl.float32) > 0, 1.0, 2.0))
    tl.store(y_ptr + 19, tl.full([1], 1, tl.uint8).to(tl.float8e4b8, bitcast=True).to(tl.float32).sum())
    one = tl.load(x_ptr + 1)
    tl.store(bits_ptr, one.to(tl.float8e4b8).to(tl.uint8, bitcast=True))
    tl.store(bits_ptr + 1, one.to(tl.float8e5b16).to(tl.uint8, bitcast=True))
    tl.store(bits_ptr + 2, (one * 2).to(tl.float8e4b8).to(tl.uint8, bitcast=True))
    tl.store(bits_ptr + 3, (one * -0.0).to(tl.float8e4b8).to(tl.uint8, bitcast=True))
    tl.store(bits_ptr + 4, (one / 1024).to(tl.float8e4b8).to(tl.uint8, bitcast=True))
    tl.store(bits_ptr + 5, (one * float("nan")).to(tl.float8e4b8).to(tl.uint8, bitcast=True))
    if a_ptr.dtype.element_ty.is_fp8e4b8() and not a_ptr.dtype.element_ty.is_fp8e5b16():
        tl.store(y_ptr + 20, 1.0)
    if b_ptr.dtype.element_ty.is_fp8e5b16() and b_ptr.dtype.element_ty.is_fp8():
        tl.store(y_ptr + 21, 1.0)
    a = tl.load(a_ptr + 8 + at)
    tl.store(y_ptr + 22, tl.sum(tl.where(at < 2, a.to(tl.float32), 0.0)))
    tl.store(a_ptr + at, x.to(tl.float8e4b8))
    tl.store(b_ptr + at, x.to(tl.float8e5b16))
