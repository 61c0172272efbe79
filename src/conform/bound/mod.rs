//! Error bounds for what one kernel computes: each node's own rounding, and its operands' errors
//! carried through it, element by element beside the reference's values.
//!
//! A contraction contributes the bound of [`crate::tolerance`]; what follows it (a folded
//! normalisation, an added residual, a ReLU) carries that through first-order derivatives, with a
//! margin where the derivative changes over the interval. Inputs of the kernel are exact. Where an
//! interval crosses a breakpoint of a discontinuous operator, or a pole (a logarithm or a quotient at
//! 0), the element may take either side; such elements are marked, and so is what depends on them.
//!
//! A fused chain of 16-bit floats computes in fp32 and rounds its store; of the values inside, only a
//! normalisation's may be rounded too (`fuse::rules::scale_batchnorm`).
//!
//! Not modelled: roundings of other intermediate values to 16 bits, and correlation between errors
//! (bounds add).

mod contraction;
mod elementwise;
mod map;
mod reduction;

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::graph::{Graph, NodeId, Op, Producer, ValueId};
use crate::reference::{self, Env, Math, apply, floats};
use crate::shape::Shape;
use crate::tensor::{Storage, Tensor};
use crate::tolerance::{self, Contraction, Precision, Tolerance};

/// What an output is held to.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    pub tolerance: Tolerance,
    /// Allowed |got − expected| an element; `None`: bit-equal.
    pub bound: Option<Vec<f64>>,
    /// Elements that may take either side of a breakpoint; `None`: none.
    pub unsettled: Option<Vec<bool>>,
}

impl Derived {
    /// Bit-equal.
    pub fn exact() -> Derived {
        Derived { tolerance: Tolerance::Exact, bound: None, unsettled: None }
    }

    pub fn bound_at(&self, element: usize) -> f64 {
        self.bound.as_ref().map_or(0.0, |bound| bound[element])
    }

    pub fn is_unsettled(&self, element: usize) -> bool {
        self.unsettled.as_ref().is_some_and(|flags| flags[element])
    }
}

/// The error of one value: a bound an element, and 1 where it may take either side.
#[derive(Clone, Debug)]
struct Error {
    bound: Vec<f64>,
    unsettled: Option<Vec<f64>>,
}

impl Error {
    fn of(bound: Vec<f64>) -> Error {
        Error { bound, unsettled: None }
    }

    /// Marks the elements whose flag is set.
    fn mark(&mut self, flags: impl Iterator<Item = bool>) {
        for (at, _) in flags.enumerate().filter(|&(_, flag)| flag) {
            self.unsettled.get_or_insert_with(|| vec![0.0; self.bound.len()])[at] = 1.0;
        }
    }

    /// Marks the elements of which nothing can be said: a bound that is NaN becomes infinite, and an
    /// infinite one allows any finite value. Elements that are not finite themselves need no mark,
    /// since they are held to equality.
    fn settle(&mut self, values: &[f64]) {
        if self.bound.par_iter().all(|e| e.is_finite()) {
            return;
        }
        self.bound.iter_mut().filter(|e| e.is_nan()).for_each(|e| *e = f64::INFINITY);
        let open: Vec<bool> = self.bound.iter().zip(values).map(|(e, v)| e.is_infinite() && v.is_finite()).collect();
        self.mark(open.into_iter());
    }

    fn tensor(&self, shape: &[usize]) -> Tensor {
        as_tensor(self.bound.clone(), shape)
    }
}

fn as_tensor(lanes: Vec<f64>, shape: &[usize]) -> Tensor {
    Tensor::new(DType::F64, Shape::from_slice(shape), Storage::F64(lanes))
}

/// Whose inputs a kernel gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// Of our own law: the cap holds as it is.
    OwnLaw,
    /// Anything (a chain's activations, a user's data): the cap scales by the largest Q, or the largest
    /// number inside the kernel, where that is more than 1: a sum of two large numbers may be small.
    Any,
}

/// Derives the bound of the last node's output.
///
/// `env` holds the operands and outputs of all `nodes`, evaluated in [`Math::F64`].
pub fn derive(graph: &Graph, nodes: &[NodeId], env: &Env, precision: Precision, inputs: Inputs) -> Result<Derived> {
    let mut errors: HashMap<ValueId, Error> = HashMap::new();
    let mut contraction = None;
    let mut operators: Vec<String> = Vec::new();
    let mut weight: f64 = 1.0;
    // What depends on weights alone.
    let mut constants: HashSet<ValueId> = HashSet::new();
    for &id in nodes {
        let node = graph.node(id);
        let operands: Vec<_> = reference::operands(graph, id, env)?.into_iter().map(|o| o.map(AsRef::as_ref)).collect();
        let output = env.get(node.outputs[0]).ok_or_else(|| {
            let message = format!("{} has no elements when its bound is derived", graph.value(node.outputs[0]).name);
            reference::fault(graph, id, Diagnostic::new(&codes::INTERNAL, message))
        })?;
        let carried: Vec<_> = node.inputs.iter().map(|input| input.and_then(|v| errors.get(&v))).collect();
        let derived = match &node.op {
            Op::Map(map) => map::carry(map, &operands, &carried),
            Op::Conv(_) | Op::ConvTranspose(_) | Op::MatMul => match reference::terms(&node.op, &operands) {
                Some(terms) if output.dtype().is_float() => {
                    let single = node.inputs[0].is_some_and(|x| graph.dtype(x) == DType::F32);
                    let this = Contraction { precision: if single { precision } else { Precision::Ieee }, terms };
                    contraction::carry(&node.op, this, &operands, &carried, output).map(|(error, magnitude)| {
                        contraction.get_or_insert(this);
                        weight = weight.max(magnitude);
                        Some(error)
                    })
                }
                Some(_) | None => Ok(None),
            },
            Op::Pool(pool) => elementwise::pool(pool, &operands, &carried, output),
            Op::BatchNorm { epsilon } => {
                let inside = (nodes.last() != Some(&id)).then(|| graph.dtype(node.outputs[0]));
                Ok(elementwise::batch_norm(*epsilon, &operands, &carried, output, inside))
            }
            Op::Norm(norm) => Ok(reduction::norm(norm, &operands, &carried, output)),
            Op::Softmax { axis, log } => Ok(elementwise::softmax((*axis, *log), &operands, &carried, output)),
            Op::Reduce(reduce) => Ok(reduction::reduce(reduce, &operands, &carried, output)),
            Op::ArgReduce(arg) => Ok(reduction::positions(arg, &operands, &carried)),
            Op::Scan(scan) => reduction::scan(scan, &operands, &carried, output),
            Op::Lrn(lrn) => Ok(elementwise::lrn(lrn, &operands, &carried, output)),
            Op::View(_) => view(&node.op, &operands, &carried),
        };
        let derived = if node.inputs.iter().flatten().all(|value| constants.contains(value) || is_weight(graph, *value)) {
            constants.insert(node.outputs[0]);
            derived.map(|error| prepared(&node.op, error, output, graph.dtype(node.outputs[0])))
        } else {
            derived
        };
        if let Some(mut error) = derived.map_err(|diagnostic| reference::fault(graph, id, *diagnostic))? {
            error.settle(&floats(output.storage()));
            errors.insert(node.outputs[0], error);
        }
        if inputs == Inputs::Any && nodes.last() != Some(&id) && output.dtype().is_float() {
            let finite = floats(output.storage());
            weight = weight.max(finite.par_iter().map(|v| v.abs()).filter(|v| v.is_finite()).reduce(|| 0.0, f64::max));
        }
        let name = node.op.name();
        let named = match &node.op {
            Op::View(_) => false,
            Op::Conv(_) | Op::ConvTranspose(_) | Op::MatMul => operators.iter().any(|o| o == name),
            Op::Map(_) | Op::Pool(_) | Op::BatchNorm { .. } | Op::Norm(_) | Op::Softmax { .. } | Op::Lrn(_) => true,
            Op::Reduce(_) | Op::ArgReduce(_) | Op::Scan(_) => true,
        };
        if named && operators.last().is_none_or(|last| last != name) {
            operators.push(name.to_owned());
        }
    }
    let Some(&last) = nodes.last() else { return Ok(Derived::exact()) };
    let output = graph.node(last).outputs[0];
    let Some(error) = errors.remove(&output) else { return Ok(Derived::exact()) };
    let dtype = graph.dtype(output);
    let scale = match inputs {
        Inputs::OwnLaw => 1.0,
        Inputs::Any => weight,
    };
    let capped = dtype.is_float() && (inputs == Inputs::OwnLaw || contraction.is_some());
    let cap = capped.then(|| tolerance::cap(dtype, precision) * scale);
    let values = env.get(output).map(|t| floats(t.storage())).unwrap_or_default();
    let format = dtype.format();
    let unsettled: Option<Vec<bool>> = error.unsettled.map(|flags| flags.iter().map(|&f| f != 0.0).collect());
    let free = |at: usize| unsettled.as_ref().is_some_and(|flags| flags[at]);
    let finish = |(at, (&bound, &r)): (usize, (&f64, &f64))| {
        // The store rounds once more; in fp32 that is the last operator's own rounding.
        let store = format.filter(|f| f.digits < 24).map_or(0.0, |f| f.ulp(r) / 2.0);
        let whole = bound + store;
        match cap {
            // A pole allows anything; the cap does not.
            Some(c) if !free(at) || whole.is_infinite() => whole.min(c * (1.0 + r.abs())),
            Some(_) | None => whole,
        }
    };
    let bound = error.bound.par_iter().zip(values.par_iter()).enumerate().map(finish).collect();
    Ok(Derived { tolerance: Tolerance::Derived { contraction, operators, cap }, bound: Some(bound), unsettled })
}

fn is_weight(graph: &Graph, value: ValueId) -> bool {
    match graph.value(value).producer {
        Producer::Weight(_) => true,
        Producer::Input(_) | Producer::Node { .. } => false,
    }
}

/// The error of what is computed from weights alone, before the kernel runs: `prepare` rounds it to a narrow type. A
/// view of a weight rounds nothing.
fn prepared(op: &Op, error: Option<Error>, output: &Tensor, dtype: DType) -> Option<Error> {
    let narrow = dtype.format().filter(|format| format.digits < 24 && !matches!(op, Op::View(_)));
    let Some(format) = narrow else { return error };
    let values = floats(output.storage());
    let mut error = error.unwrap_or_else(|| Error::of(vec![0.0; values.len()]));
    error.bound.iter_mut().zip(values.iter()).for_each(|(e, &v)| *e += format.ulp(v) / 2.0);
    Some(error)
}

/// A view moves errors as it moves lanes.
fn view(op: &Op, operands: &[Option<&Tensor>], carried: &[Option<&Error>]) -> Result<Option<Error>> {
    let (Some(operand), Some(error)) = (operands[0], carried[0]) else { return Ok(None) };
    let moved = |lanes: &Vec<f64>| -> Result<Vec<f64>> {
        let moved = apply(op, &[Some(&as_tensor(lanes.clone(), operand.shape()))], DType::F64, Math::F64)?;
        Ok(floats(moved.storage()).into_owned())
    };
    Ok(Some(Error { bound: moved(&error.bound)?, unsettled: error.unsettled.as_ref().map(moved).transpose()? }))
}

#[cfg(test)]
mod rearranged_tests;
#[cfg(test)]
mod reduction_tests;
#[cfg(test)]
mod tests;
