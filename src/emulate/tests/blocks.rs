//! Operations on whole blocks against plain loops, and against what Triton's interpreter gives where that is exact.

use super::*;

/// A kernel over f32 buffers `x` (given) and `o` (empty), launched once; what `o` holds.
fn floats(body: &str, x: &[f32], out: usize) -> Vec<f32> {
    let text = format!("import triton\nimport triton.language as tl\n\n{body}");
    let program = compile("k.py", &text, "k x=*f32 o=*f32");
    let mut memory = Memory::default();
    let input = memory.insert("x", Storage::F32(x.to_vec()));
    let output = memory.allocate("o", DType::F32, out);
    let args = [whole(input, &[x.len()]), whole(output, &[out])];
    let after = run_all(&program, &memory, [1; 3], &args, &Options::default()).unwrap_or_else(|message| panic!("{message}"));
    f32s(&after, output).to_vec()
}

/// The same over i32 buffers.
fn ints(body: &str, x: &[i64], out: usize) -> Result<Vec<i64>, String> {
    let text = format!("import triton\nimport triton.language as tl\n\n{body}");
    let program = compile("k.py", &text, "k x=*i32 o=*i32");
    let mut memory = Memory::default();
    let input = memory.insert("x", Storage::I64(x.to_vec()));
    let output = memory.allocate("o", DType::I32, out);
    let args = [whole(input, &[x.len()]), whole(output, &[out])];
    let after = run_all(&program, &memory, [1; 3], &args, &Options::default())?;
    match after.lanes(output) {
        Storage::I64(v) => Ok(v.clone()),
        other => panic!("{:?}", other.carrier()),
    }
}

#[test]
fn scans_run_along_their_axis() {
    let x = numbers(64, 3);
    let body = "
@triton.jit
def k(x, o):
    at = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    v = tl.load(x + at)
    tl.store(o + at, tl.cumsum(v, 1))
    tl.store(o + 64 + at, tl.cumsum(v, 0, reverse=True))
    tl.store(o + 128 + at, tl.cumprod(v, axis=-1, reverse=True))
";
    let got = floats(body, &x, 192);
    for row in 0..8 {
        let (mut sum, mut down, mut product) = (0.0f32, 0.0f32, 1.0f32);
        for i in 0..8 {
            sum = if i == 0 { x[row * 8] } else { sum + x[row * 8 + i] };
            assert_eq!(got[row * 8 + i], sum);
            let from_below = x[(7 - i) * 8 + row];
            down = if i == 0 { from_below } else { down + from_below };
            assert_eq!(got[64 + (7 - i) * 8 + row], down);
            let last = x[row * 8 + 7 - i];
            product = if i == 0 { last } else { product * last };
            assert_eq!(got[128 + row * 8 + 7 - i], product);
        }
    }
}

#[test]
fn scans_take_functions_of_several_values() {
    let body = "
@triton.jit
def linear(a, b, c, d):
    return a * c, b * c + d

@triton.jit
def k(x, o):
    at = tl.arange(0, 16)
    v = tl.load(x + at)
    a, b = tl.associative_scan((v, v + 1), 0, linear)
    tl.store(o + at, a)
    tl.store(o + 16 + at, b)
";
    let x = numbers(16, 9);
    let got = floats(body, &x, 32);
    let (mut a, mut b) = (x[0], x[0] + 1.0);
    for i in 0..16 {
        if i > 0 {
            (a, b) = (a * x[i], b * x[i] + (x[i] + 1.0));
        }
        assert_eq!((got[i], got[16 + i]), (a, b), "{i}");
    }
}

#[test]
fn integer_scans_wrap_and_narrow_types_widen() {
    let body = "
@triton.jit
def k(x, o):
    at = tl.arange(0, 8)
    v = tl.load(x + at)
    tl.store(o + at, tl.cumsum(v.to(tl.int8), 0))
    tl.store(o + 8 + at, tl.cumsum(v.to(tl.int8), 0, dtype=tl.int8).to(tl.float32))
    tl.store(o + 16 + at, tl.cumsum(v > 100, 0))
";
    let x = [100, 120, 3, 127, 127, -128, 1, 2];
    let got = ints(body, &x, 24).unwrap();
    let (mut wide, mut narrow, mut count) = (0i64, 0i8, 0);
    for i in 0..8 {
        wide += x[i];
        narrow = narrow.wrapping_add(x[i] as i8);
        count += i64::from(x[i] > 100);
        assert_eq!([got[i], got[8 + i], got[16 + i]], [wide, i64::from(narrow), count], "{i}");
    }
}

#[test]
fn blocks_are_joined_split_and_turned() {
    let body = "
@triton.jit
def k(x, o):
    at = tl.arange(0, 8)
    v = tl.load(x + at)
    a, b = tl.split(tl.reshape(v, (4, 2)))
    tl.store(o + at, tl.interleave(b, a))
    tl.store(o + 8 + at, tl.cat(b, a))
    tl.store(o + 16 + at, tl.cat(a, b, can_reorder=True))
    tl.store(o + 24 + at, tl.flip(v))
    square = tl.reshape(v, (2, 4))
    tl.store(o + 32 + at, tl.ravel(tl.flip(square, 0)))
    wide = tl.cat(square, square + 10, dim=1)
    tl.store(o + 40 + tl.arange(0, 16), tl.ravel(wide))
    low, high = tl.split(tl.join(tl.sum(v), 1.0))
    tl.store(o + 56, low)
    tl.store(o + 57, high)
    tl.store(o + 58, tl.reshape(tl.unsqueeze(tl.max(v), 0), ()))
";
    let x: Vec<f32> = (0..8).map(|i| i as f32).collect();
    let got = floats(body, &x, 59);
    let want = [
        [1.0, 0.0, 3.0, 2.0, 5.0, 4.0, 7.0, 6.0],
        [1.0, 3.0, 5.0, 7.0, 0.0, 2.0, 4.0, 6.0],
        [0.0, 2.0, 4.0, 6.0, 1.0, 3.0, 5.0, 7.0],
        [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0],
        [4.0, 5.0, 6.0, 7.0, 0.0, 1.0, 2.0, 3.0],
        [0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0],
        [4.0, 5.0, 6.0, 7.0, 14.0, 15.0, 16.0, 17.0],
    ];
    assert_eq!(got[..56], want.concat());
    assert_eq!(got[56..], [28.0, 1.0, 7.0]);
}

#[test]
fn gathers_and_histograms() {
    let body = "
@triton.jit
def k(x, o):
    at = tl.arange(0, 16)
    v = tl.load(x + at)
    tl.store(o + at, tl.gather(v * 10, v, 0))
    square = tl.reshape(v, (4, 4))
    tl.store(o + 16 + at, tl.ravel(tl.gather(square, square % 4, axis=1)))
    tl.store(o + 32 + tl.arange(0, 8), tl.ravel(tl.gather(square, tl.reshape(tl.arange(0, 8), (2, 4)) % 4, axis=0)))
    tl.store(o + 40 + at, tl.histogram(v, 16))
    tl.store(o + 56 + at, tl.histogram(v, 16, mask=at >= 8))
";
    let x: Vec<i64> = (0..16).map(|i| (i * 7 + 3) % 16 / 2).collect();
    let got = ints(body, &x, 72).unwrap();
    let count = |from: usize, v: i64| x[from..].iter().filter(|&&x| x == v).count() as i64;
    for i in 0..16 {
        assert_eq!(got[i], x[x[i] as usize] * 10);
        assert_eq!(got[16 + i], x[i / 4 * 4 + (x[i] % 4) as usize]);
        assert_eq!([got[40 + i], got[56 + i]], [count(0, i as i64), count(8, i as i64)]);
    }
    for i in 0..8 {
        assert_eq!(got[32 + i], x[i % 4 * 4 + i % 4]);
    }
}

#[test]
fn an_index_outside_its_block_is_told() {
    let gather = "
@triton.jit
def k(x, o):
    at = tl.arange(0, 16)
    v = tl.load(x + at)
    tl.store(o + at, tl.gather(v, v, 0))
";
    let mut x = vec![0; 16];
    assert!(ints(gather, &x, 16).is_ok());
    x[5] = 16;
    let message = ints(gather, &x, 16).unwrap_err();
    assert!(message.contains("A003") && message.contains("an index of a gather or histogram"), "{message}");
    let masked = gather.replace("tl.gather(v, v, 0))", "tl.gather(v, v, 0), mask=at != 5)");
    assert!(ints(&masked, &x, 16).is_ok());
    let histogram = gather.replace("tl.gather(v, v, 0)", "tl.histogram(v, 16)");
    assert!(ints(&histogram, &x, 16).unwrap_err().contains("A003"));
    let chosen = gather.replace("tl.gather(v, v, 0)", "tl.histogram(v, 16, mask=v < 16)");
    assert_eq!(ints(&chosen, &x, 16).unwrap()[0], 15);
}

#[test]
fn moved_lanes_take_their_poison_along() {
    let body = "
@triton.jit
def k(x, o):
    at = tl.arange(0, 16)
    v = tl.load(x + at, mask=at < 12)
    a, b = tl.split(tl.reshape(tl.flip(v), (8, 2)))
    tl.store(o + at, tl.interleave(b, a), mask=at >= 4)
";
    let got = floats(body, &(0..16).map(|i| i as f32).collect::<Vec<_>>(), 16);
    assert_eq!(got[4..], [10.0, 11.0, 8.0, 9.0, 6.0, 7.0, 4.0, 5.0, 2.0, 3.0, 0.0, 1.0]);
}

#[test]
fn sorts_are_tritons_network() {
    let nan = f32::NAN;
    let x = [3.0, -1.0, nan, 7.0, 0.0, -0.0, f32::INFINITY, 2.0, 5.0, 4.0, 3.0, 2.0, 1.0, nan, f32::NEG_INFINITY, 9.0];
    let body = "
@triton.jit
def k(x, o):
    at = tl.arange(0, 2)[:, None] * 8 + tl.arange(0, 8)[None, :]
    v = tl.load(x + at)
    tl.store(o + at, tl.sort(v))
    tl.store(o + 16 + at, tl.sort(v, descending=True))
    tl.store(o + 32 + tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :], tl.topk(v, 4))
    tl.store(o + 40 + tl.arange(0, 2)[:, None] + tl.arange(0, 1)[None, :], tl.topk(v, 1))
";
    let got = floats(body, &x, 42);
    // What Triton's interpreter gives, which runs the same library: a NaN compares false and is lost at times.
    let inf = f32::INFINITY;
    let want = [
        [-1.0, 0.0, 0.0, 2.0, 3.0, 7.0, 7.0, inf],
        [-inf, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 9.0],
        [inf, 7.0, 7.0, 3.0, 2.0, 0.0, 0.0, -1.0],
        [9.0, 5.0, 4.0, 3.0, 2.0, 1.0, 1.0, -inf],
        [inf, 7.0, 7.0, 3.0, 9.0, 5.0, 4.0, 3.0],
    ];
    assert_eq!(got[..40], want.concat());
    assert_eq!(got[40..], [inf, 9.0]);
}

#[test]
fn large_sorts_and_flips() {
    let body = "
@triton.jit
def k(x, o):
    at = tl.arange(0, 512)
    v = tl.load(x + at)
    tl.store(o + at, tl.sort(v))
    tl.store(o + 512 + at, tl.flip(v))
    tl.store(o + 1024 + tl.arange(0, 16), tl.topk(v, 16, descending=False))
    half = tl.arange(0, 256)
    bitonic = tl.cat(tl.sort(tl.load(x + half)), tl.sort(tl.load(x + 256 + half), descending=True))
    tl.store(o + 1040 + at, tl.bitonic_merge(bitonic, descending=True))
";
    let x: Vec<i64> = (0..512).map(|i: i64| (i * 7919 + 13) % 1009 - 500).collect();
    let got = ints(body, &x, 1552).unwrap();
    let mut sorted = x.clone();
    sorted.sort_unstable();
    assert_eq!(got[..512], sorted);
    assert_eq!(got[512..1024], x.iter().rev().copied().collect::<Vec<_>>());
    assert_eq!(got[1024..1040], sorted[..16]);
    assert_eq!(got[1040..], sorted.iter().rev().copied().collect::<Vec<_>>());
}

#[test]
fn clamps_and_nan() {
    let body = "
@triton.jit
def k(x, o):
    at = tl.arange(0, 4)
    v = tl.load(x + at)
    tl.store(o + at, tl.clamp(v, -1.0, 1.0))
    tl.store(o + 4 + at, tl.clamp(v, -1.0, 1.0, propagate_nan=tl.PropagateNan.ALL))
    tl.store(o + 8 + at, tl.abs(v))
";
    let got = floats(body, &[-3.0, 0.5, 7.0, f32::NAN], 12);
    assert_eq!(got[..7], [-1.0, 0.5, 1.0, -1.0, -1.0, 0.5, 1.0]);
    assert!(got[7].is_nan() && got[11].is_nan());
    assert_eq!(got[8..11], [3.0, 0.5, 7.0]);
}

#[test]
fn planes_of_a_batched_dot() {
    let text = "
import triton
import triton.language as tl

@triton.jit
def k(a, b, o, P: tl.constexpr):
    i = tl.arange(0, 2)[:, None, None] * 256 + tl.arange(0, 16)[None, :, None] * 16 + tl.arange(0, 16)[None, None, :]
    acc = tl.full((2, 16, 16), 1.0, tl.float32)
    tl.store(o + i, tl.dot(tl.load(a + i), tl.load(b + i), acc, input_precision=P))
";
    for precision in ["ieee", "tf32", "bf16x6"] {
        let program = compile("k.py", text, &format!("k a=*f32 b=*f32 o=*f32 P=\"{precision}\""));
        let mut memory = Memory::default();
        let small = |seed| numbers(512, seed).iter().map(|x| (x * 4.0).round()).collect::<Vec<f32>>();
        let (x, y) = (small(1), small(2));
        let a = memory.insert("a", Storage::F32(x.clone()));
        let b = memory.insert("b", Storage::F32(y.clone()));
        let o = memory.allocate("o", DType::F32, 512);
        let args = [a, b, o].map(|id| whole(id, &[512]));
        let after = run_all(&program, &memory, [1; 3], &args, &Options::default()).unwrap();
        for (i, &got) in f32s(&after, o).iter().enumerate() {
            let (plane, row, column) = (i / 256 * 256, i / 16 % 16, i % 16);
            let want = 1.0 + (0..16).map(|k| x[plane + row * 16 + k] * y[plane + k * 16 + column]).sum::<f32>();
            assert_eq!(got, want, "{precision} {i}");
        }
    }
}

#[test]
fn random_numbers_are_tritons() {
    let text = "
import triton
import triton.language as tl

@triton.jit
def k(o, i, w, seed, off):
    at = tl.arange(0, 4)
    tl.store(o + at, tl.rand(seed, at + off))
    tl.store(o + 4 + at, tl.randn(seed, at + off))
    a, b, c, d = tl.randint4x(seed, at + off)
    tl.store(i + at, a)
    tl.store(i + 4 + at, b)
    tl.store(i + 8 + at, c)
    tl.store(i + 12 + at, d)
    p, q, r, s = tl.rand4x(seed, at + off, 7)
    tl.store(o + 8 + at, p)
    tl.store(o + 12 + at, s)
    z = (at + off).to(tl.int64)
    e, f, g, h = tl.philox(seed, z, z * 0, z * 0, z * 0)
    tl.store(w + at, e.to(tl.int64, bitcast=True))
    tl.store(w + 4 + at, h.to(tl.int64, bitcast=True))
";
    struct Want {
        seed: i64,
        offset: i64,
        uniform: [u32; 4],
        last: [u32; 4],
        words: [i64; 16],
        wide: [i64; 8],
    }
    let wants = [
        Want {
            seed: 123,
            offset: 0,
            uniform: [0x3e09_1be6, 0x3f38_7fd6, 0x3eb0_6d6a, 0x3e73_36a6],
            last: [0x3f23_95e6, 0x3f15_0713, 0x3ec8_cdfd, 0x3f7d_c32d],
            words: [
                287538396,
                -1547692978,
                739990181,
                510055638,
                1728003544,
                2101354157,
                1075717757,
                536017450,
                -1078944368,
                886462750,
                -1292930143,
                -643955621,
                819691090,
                -569455185,
                -124924599,
                -643299509,
            ],
            wide: [
                2671233623528133265,
                -8909680754056574557,
                6692778500501327886,
                -5040817329618598952,
                -3098344642227738673,
                3873248160020931364,
                8511904755730521554,
                -107294130455338906,
            ],
        },
        Want {
            seed: -7,
            offset: 1 << 40,
            uniform: [0x3f44_14b1, 0x3f4f_e074, 0x3e92_46c5, 0x3f04_21f5],
            last: [0x3e66_81d2, 0x3f6b_aaa0, 0x3eca_d625, 0x3f00_92c6],
            words: [
                -1644845325,
                1743796900,
                613527960,
                -1108409152,
                -513345580,
                -666541063,
                1492007254,
                1514634959,
                573526217,
                1528002605,
                -1782816014,
                1789400872,
                -206197281,
                1303021075,
                -979568890,
                -513136609,
            ],
            wide: [
                -1513976363060892377,
                -941331682008613036,
                -2484501360871238297,
                803728516031551127,
                1626074712827491940,
                2866881996836469455,
                -8177652548465889127,
                -5508148571666684045,
            ],
        },
    ];
    for want in wants {
        let program = compile("k.py", text, "k o=*f32 i=*i32 w=*i64 seed=i64 off=i64");
        let mut memory = Memory::default();
        let o = memory.allocate("o", DType::F32, 16);
        let i = memory.allocate("i", DType::I32, 16);
        let w = memory.allocate("w", DType::I64, 8);
        let args = [whole(o, &[16]), whole(i, &[16]), whole(w, &[8]), Arg::Int(want.seed), Arg::Int(want.offset)];
        // Products of the generator wrap, as they must: storing them is no fault.
        let after = run_all(&program, &memory, [1; 3], &args, &Options::default()).unwrap_or_else(|m| panic!("{m}"));
        let bits: Vec<u32> = f32s(&after, o).iter().map(|x| x.to_bits()).collect();
        assert_eq!(bits[..4], want.uniform);
        assert_eq!(bits[12..], want.last);
        assert_eq!(*after.lanes(i), Storage::I64(want.words.to_vec()));
        assert_eq!(*after.lanes(w), Storage::I64(want.wide.to_vec()));
        let (u1, u2) = (f64::from(f32s(&after, o)[0]), want.words[4]);
        let magnitude = (if u2 < 0 { !u2 } else { u2 }) as f64 * 4.656_612_734_2e-10;
        let normal = (-2.0 * u1.ln()).sqrt() * (std::f64::consts::TAU * magnitude).cos();
        assert!((f64::from(f32s(&after, o)[4]) - normal).abs() < 1e-5);
    }
}
