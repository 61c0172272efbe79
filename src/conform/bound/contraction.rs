//! Sums of products: the statistical bound on their own rounding, and operand errors carried with
//! their full weight. A sum is marked as unsettled when a factor of one of its products is.

use rayon::prelude::*;

use super::{Error, as_tensor};
use crate::diag::Result;
use crate::dtype::DType;
use crate::graph::Op;
use crate::reference::{Math, apply, floats, magnitude};
use crate::tensor::Tensor;
use crate::tolerance::{Contraction, UNIT, half_ulp};

/// The error of a Conv or MatMul, and the largest Q.
pub(super) fn carry(
    op: &Op,
    contraction: Contraction,
    operands: &[Option<&Tensor>],
    carried: &[Option<&Error>],
    output: &Tensor,
) -> Result<(Error, f64)> {
    let weights = magnitude(op, operands)?;
    let largest = weights.par_iter().copied().reduce(|| 0.0, f64::max);
    let truth = floats(output.storage());
    let own = |(&q, &r): (&f64, &f64)| contraction.bound(q, r) + half_ulp(r, DType::F32);
    let mut bound: Vec<f64> = weights.par_iter().zip(truth.par_iter()).map(own).collect();
    let pixels = output.shape().iter().skip(2).product::<usize>().max(1);
    if let Some(Some(bias)) = operands.get(2) {
        let bias = floats(bias.storage());
        let off = carried.get(2).copied().flatten().map(|error| &error.bound);
        bound.par_chunks_mut(pixels).enumerate().for_each(|(row, bound)| {
            let c = row % bias.len();
            let b = UNIT * bias[c].abs() + off.map_or(0.0, |off| off[c]);
            bound.iter_mut().for_each(|e| *e += b);
        });
    }
    // |Σ (a + δa)(b + δb) − Σ a·b| ≤ Σ |δa|·|b| + Σ (|a| + |δa|)·|δb|
    let absolute = |i: usize| operands[i].map(|t| as_tensor(floats(t.storage()).iter().map(|v| v.abs()).collect(), t.shape()));
    let mut add = |a: &Tensor, b: &Tensor| -> Result<()> {
        let sums = apply(op, &[Some(a), Some(b)], DType::F64, Math::F64)?;
        bound.par_iter_mut().zip(floats(sums.storage()).par_iter()).for_each(|(e, s)| *e += s);
        Ok(())
    };
    let (first, second) = (carried[0], carried[1]);
    if let (Some(error), Some(a)) = (first, operands[0])
        && let Some(b) = absolute(1)
    {
        add(&error.tensor(a.shape()), &b)?;
    }
    if let (Some(error), Some(b)) = (second, operands[1])
        && let Some(mut a) = absolute(0)
    {
        if let Some(first) = first {
            let lanes = floats(a.storage()).iter().zip(&first.bound).map(|(a, e)| a + e).collect();
            a = as_tensor(lanes, a.shape());
        }
        add(&a, &error.tensor(b.shape()))?;
    }
    let mut error = Error::of(bound);
    mark(&mut error, op, operands, carried)?;
    if let Some(flags) = carried.get(2).copied().flatten().and_then(|bias| bias.unsettled.as_ref()) {
        error.mark((0..output.len()).map(|at| flags[at / pixels % flags.len()] != 0.0));
    }
    Ok((error, largest))
}

/// Marks what the factors' marks reach: the operator on flags and ones counts them in each sum.
fn mark(error: &mut Error, op: &Op, operands: &[Option<&Tensor>], carried: &[Option<&Error>]) -> Result<()> {
    let flags = |i: usize| carried[i].and_then(|error| error.unsettled.as_ref());
    for (marked, other) in [(0, 1), (1, 0)] {
        let (Some(flags), Some(a), Some(b)) = (flags(marked), operands[marked], operands[other]) else { continue };
        let (flags, ones) = (as_tensor(flags.clone(), a.shape()), as_tensor(vec![1.0; b.len()], b.shape()));
        let (a, b) = if marked == 0 { (&flags, &ones) } else { (&ones, &flags) };
        let counts = apply(op, &[Some(a), Some(b)], DType::F64, Math::F64)?;
        error.mark(floats(counts.storage()).iter().map(|&count| count > 0.0));
    }
    Ok(())
}
