//! The model's outputs after its chain: how far from an f64 chain, and whether that is what their user expects.
//!
//! The measure is the largest |error| over an output's elements. Not caught: errors below what the chain allows.

use std::collections::HashMap;

use crate::conform::chain::ChainReport;
use crate::conform::forward::at_return;
use crate::conform::layout;
use crate::conform::subject::Subject;
use crate::conform::truth::model_outputs;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::emulate::{BufferId, Memory};
use crate::host::HostTensor;
use crate::reference::{Env, Math};
use crate::shape::contiguous_strides;
use crate::tensor::Tensor;
use crate::tolerance::{self, Precision};

/// How many times the error of a reference chain in the same types the emulated outputs may have.
pub const FACTOR: f64 = 4.0;

/// How many elements of each output a report shows.
pub const HEAD: usize = 8;

/// What a chain leaves behind.
#[derive(Clone, Copy)]
pub struct Left<'a> {
    /// What `forward` returns.
    pub returned: &'a [HostTensor],
    pub memory: &'a Memory,
    /// The largest bound of the launch that wrote a storage last.
    pub bounds: &'a HashMap<usize, f64>,
}

/// Compares the model's outputs with an f64 chain, by the measure of a chain in the suite's types.
pub fn judge(subject: &Subject, given: &Env, left: Left<'_>, report: &mut ChainReport) -> Result<()> {
    let graph = &subject.imported;
    let Left { returned, memory, bounds } = left;
    if returned.len() != graph.outputs().len() {
        let what = format!("forward returns {} tensors, the model {}", returned.len(), graph.outputs().len());
        return Err(Box::new(at_return(subject, "forward", Diagnostic::new(&codes::SHAPE_MISMATCH, what))));
    }
    let same = match subject.precision {
        Precision::Tf32 => Math::Tf32,
        // The split classes are at least as good as fp32 products.
        Precision::Ieee | Precision::Tf32x3 | Precision::Bf16x6 | Precision::Fp16x3 | Precision::Bf16x3 => Math::F32,
    };
    let [wide, narrow] = model_outputs(subject, given, same)?;
    for (((&output, tensor), wide), narrow) in graph.outputs().iter().zip(returned).zip(wide).zip(narrow) {
        let name = &graph.value(output).name;
        if tensor.dtype != graph.dtype(output)
            || tensor.shape.as_slice() != graph.shape(output)
            || tensor.strides != contiguous_strides(&tensor.shape)
        {
            let what = format!(
                "forward returns {name} as {}, not {}",
                crate::shape::display(&tensor.shape),
                crate::shape::display(graph.shape(output))
            );
            return Err(Box::new(at_return(subject, "forward", Diagnostic::new(&codes::SHAPE_MISMATCH, what))));
        }
        let shape = crate::shape::Shape::from_slice(graph.shape(output));
        let got = layout::read(memory.lanes(BufferId(tensor.storage.0)), tensor.dtype, &shape, &tensor.strides, tensor.offset);
        let error = distance(&got, &wide, &narrow);
        let chain = allowed(&wide, &narrow, graph.dtype(output));
        // No output is held closer than the launch that writes it is by itself.
        let allowed = chain.max(bounds.get(&tensor.storage.0).copied().unwrap_or(0.0));
        report.max_abs_err = report.max_abs_err.max(error);
        report.allowed = report.allowed.max(allowed);
        report.outputs.push((name.clone(), (0..got.len().min(HEAD)).map(|i| got.storage().get_f64(i)).collect()));
        if error.is_nan() || error > allowed {
            let what = format!(
                "output {name} is off by {error:.3e}, but {allowed:.3e} is allowed ({FACTOR} times the error of a \
                 reference chain in the same types, or the last launch's own bound)"
            );
            let diagnostic = Diagnostic::new(&codes::CHAIN_MISMATCH, what);
            let help = "compare run.py's launches and buffers with the manifest's";
            report.diagnostics.push(at_return(subject, "forward", diagnostic).help(help));
        }
        if let Some(own) = subject.given.expected.get(&output) {
            let off = |tensor: &Tensor| {
                worst((0..own.len()).map(|i| difference(tensor.storage().get_f64(i), own.storage().get_f64(i))))
            };
            let (error, of_reference) = (off(&got), off(&wide));
            report.expected_err = Some(worst([report.expected_err.unwrap_or(0.0), error].into_iter()));
            report.diagnostics.extend(unexpected(subject, name, error, of_reference, allowed));
        }
    }
    Ok(())
}

/// An output that is not what the user expects.
fn unexpected(subject: &Subject, output: &str, error: f64, of_reference: f64, allowed: f64) -> Option<Diagnostic> {
    if error <= allowed {
        return None;
    }
    let what = format!("output {output} is off by {error:.3e} from the expected values, but {allowed:.3e} is allowed");
    let diagnostic = Diagnostic::new(&codes::CHAIN_MISMATCH, what).in_file(format!("{}/run.py", subject.name));
    Some(if of_reference <= allowed {
        diagnostic
            .note("the reference agrees with the expected values")
            .help("compare run.py's launches and buffers with the manifest's")
    } else {
        let note = format!("the reference is off by {of_reference:.3e} from them, too");
        diagnostic.note(note).help("check that the inputs, the weights and the expected values belong together")
    })
}

/// How far an output is from the f64 reference; where that overflows in the output's own types, from the reference in
/// these, which is as right as they can be.
pub fn distance(got: &Tensor, wide: &Tensor, narrow: &Tensor) -> f64 {
    let truth = |i: usize| {
        let (wide, narrow) = (wide.storage().get_f64(i), narrow.storage().get_f64(i));
        if !narrow.is_finite() && wide.is_finite() { narrow } else { wide }
    };
    worst((0..got.len()).map(|i| difference(got.storage().get_f64(i), truth(i))))
}

/// How far an output may be off: [`FACTOR`] times as far as the reference in its own types; one that happens to be exact
/// still leaves one rounding.
pub fn allowed(wide: &Tensor, narrow: &Tensor, dtype: DType) -> f64 {
    let finite = (0..wide.len()).map(|i| wide.storage().get_f64(i).abs()).filter(|v| v.is_finite());
    let largest = finite.fold(0.0, f64::max);
    let unit = if dtype.is_float() { tolerance::rounding(dtype).max(tolerance::UNIT) } else { 0.0 };
    FACTOR * distance(narrow, wide, narrow).max(2.0 * unit * largest)
}

/// The largest, NaN when one of them is.
fn worst(errors: impl Iterator<Item = f64>) -> f64 {
    errors.fold(0.0, |a: f64, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })
}

/// |a − b|; nothing between equal infinities or two NaN, NaN where only one is not finite.
fn difference(a: f64, b: f64) -> f64 {
    match (a.is_finite(), b.is_finite()) {
        (true, true) => (a - b).abs(),
        (false, false) if a == b || (a.is_nan() && b.is_nan()) => 0.0,
        (false, _) | (_, false) => f64::NAN,
    }
}
