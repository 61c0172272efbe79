import triton
import triton.language as tl


# compile: casts x_ptr=*f32 b_ptr=*i8 y_ptr=*f16 n=i32
# buffer: x f32[64] iota
# buffer: b i8[64] zeros
# buffer: y f16[64] empty
# launch: 1 x b y 60
# value: y 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
# value: b 0 31 62 93 124 -101 -70 -39 -8 23 54 85 116 -109 -78 -47 -16 15 46 77 108 -117 -86 -55 -24 7 38 69 100 -125 -94 -63 -32 -1 30 61 92 123 -102 -71 -40 -9 22 53 84 115 -110 -79 -48 -17 14 45 76 107 -118 -87 -56 -25 6 37 68 99 -126 -95
@triton.jit
def casts(x_ptr, b_ptr, y_ptr, n):
    at = tl.arange(0, 64)
    # Lanes that are masked off hold nothing that could be lost.
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x.to(tl.float16), mask=at < n)
    # Small numbers become zero, fractions are rounded, an infinity stays one.
    small = (tl.exp(at * -1.0) * 1e-9).to(tl.float16) * 0.0
    tl.store(y_ptr + at, (at + small).to(tl.float16), mask=at >= n)
    # The low byte, cut out first.
    tl.store(b_ptr + at, ((at * 31) & 0xFF).to(tl.int8))
    most = (1.0 / (at * 0.0)).to(tl.float16)
    tl.store(y_ptr + at, most, mask=most < 0.0)
