//! Library functions, inline assembly, 8-bit floats and scaled dots, run as kernels.

use super::*;

fn run_one(text: &str, request: &str, buffers: &[(&str, DType, Storage)], outputs: &[(&str, DType, usize)]) -> Memory {
    let program = compile("k.py", text, request);
    let mut memory = Memory::default();
    let mut args = Vec::new();
    for (name, _, lanes) in buffers {
        let n = lanes.len();
        args.push(whole(memory.insert(*name, lanes.clone()), &[n]));
    }
    for &(name, dtype, n) in outputs {
        args.push(whole(memory.allocate(name, dtype, n), &[n]));
    }
    run_all(&program, &memory, [1; 3], &args, &Options::default()).unwrap_or_else(|message| panic!("{message}"))
}

fn named<'m>(memory: &'m Memory, name: &str) -> &'m Storage {
    &memory.buffers.iter().find(|b| b.name == name).unwrap().lanes
}

fn floats<'m>(memory: &'m Memory, name: &str) -> &'m [f32] {
    match named(memory, name) {
        Storage::F32(v) => v,
        other => panic!("{:?}", other.carrier()),
    }
}

#[test]
fn libdevice_through_every_import() {
    let text = "
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda
from triton.language.math import exp2

@triton.jit
def k(x, o):
    at = tl.arange(0, 8)
    v = tl.load(x + at)
    tl.store(o + at, libdevice.tanh(v) + cuda.log1p(tl.abs(v)))
    tl.store(o + 8 + at, tl.extra.cuda.libdevice.pow(v, 2) + tl.math.erf(v))
    tl.store(o + 16 + at, exp2(v) + tl.extra.libdevice.exp2(v))
    tl.store(o + 24 + at, tl.where(libdevice.isnan(v) | libdevice.isinf(v), 1.0, libdevice.copysign(2.0, v)))
    tl.store(o + 32 + at, libdevice.rint(v * 10) + libdevice.float2int_rz(v * 10))
";
    let mut x = numbers(8, 5);
    (x[3], x[6]) = (f32::NAN, f32::INFINITY);
    let after = run_one(text, "k x=*f32 o=*f32", &[("x", DType::F32, Storage::F32(x.clone()))], &[("o", DType::F32, 40)]);
    let got = floats(&after, "o");
    for (i, &v) in x.iter().enumerate().filter(|(i, _)| *i != 3 && *i != 6) {
        let d = f64::from(v);
        assert_eq!(got[i], d.tanh() as f32 + d.abs().ln_1p() as f32);
        assert_eq!(got[8 + i], v.powi(2) + libm::erf(d) as f32);
        assert!((got[16 + i] - 2.0 * v.exp2()).abs() < 1e-6);
        assert_eq!(got[24 + i], 2.0f32.copysign(v));
        assert_eq!(got[32 + i], (v * 10.0).round_ties_even() + (v * 10.0).trunc());
    }
    assert_eq!([got[24 + 3], got[24 + 6]], [1.0, 1.0]);
}

#[test]
fn assembly_packs_narrow_lanes() {
    let text = "
import triton
import triton.language as tl

@triton.jit
def k(x, i, o, j):
    at = tl.arange(0, 8)
    v = tl.load(x + at)
    b = tl.load(i + at)
    y, m = tl.inline_asm_elementwise(
        '''
        {
            .reg .b8 t<4>;
            mov.b32 {t0, t1, t2, t3}, $8;
            cvt.s32.s8 $0, t0;
            cvt.s32.s8 $1, t1;
            cvt.s32.s8 $2, t2;
            cvt.s32.s8 $3, t3;
            mov.b32 $4, $9;
            mov.b32 $5, $10;
            mov.b32 $6, $11;
            mov.b32 $7, $12;
        }
        ''',
        constraints=\"=r,=r,=r,=r,=r,=r,=r,=r,r,r,r,r,r\",
        args=[b, v],
        dtype=(tl.int32, tl.float32),
        is_pure=True,
        pack=4,
    )
    tl.store(j + at, y)
    tl.store(o + at, m)
    h = tl.inline_asm_elementwise(\"cvt.rn.f16x2.f32 $0, $2, $1;\", \"=r,f,f\", [v], dtype=tl.float16, is_pure=True, pack=2)
    tl.store(o + 8 + at, h)
    e = tl.inline_asm_elementwise(\"ex2.approx.ftz.f32 $0, $1;\", \"=f,f\", [v], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(o + 16 + at, e)
";
    let x = numbers(8, 11);
    let bytes = vec![-128, -1, 0, 1, 2, 100, 127, -5];
    let after = run_one(
        text,
        "k x=*f32 i=*i8 o=*f32 j=*i32",
        &[("x", DType::F32, Storage::F32(x.clone())), ("i", DType::I8, Storage::I64(bytes.clone()))],
        &[("o", DType::F32, 24), ("j", DType::I32, 8)],
    );
    assert_eq!(*named(&after, "j"), Storage::I64(bytes));
    let got = floats(&after, "o");
    for i in 0..8 {
        assert_eq!(got[i], x[i]);
        assert_eq!(got[8 + i], half::f16::from_f32(x[i]).to_f32());
        assert_eq!(got[16 + i], f64::from(x[i]).exp2() as f32);
    }
}

#[test]
fn assembly_that_is_not_in_the_table_is_refused() {
    let text = "
import triton
import triton.language as tl

@triton.jit
def k(x):
    at = tl.arange(0, 8)
    v = tl.load(x + at)
    w = tl.inline_asm_elementwise(\"shfl.sync.idx.b32 $0, $1, 0, 31, -1;\", \"=f,f\", [v], dtype=tl.float32, is_pure=False, pack=1)
    tl.store(x + at, w)
";
    let refused = |text: &str| try_compile("k.py", text, "k x=*f32").unwrap_err();
    let error = refused(text);
    assert_eq!(error.code.id, "K001");
    assert!(error.message.contains("the PTX instruction `shfl.sync.idx.b32`"), "{}", error.message);
    let counts = refused(&text.replace("shfl.sync.idx.b32 $0, $1, 0, 31, -1;", "mov.b32 $0, $1;").replace("pack=1", "pack=2"));
    assert!(counts.message.contains("take 2 and 2"), "{}", counts.message);
}

#[test]
fn eight_bit_floats() {
    let text = "
import triton
import triton.language as tl

@triton.jit
def k(x, o, a, b, i):
    at = tl.arange(0, 8)
    v = tl.load(x + at)
    tl.store(a + at, v.to(tl.float8e4nv))
    tl.store(b + at, v)
    tl.store(o + at, tl.load(a + at).to(tl.float32))
    tl.store(o + 8 + at, tl.load(b + at).to(tl.float16))
    tl.store(i + at, v.to(tl.float8e4nv).to(tl.int8, bitcast=True))
    tl.store(o + 16 + at, tl.load(i + at).to(tl.float8e5, bitcast=True).to(tl.float32))
    tl.store(o + 24 + at, v.to(tl.float16, fp_downcast_rounding=\"rtz\"))
    tl.store(o + 32 + at, v.to(tl.bfloat16, fp_downcast_rounding=\"rtz\"))
";
    let x = vec![1.0, -17.0, 19.0, 1000.0, -1e9, f32::INFINITY, 0.0029, 2.0f32.powi(-20)];
    let after = run_one(
        text,
        "k x=*f32 o=*f32 a=*f8e4m3 b=*f8e5m2 i=*i8",
        &[("x", DType::F32, Storage::F32(x))],
        &[("o", DType::F32, 40), ("a", DType::F8E4M3, 8), ("b", DType::F8E5M2, 8), ("i", DType::I8, 8)],
    );
    let got = floats(&after, "o");
    assert_eq!(got[..8], [1.0, -16.0, 20.0, 448.0, -448.0, 448.0, 0.001953125, 0.0]);
    assert_eq!(got[8..16], [1.0, -16.0, 20.0, 1024.0, -57344.0, 57344.0, 0.0029296875, 0.0]);
    assert_eq!(*named(&after, "i"), Storage::I64(vec![0x38, 0xd8 - 256, 0x5a, 0x7e, -2, 0x7e, 1, 0]));
    assert_eq!(got[16], 0.5);
    assert_eq!(got[24..29], [1.0, -17.0, 19.0, 1000.0, -65504.0]);
    assert_eq!(got[32..36], [1.0, -17.0, 19.0, 1000.0]);
}

#[test]
fn scaled_dots() {
    let text = "
import triton
import triton.language as tl

@triton.jit
def k(a, s, b, o):
    m = tl.arange(0, 16)
    x = tl.load(a + m[:, None] * 32 + tl.arange(0, 32)[None, :])
    y = tl.load(b + tl.arange(0, 64)[:, None] * 16 + m[None, :])
    scale = tl.load(s + m[:, None] * 2 + tl.arange(0, 2)[None, :])
    at = m[:, None] * 16 + m[None, :]
    tl.store(o + at, tl.dot_scaled(x, scale, \"e2m1\", y, scale, \"e4m3\"))
    tl.store(o + 256 + at, tl.dot_scaled(x, None, \"e2m1\", y, None, \"e4m3\", acc=tl.full((16, 16), 2.0, tl.float32)))
";
    let bytes: Vec<i64> = (0..512).map(|i| (i * 37 + 11) % 256).collect();
    let codes: Vec<i64> = (0..1024).map(|i| (i * 29 + 7) % 112).collect();
    let scales: Vec<i64> = (0..32).map(|i| 125 + i % 5).collect();
    let after = run_one(
        text,
        "k a=*u8 s=*u8 b=*u8 o=*f32",
        &[
            ("a", DType::U8, Storage::I64(bytes.clone())),
            ("s", DType::U8, Storage::I64(scales.clone())),
            ("b", DType::U8, Storage::I64(codes.clone())),
        ],
        &[("o", DType::F32, 512)],
    );
    let e2m1 = |code: i64| [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][(code & 7) as usize] * if code & 8 == 0 { 1.0 } else { -1.0 };
    let e4m3 = |code: i64| {
        let (exponent, fraction) = (code >> 3 & 15, (code & 7) as f64);
        if exponent == 0 { fraction / 512.0 } else { (8.0 + fraction) * f64::exp2(exponent as f64 - 10.0) }
    };
    let got = floats(&after, "o");
    for (i, pair) in got[..256].iter().zip(&got[256..]).enumerate() {
        let (row, column) = (i / 16, i % 16);
        let (mut scaled, mut plain) = (0.0, 2.0);
        for k in 0..64 {
            let x = e2m1(bytes[row * 32 + k / 2] >> (4 * (k % 2)));
            let y = e4m3(codes[k * 16 + column]);
            let factor = |row: usize| f64::exp2((scales[row * 2 + k / 32] - 127) as f64);
            scaled += x * factor(row) * y * factor(column);
            plain += x * y;
        }
        assert!((f64::from(*pair.0) - scaled).abs() <= 1e-6 * scaled.abs().max(100.0), "{i}: {} {scaled}", pair.0);
        assert!((f64::from(*pair.1) - plain).abs() <= 1e-6 * plain.abs().max(100.0), "{i}: {} {plain}", pair.1);
    }
}
