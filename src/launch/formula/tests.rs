//! Formulas: values, bounds, and what has no value.

use super::*;
use crate::launch::resolve::{Operand, Value as Known};
use crate::tolerance::UNIT;

fn inputs() -> (Scope, BTreeMap<String, Tensor>) {
    let x = Tensor::from_f32(Shape::from_slice(&[2, 3]), vec![1.0, -2.0, 3.0, 4.0, 0.5, -6.0]);
    let y = Tensor::from_f32(Shape::from_slice(&[3]), vec![1.0, 2.0, 4.0]);
    let i = Tensor::from_i64(Shape::from_slice(&[2]), vec![1, 0]);
    let tensors: BTreeMap<String, Tensor> = [("x", x), ("y", y), ("i", i)].map(|(n, t)| (n.to_owned(), t)).into();
    let operand = |t: &Tensor| Operand {
        dtype: t.dtype(),
        shape: Shape::from_slice(t.shape()),
        strides: crate::shape::contiguous_strides(t.shape()),
        offset: 0,
        buffer: 0,
    };
    let mut args: Vec<(String, Known)> = tensors.iter().map(|(n, t)| (n.clone(), Known::Tensor(operand(t)))).collect();
    args.push(("n".to_owned(), Known::Constant(Constant::Int(3))));
    (Scope::of(args), tensors)
}

fn truth(text: &str, shape: &[usize]) -> Result<Truth> {
    let (scope, tensors) = inputs();
    let inputs = Inputs { tensors, scope: &scope, rounding: Rounding { unit: UNIT, operand: 0.0 } };
    evaluate(&Expression::parse("formula", text)?, &inputs, DType::F32, &Shape::from_slice(shape))
}

fn values(text: &str, shape: &[usize]) -> Vec<f64> {
    let truth = truth(text, shape).unwrap_or_else(|e| panic!("{text}: {e}"));
    (0..truth.values.len()).map(|i| truth.values.storage().get_f64(i)).collect()
}

#[test]
fn formulas_compute() {
    for (text, shape, want) in [
        ("x + y", vec![2, 3], vec![2.0, 0.0, 7.0, 5.0, 2.5, -2.0]),
        ("x * 2 - n", vec![2, 3], vec![-1.0, -7.0, 3.0, 5.0, -2.0, -15.0]),
        ("sum(x, axis=1)", vec![2], vec![2.0, -1.5]),
        ("x.sum(0)", vec![3], vec![5.0, -1.5, -3.0]),
        ("sum(x)", vec![1], vec![0.5]),
        ("max(x, axis=1, keepdims=True)", vec![2, 1], vec![3.0, 4.0]),
        ("x.max(1)", vec![2], vec![3.0, 4.0]),
        ("argmin(x, 1)", vec![2], vec![1.0, 2.0]),
        ("x @ y", vec![2], vec![9.0, -19.0]),
        ("x @ x.T", vec![2, 2], vec![14.0, -15.0, -15.0, 52.25]),
        ("where(x > 0, x, 0)", vec![2, 3], vec![1.0, 0.0, 3.0, 4.0, 0.5, 0.0]),
        ("maximum(x, y)", vec![2, 3], vec![1.0, 2.0, 4.0, 4.0, 2.0, 4.0]),
        ("x[:, None, 1:]", vec![2, 1, 2], vec![-2.0, 3.0, 0.5, -6.0]),
        ("x[::-1, -1]", vec![2], vec![-6.0, 3.0]),
        ("x[i]", vec![2, 3], vec![4.0, 0.5, -6.0, 1.0, -2.0, 3.0]),
        ("x[..., 0]", vec![2], vec![1.0, 4.0]),
        ("x.reshape(3, -1)", vec![3, 2], vec![1.0, -2.0, 3.0, 4.0, 0.5, -6.0]),
        ("permute(x, (1, 0))", vec![3, 2], vec![1.0, 4.0, -2.0, 0.5, 3.0, -6.0]),
        ("cumsum(y)", vec![3], vec![1.0, 3.0, 7.0]),
        ("sort(x, 1, descending=True)", vec![2, 3], vec![3.0, 1.0, -2.0, 4.0, 0.5, -6.0]),
        ("concat((y, y[:1]))", vec![4], vec![1.0, 2.0, 4.0, 1.0]),
        ("tril(x)", vec![2, 3], vec![1.0, 0.0, 0.0, 4.0, 0.5, 0.0]),
        ("arange(n) % 2 == 0", vec![3], vec![1.0, 0.0, 1.0]),
        ("y ** 2 // 3", vec![3], vec![0.0, 1.0, 5.0]),
        ("tl.exp2(y)", vec![3], vec![2.0, 4.0, 16.0]),
        ("mean(y) + var(y)", vec![1], vec![7.0 / 3.0 + 14.0 / 9.0]),
        ("(y / 3).to(tl.float16)", vec![3], vec![0.333251953125, 0.66650390625, 1.3330078125]),
        ("x.shape[1] * x.stride(0) + x if n == 3 else y", vec![2, 3], vec![10.0, 7.0, 12.0, 13.0, 9.5, 3.0]),
        ("5", vec![2], vec![5.0, 5.0]),
        ("~(x > 0) & (x < -1)", vec![2, 3], vec![0.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
    ] {
        let got = values(text, &shape);
        let close = got.len() == want.len() && got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close, "{text}: {got:?}, not {want:?}");
    }
    let softmax = values("softmax(x)", &[2, 3]);
    let powers = [1f64, -2.0, 3.0].map(f64::exp);
    assert!((softmax[0] - powers[0] / powers.iter().sum::<f64>()).abs() < 1e-15);
}

#[test]
fn bounds_grow_with_what_is_computed() {
    let bound = |text: &str, shape: &[usize]| truth(text, shape).unwrap().bound[0];
    let half = UNIT; // half an ulp of numbers in [1, 2)
    assert_eq!(bound("y", &[3]), half);
    assert_eq!(bound("y + 0.25", &[3]), 2.0 * half);
    // 4·u·√K·(Q + |r|) with the products 1, −4, 12 and the sum 9.
    let q = (1.0f64 + 16.0 + 144.0).sqrt();
    let contraction = 4.0 * UNIT * 3f64.sqrt() * (q + 9.0);
    assert!((bound("sum(x[0] * y)", &[1]) / contraction - 1.0).abs() < 1.0);
    assert!((bound("x @ y", &[2]) - (contraction + 8.0 * half)).abs() < 1e-12);
    assert_eq!(bound("i + 1", &[2]), half * 2.0);
    // A comparison at its breakpoint may go either way.
    assert_eq!(bound("where(exp(x) - exp(x) > 0, 100, 0)", &[2, 3]), 100.0 + bound("0", &[2, 3]));
}

#[test]
fn formulas_without_a_value_say_where() {
    for (text, said) in [
        ("z + 1", "unknown name `z`"),
        ("x + y[:2]", "shapes 2×3 and 2 do not fit"),
        ("frob(x)", "unknown function `frob`"),
        ("x @ x", "matmul of 2×3 and 2×3"),
        ("x[5]", "index 5 of an axis of 2"),
        ("sum(x, axis=2)", "axis 2 of 2 axes"),
        ("x.reshape(4, 2)", "cannot be reshaped"),
        ("x if x > 0 else y", "where(condition, a, b)"),
        ("y", "the formula gives 3, and the tensor is 2"),
        ("x.real", "no attribute `real`"),
        ("ones(1 << 40)", "too large"),
    ] {
        let error = truth(text, &[2]).unwrap_err();
        assert!(error.to_string().contains(said), "{text}: {error}");
        assert!(matches!(error.code.id, "E003" | "S002"), "{text}: {}", error.code.id);
    }
}
