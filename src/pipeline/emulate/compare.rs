//! What a tensor holds in the end against what is expected of it.

use super::Compared;
use crate::conform::bound::Derived;
use crate::conform::compare::{Comparison, compare as compare_values, display_index};
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::{Carrier, DType};
use crate::emulate::{BufferId, Memory};
use crate::launch::description::{Expect, Expected, wrong};
use crate::launch::formula::{self, Inputs};
use crate::launch::resolve::Resolved;
use crate::launch::{files, fill};
use crate::tensor::{Storage, Tensor};
use crate::tolerance::{Precision, Tolerance, cap};

/// Compares one argument; the second of the result is the fault, if there is one.
///
/// # Errors
/// E001 and E003 when there is nothing to compare with.
pub fn compare(expect: &Expect, inputs: &Inputs, resolved: &Resolved, memory: &Memory) -> Result<(Compared, Option<Diagnostic>)> {
    let refuse = |message: String| wrong(&expect.file, expect.span, message);
    let operand = resolved.scope.operand(&expect.name);
    let operand = operand.ok_or_else(|| refuse(format!("`{}` is no tensor of this run", expect.name)))?;
    let got = fill::gather(memory.lanes(BufferId(operand.buffer)), operand);
    let whole = operand.dtype.carrier() == Carrier::I64 || operand.dtype == DType::Bool;
    let (values, bound, tolerance) = match &expect.value {
        Expected::Formula(expression) => {
            let truth = formula::evaluate(expression, inputs, operand.dtype, &operand.shape)?;
            match expect.tolerance {
                Some(t) => {
                    let bound = loose(&truth.values, t);
                    (truth.values, bound, given(t))
                }
                None if truth.bound.iter().all(|&b| b == 0.0) => (truth.values, truth.bound, "exact".to_owned()),
                None => (truth.values, truth.bound, "derived from the formula".to_owned()),
            }
        }
        Expected::File(file) => {
            let read = files::read(&file.path, file.tensor.as_deref(), None);
            let tensor =
                read.or_else(|_| files::read(&file.path, file.tensor.as_deref(), Some(operand.dtype))).map_err(&refuse)?;
            if tensor.shape() != operand.shape.as_slice() {
                let [found, want] = [tensor.shape(), operand.shape.as_slice()].map(crate::shape::display);
                return Err(refuse(format!("the file holds {found}, and `{}` is {want}", expect.name)));
            }
            let lanes = (0..tensor.len()).map(|i| tensor.storage().get_f64(i)).collect();
            let values = Tensor::new(DType::F64, operand.shape.clone(), Storage::F64(lanes));
            let t = expect.tolerance.unwrap_or(if whole { 0.0 } else { cap(operand.dtype, Precision::Ieee) });
            let bound = loose(&values, t);
            (values, bound, given(t))
        }
    };
    let derived = Derived { tolerance: Tolerance::Exact, bound: Some(bound), unsettled: None };
    let comparison = compare_values(&got, &values, &derived);
    let fault = (!comparison.passed()).then(|| fault(expect, &got, &comparison, &tolerance));
    Ok((Compared { name: expect.name.clone(), comparison, tolerance }, fault))
}

fn given(t: f64) -> String {
    if t == 0.0 { "exact".to_owned() } else { format!("{t:e} + {t:e}·|r|") }
}

fn loose(values: &Tensor, t: f64) -> Vec<f64> {
    (0..values.len()).map(|i| t + t * values.storage().get_f64(i).abs()).map(|b| if b.is_finite() { b } else { 0.0 }).collect()
}

fn fault(expect: &Expect, got: &Tensor, comparison: &Comparison, tolerance: &str) -> Diagnostic {
    let name = &expect.name;
    let zero = (0..got.len()).all(|i| got.storage().get_f64(i) == 0.0);
    let code = if zero {
        &codes::ALL_ZERO
    } else if !comparison.non_finite_equal {
        &codes::HAS_NAN
    } else {
        &codes::VALUE_MISMATCH
    };
    let message = match &comparison.worst {
        Some(worst) => {
            let index = display_index(&worst.index);
            format!("{name}{index} is {}, {} is expected", number(worst.got), number(worst.expected))
        }
        None => format!("{name} is not what is expected"),
    };
    let mut error = Diagnostic::new(code, message).at(&expect.file, expect.span);
    if let Some(worst) = &comparison.worst {
        let off = (worst.got - worst.expected).abs();
        error = error.note(format!("off by {}, {} is allowed ({tolerance})", number(off), number(worst.bound)));
    }
    error = error.note(format!("{} of {} elements differ", comparison.failures, comparison.elements));
    error
}

fn number(value: f64) -> String {
    match value.abs() {
        magnitude if value == value.trunc() && magnitude < 1e15 => format!("{value}"),
        magnitude if (1e-3..1e6).contains(&magnitude) => format!("{value:.6}"),
        _ => format!("{value:.3e}"),
    }
}
