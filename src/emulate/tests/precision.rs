//! Precision classes of `tl.dot`: the size of their errors against f64, equal bits in every mode, and
//! no effect on 16-bit operands.

use super::*;

const TEXT: &str = "import triton
import triton.language as tl


@triton.jit
def product(a, b, c, K, SBK, SBN, P: tl.constexpr):
    i = tl.arange(0, 32)
    acc = tl.zeros((32, 32), dtype=tl.float32)
    for start in range(0, K, 32):
        k = start + i
        x = tl.load(a + i[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        y = tl.load(b + k[:, None] * SBK + i[None, :] * SBN, mask=k[:, None] < K, other=0.0)
        acc += tl.dot(x, y, input_precision=P)
    tl.store(c + i[:, None] * 32 + i[None, :], acc)
";

const CLASSES: [&str; 5] = ["ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"];

fn program(dtype: &str, class: &str) -> Program {
    compile("product.py", TEXT, &format!("product a=*{dtype} b=*{dtype} c=*f32 K=i32 SBK=i32 SBN=i32 P=\"{class}\""))
}

/// Memory with A [32, k] and B [k, 32], and the launch's arguments; B is [32, k] when it is turned.
fn problem(a: &[f32], b: &[f32], k: usize, turned: bool) -> (Memory, Vec<Arg>, BufferId) {
    let mut memory = Memory::default();
    let a = memory.insert("a", Storage::F32(a.to_vec()));
    let b = memory.insert("b", Storage::F32(b.to_vec()));
    let c = memory.allocate("c", DType::F32, 32 * 32);
    let (b_shape, strides) = if turned { ([32, k], [1, k]) } else { ([k, 32], [32, 1]) };
    let mut args = vec![whole(a, &[32, k]), whole(b, &b_shape), whole(c, &[32, 32])];
    args.extend([k, strides[0], strides[1]].map(|v| Arg::Int(v as i64)));
    (memory, args, c)
}

#[test]
fn errors_are_of_the_size_that_hardware_has() {
    const K: usize = 4096;
    // Box and Muller's method.
    let normal = |seed: u64| -> Vec<f32> {
        let angles = numbers(32 * K, seed + 1);
        let radius = |u: f32| (-2.0 * ((u + 1.0) / 2.0).max(1e-6).ln()).sqrt();
        numbers(32 * K, seed).iter().zip(angles).map(|(&u, v)| radius(u) * (std::f32::consts::PI * v).cos()).collect()
    };
    let (a, b) = (normal(21), normal(31));
    let exact = |i: usize| (0..K).map(|p| f64::from(a[i / 32 * K + p]) * f64::from(b[p * 32 + i % 32])).sum::<f64>();
    let truth: Vec<f64> = (0..32 * 32).map(exact).collect();
    let largest = truth.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let (memory, args, c) = problem(&a, &b, K, false);
    // Of a 4096³ product on an H200: 3.1e-6, 7.6e-4, 5.4e-7, (4.3e-6 split by hand,) 3.2e-7.
    for (class, size) in CLASSES.into_iter().zip([3.1e-6, 7.6e-4, 5.4e-7, 4.3e-6, 3.2e-7]) {
        let mut memory = memory.clone();
        run(&program("f32", class), &mut memory, [1, 1, 1], &args, &Options::default()).unwrap();
        let errors = f32s(&memory, c).iter().zip(&truth).map(|(&y, r)| (f64::from(y) - r).abs());
        let error = errors.fold(0.0, f64::max) / largest;
        assert!((size / 2.5..size * 2.5).contains(&error), "{class}: {error:e}, not about {size:e}");
    }
}

#[test]
fn every_mode_gives_equal_bits() {
    for class in CLASSES {
        for turned in [false, true] {
            let k = 45;
            let (mut a, b) = (numbers(32 * k, 5), numbers(32 * k, 6));
            (a[3], a[50]) = (f32::INFINITY, f32::NAN);
            let (memory, args, _) = problem(&a, &b, k, turned);
            run_all(&program("f32", class), &memory, [1, 1, 1], &args, &Options::default()).unwrap_or_else(|m| panic!("{m}"));
        }
    }
}

#[test]
fn operands_of_16_bits_have_no_class() {
    for (name, dtype) in [("f16", DType::F16), ("bf16", DType::BF16)] {
        let narrow = |seed| numbers(32 * 64, seed).iter().map(|&v| dtype.round(v.into()) as f32).collect::<Vec<f32>>();
        let (memory, args, c) = problem(&narrow(5), &narrow(6), 64, false);
        let products = CLASSES.map(|class| {
            let mut memory = memory.clone();
            run(&program(name, class), &mut memory, [1, 1, 1], &args, &Options::default()).unwrap();
            f32s(&memory, c).to_vec()
        });
        assert!(products.iter().all(|product| product == &products[0]), "{name}");
    }
}
