//! Blessed numbers, laws and their Python text.

use super::*;

const SEED: Seed = Seed { a: 0x1234_5678, b: 0x9abc_def0 };

#[test]
fn numbers_are_those_that_python_is_checked_with() {
    let laws = [
        Law::Uniform { scale: 0.125, offset: 0.0 },
        Law::Uniform { scale: 0.5, offset: 1.0 },
        Law::Integers { low: -2, count: 5, step: 1, keep: 256 },
        Law::Integers { low: -2, count: 5, step: 49, keep: 32 },
        Law::Integers { low: 0, count: 0x7fff_ffff, step: 1, keep: 256 },
        Law::Powers { low: -1, count: 3 },
        Law::Constant(0.1),
    ];
    let mut text = String::new();
    for (i, law) in laws.into_iter().enumerate() {
        let seed = Seed::derive(i as u64, "layer1.0.conv1.weight");
        let dtype = if i == 4 { DType::I64 } else { DType::F32 };
        let tensor = fill(law, seed, dtype, Shape::from_slice(&[3, 5]));
        let values: Vec<f64> = (0..tensor.len()).map(|i| tensor.storage().get_f64(i)).collect();
        text += &format!("{} = {values:?}\n", law.python(seed, dtype, &[3, 5]));
    }
    expect_test::expect_file!["../../tests/rng/blessed.txt"].assert_eq(&text);
}

#[test]
fn any_element_is_made_on_demand() {
    let law = Law::Uniform { scale: 1.0, offset: 0.0 };
    let all = fill(law, SEED, DType::F32, Shape::from_slice(&[200_000]));
    for i in [0usize, 1, 65_535, 65_536, 199_999] {
        assert_eq!(all.as_f32().unwrap()[i], uniform(hash(SEED, i as u64)));
    }
    assert_ne!(hash(SEED, 7), hash(SEED, 7 + (1 << 32)));
    assert_ne!(hash(Seed::derive(0, "a"), 7), hash(Seed::derive(1, "a"), 7));
}

#[test]
fn an_element_alone_is_the_one_of_the_whole() {
    let laws = [
        Law::Uniform { scale: 0.5, offset: 1.0 },
        Law::Integers { low: -2, count: 5, step: 3, keep: 128 },
        Law::Powers { low: -3, count: 6 },
        Law::Constant(0.1),
    ];
    for law in laws {
        for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::Bool] {
            let all = fill(law, SEED, dtype, Shape::from_slice(&[100]));
            let alone: Vec<f64> = (0..100).map(|i| law.element(SEED, i, dtype)).collect();
            let whole: Vec<f64> = (0..100).map(|i| all.storage().get_f64(i)).collect();
            assert_eq!(alone, whole, "{law:?} as {dtype}");
        }
    }
}

#[test]
fn one_bit_of_the_index_flips_half_of_the_hash() {
    for bit in 0..40 {
        let flips: u32 = (0..4096u64).map(|i| (hash(SEED, i * 977) ^ hash(SEED, (i * 977) ^ (1 << bit))).count_ones()).sum();
        let share = flips as f64 / (4096.0 * 32.0);
        assert!((share - 0.5).abs() < 0.01, "bit {bit} flips {share}");
    }
}

#[test]
fn moments_and_limits_are_those_of_the_law() {
    let len = 1 << 20;
    let unit = fill(Law::Uniform { scale: 1.0, offset: 0.0 }, SEED, DType::F32, Shape::from_slice(&[len]));
    let lanes = unit.as_f32().unwrap();
    let mean = lanes.iter().map(|&v| v as f64).sum::<f64>() / len as f64;
    let square = lanes.iter().map(|&v| (v as f64).powi(2)).sum::<f64>() / len as f64;
    assert!(mean.abs() < 2e-3, "{mean}");
    assert!((square - 1.0 / 3.0).abs() < 1e-3, "{square}");
    assert!(lanes.iter().all(|v| (-1.0..1.0).contains(v)));
    let serial = lanes.windows(2).map(|p| p[0] as f64 * p[1] as f64).sum::<f64>() / len as f64;
    assert!(serial.abs() < 2e-3, "{serial}");

    let sparse = fill(Law::Integers { low: -2, count: 5, step: 3, keep: 64 }, SEED, DType::I32, Shape::from_slice(&[len]));
    let lanes = sparse.as_i64().unwrap();
    let mut counts = std::collections::BTreeMap::new();
    lanes.iter().for_each(|&v| *counts.entry(v).or_insert(0usize) += 1);
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [-6, -3, 0, 3, 6]);
    assert!((counts[&0] as f64 / len as f64 - 0.8).abs() < 5e-3);
}
