//! Outputs broken on purpose: what is said about each.

use smallvec::smallvec;

use super::*;
use crate::conform::compare::compare;
use crate::diag::render::render;
use crate::dtype::DType;
use crate::graph::Op;
use crate::graph::op::{Conv, Pool, PoolKind};
use crate::rng::{self, Law, Seed};
use crate::shape::{Shape, contiguous_strides};
use crate::tolerance::Tolerance;

/// The reference of the tests.
fn truth(shape: &[usize]) -> Tensor {
    rng::fill(Law::Uniform { scale: 2.0, offset: 0.0 }, Seed::derive(3, "r"), DType::F32, Shape::from_slice(shape))
}

/// What is said of the reference with every element replaced: `f(coordinates, flat, lanes)`.
fn said(shape: &[usize], f: impl Fn(&[usize], usize, &[f32]) -> f32) -> String {
    let expected = truth(shape);
    let lanes = expected.as_f32().unwrap();
    let broken = (0..lanes.len()).map(|i| f(&unflatten(i, shape), i, lanes)).collect();
    judge(Tensor::from_f32(Shape::from_slice(shape), broken), expected)
}

fn judge(got: Tensor, expected: Tensor) -> String {
    let tolerance = Tolerance::Derived { contraction: None, operators: vec!["add".into()], cap: None };
    let derived = Derived { tolerance, bound: Some(vec![1e-5; got.len()]), unsettled: None };
    let comparison = compare(&got, &expected, &derived);
    let finding = examine("y", &got, &expected, &derived, &comparison);
    finding.map_or("conforms".to_owned(), |finding| render(&finding.diagnostic, false))
}

const SHAPE: [usize; 4] = [1, 4, 8, 8];

#[test]
fn what_is_right_is_not_diagnosed() {
    assert_eq!(said(&SHAPE, |_, i, r| r[i] + 1e-6), "conforms");
}

#[test]
fn nan_is_c001_and_says_where() {
    expect_test::expect![[r#"
        error[C001]: y: 8 of 256 elements are NaN where the reference is finite, first at [0, 2, 3, 0]
         |
         = note: the failing elements are one run in memory order, 152 to 159
         = help: look for a division by zero, the logarithm or root of a negative number, or an exponential that overflows"#]]
    .assert_eq(&said(&SHAPE, |at, i, r| if at[1] == 2 && at[2] == 3 { f32::NAN } else { r[i] }));
}

#[test]
fn zeros_everywhere_are_c002() {
    expect_test::expect![[r#"
        error[C002]: y: all 256 elements are zero, the reference's are not
         |
         = help: look for a mask that is false everywhere, or offsets that are all out of range"#]]
    .assert_eq(&said(&SHAPE, |_, _, _| 0.0));
}

#[test]
fn a_factor_is_found() {
    expect_test::expect![[r#"
        error[C003]: y: all 256 elements differ from the reference
         |
         = note: worst at [0, 2, 0, 7]: got 0.499545693397522, expected 1.998182773590088 ± 1.00e-5
         = note: max_abs_err 1.499e0, max_rel_err 7.500e-1, held to |y − r| ≤ rounding of each operator: add
         = note: every failing element is 0.25 times the reference
         = help: check a scale: a divisor left out or applied twice, a reduction that runs over a multiple of its axis"#]]
    .assert_eq(&said(&SHAPE, |_, i, r| r[i] * 0.25));
}

/// The notes that patterns add, and the remedy.
fn facts(said: &str) -> String {
    let facts: Vec<_> = said.lines().filter_map(|l| l.trim_start().strip_prefix("= ")).collect();
    facts.into_iter().filter(|l| !l.contains("worst at") && !l.contains("max_abs_err")).collect::<Vec<_>>().join("\n")
}

/// An element from its coordinates, its flat position and the reference's lanes.
type Broken<'f> = &'f dyn Fn(&[usize], usize, &[f32]) -> f32;

#[test]
fn patterns_of_values() {
    let case = |name: &str, shape: &[usize], f: Broken| format!("{name}\n{}\n", facts(&said(shape, f)));
    let strides = contiguous_strides(&SHAPE);
    let mut text = String::new();
    text += &case("offset", &SHAPE, &|_, i, r| r[i] + 0.75);
    text += &case("a bias read at the wrong channel", &SHAPE, &|at, i, r| r[i] + [0.5, -1.0, 0.25, 3.0][at[1]]);
    text += &case("scales read at the wrong channel", &SHAPE, &|at, i, r| r[i] * [0.5, -1.0, 0.25, 3.0][at[1]]);
    text += &case("rows for columns", &SHAPE, &|at, i, r| {
        r[(i as i64 + (at[3] as i64 - at[2] as i64) * (strides[2] - strides[3])) as usize]
    });
    text += &case("written transposed", &[6, 10], &|_, i, r| r[i % 6 * 10 + i / 6]);
    text += &case("one column off", &SHAPE, &|_, i, r| r[(i + 1) % 256]);
    text += &case("one row off", &SHAPE, &|_, i, r| r[(i + 248) % 256]);
    text += &case("three elements off", &[200], &|_, i, r| r[(i + 3) % 200]);
    text += &case("sign", &SHAPE, &|_, i, r| -r[i]);
    text += &case("noise", &SHAPE, &|_, i, r| r[(i * 77 + 5) % 256]);
    expect_test::expect_file!["../../../tests/conform/value_patterns.txt"].assert_eq(&text);
}

#[test]
fn patterns_of_places() {
    let case = |name: &str, shape: &[usize], wrong: &dyn Fn(&[usize]) -> bool| {
        let broken = |at: &[usize], i: usize, r: &[f32]| if wrong(at) { r[i] + 1.0 + (i * 7919 % 13) as f32 } else { r[i] };
        format!("{name}\n{}\n", facts(&said(shape, broken)))
    };
    let mut text = String::new();
    text += &case("frame", &SHAPE, &|at| at[2] == 0 || at[3] == 0 || at[2] == 7 || at[3] == 7);
    text += &case("tail of the channels", &[1, 70, 8, 8], &|at| at[1] >= 64);
    text += &case("tail of the memory", &[100], &|at| at[0] >= 64);
    text += &case("a block", &[128], &|at| (32..64).contains(&at[0]));
    text += &case("every other channel", &[1, 8, 4, 4], &|at| at[1] % 2 == 1);
    text += &case("a corner of a matrix", &[16, 16], &|at| at[0] < 4 && at[1] < 4);
    text += &case("here and there", &[8, 8], &|at| (at[0] * 5 + at[1] * 3) % 7 == 0);
    expect_test::expect_file!["../../../tests/conform/place_patterns.txt"].assert_eq(&text);
}

#[test]
fn a_missing_relu_and_a_dropped_block_are_told_apart() {
    let raw = truth(&SHAPE);
    let lanes = raw.as_f32().unwrap();
    let relu = Tensor::from_f32(Shape::from_slice(&SHAPE), lanes.iter().map(|v| v.max(0.0)).collect());
    assert!(judge(raw.clone(), relu.clone()).contains("the ReLU (or clamp at zero) is not applied"));
    assert!(judge(relu, raw).contains("a ReLU is applied where there is none"));
    let dropped = said(&SHAPE, |at, i, r| if at[1] == 3 { 0.0 } else { r[i] });
    assert!(dropped.contains("every failing element is 0"), "{dropped}");
    assert!(dropped.contains("only the last 64 elements in memory order fail"), "{dropped}");
}

#[test]
fn shapes_show_the_formula_and_the_slip() {
    let conv = Op::Conv(Conv {
        strides: smallvec![2; 2],
        dilations: smallvec![1; 2],
        pads_begin: smallvec![3; 2],
        pads_end: smallvec![3; 2],
        groups: 1,
    });
    let operands: [&[usize]; 2] = [&[1, 3, 224, 224], &[64, 3, 7, 7]];
    let said = shape_mismatch("y", &conv, &operands, &[1, 64, 109, 109], &[1, 64, 112, 112]);
    expect_test::expect![[r#"
        error[B001]: y: the output is 1×64×109×109, conv gives 1×64×112×112
         |
         = note: axis 2: ⌊(224 + 3 + 3 − 1·(7 − 1) − 1) / 2⌋ + 1 = 112, got 109
         = note: axis 3: ⌊(224 + 3 + 3 − 1·(7 − 1) − 1) / 2⌋ + 1 = 112, got 109
         = help: check the output-size formula: the padding is left out"#]]
    .assert_eq(&render(&said, false));
    let pool = Op::Pool(Pool {
        kind: PoolKind::Max,
        kernel: smallvec![3],
        strides: smallvec![2],
        dilations: smallvec![1],
        pads_begin: smallvec![1],
        pads_end: smallvec![1],
    });
    let said = shape_mismatch("y", &pool, &[&[1, 2, 12]], &[1, 2, 7], &[1, 2, 6]);
    assert_eq!(said.help.unwrap(), "check the output-size formula: the division rounds up");
    let said = shape_mismatch("y", &Op::MatMul, &[], &[4, 3], &[3, 4]);
    assert_eq!(said.help.unwrap(), "check the order of the axes");
}

#[test]
fn grids_say_what_never_runs() {
    let said = grid_mismatch("relu", [48, 1, 1], [49, 1, 1], &["N // BLOCK".to_owned()]);
    expect_test::expect![[r#"
        error[B002]: relu: the grid is (48, 1, 1), its work needs (49, 1, 1)
         |
         = note: axis 0: N // BLOCK = 48, needed 49
         = help: 1 programs never run: round the division up (triton.cdiv) over every axis of the output"#]]
    .assert_eq(&render(&said, false));
}

#[test]
fn suspects_follow_the_clue() {
    let text = include_str!("../../../operator_templates/batchnorm2d/kernel.py");
    let file = crate::source::SourceFile::new("kernel.py", text);
    let module = crate::syntax::parse_module(&file).unwrap();
    let function = |name: &str| text.contains(&format!("def {name}("));
    assert!(function("batchnorm2d_kernel"));
    let clues = [Clue::NotFinite, Clue::Choice, Clue::Mask, Clue::Address, Clue::ProgramId, Clue::Arithmetic, Clue::Anything];
    let pointers = std::collections::BTreeMap::new();
    let seen = |clue| Seen { clue, evidence: None, pointers: &pointers, grid: None };
    let lines = |clue: Clue| {
        let said = |s: Suspect| format!("  {}: {}", s.why, file.slice(s.span).lines().next().unwrap_or_default());
        suspects::rank(&module, "batchnorm2d_kernel", seen(clue), 3).into_iter().map(said).collect::<Vec<_>>().join("\n")
    };
    let text: String = clues.into_iter().map(|clue| format!("{clue:?}\n{}\n", lines(clue))).collect();
    expect_test::expect_file!["../../../tests/conform/suspects.txt"].assert_eq(&text);
    assert!(suspects::rank(&module, "absent", seen(Clue::Mask), 3).is_empty());
}
