//! What the emulator left in memory against what the GPU left there, element by element, under the derived error.
//!
//! Where an element's error is infinite (a comparison lay inside of its error, an order was not determined) nothing can be
//! said of it: it counts as undecided, unless it is equal all the same.

use crate::dtype::DType;
use crate::tensor::Storage;

/// One range of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The argument that views it.
    pub name: String,
    pub dtype: DType,
    pub elements: usize,
    /// The GPU changed it.
    pub written: bool,
    /// Elements that differ at all.
    pub differ: usize,
    /// Elements outside of their bound.
    pub failures: usize,
    /// Elements that differ and of which nothing can be said.
    pub undecided: usize,
    /// The largest |emulator − GPU| over its bound; at most 1 when nothing fails.
    pub error_over_bound: f64,
    pub worst: Option<Worst>,
}

/// The element with the largest error over its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst {
    pub element: usize,
    pub emulated: f64,
    pub recorded: f64,
    pub bound: f64,
}

/// Compares; `bounds` is empty where every element is held to equality.
pub fn compare(
    name: &str,
    dtype: DType,
    emulated: &Storage,
    before: &Storage,
    after: Option<&Storage>,
    bounds: &[f64],
) -> Compared {
    let recorded = after.unwrap_or(before);
    let mut compared = Compared {
        name: name.to_owned(),
        dtype,
        elements: recorded.len(),
        written: after.is_some(),
        differ: 0,
        failures: 0,
        undecided: 0,
        error_over_bound: 0.0,
        worst: None,
    };
    for element in 0..recorded.len() {
        if equal(emulated, recorded, element) {
            continue;
        }
        compared.differ += 1;
        let bound = bounds.get(element).copied().unwrap_or(0.0);
        if bound == f64::INFINITY {
            compared.undecided += 1;
            continue;
        }
        let (y, g) = (emulated.get_f64(element), recorded.get_f64(element));
        let ratio = if (y - g).is_finite() && bound > 0.0 { (y - g).abs() / bound } else { f64::INFINITY };
        if ratio > 1.0 {
            compared.failures += 1;
        }
        if ratio > compared.error_over_bound || compared.worst.is_none() {
            compared.error_over_bound = compared.error_over_bound.max(ratio);
            compared.worst = Some(Worst { element, emulated: y, recorded: g, bound });
        }
    }
    compared
}

/// Equal numbers (−0 and 0 are), or two NaN.
fn equal(a: &Storage, b: &Storage, i: usize) -> bool {
    match (a, b) {
        (Storage::F32(a), Storage::F32(b)) => a[i] == b[i] || a[i].is_nan() && b[i].is_nan(),
        (Storage::F64(a), Storage::F64(b)) => a[i] == b[i] || a[i].is_nan() && b[i].is_nan(),
        (Storage::I64(a), Storage::I64(b)) => a[i] == b[i],
        (Storage::Bool(a), Storage::Bool(b)) => (a[i] != 0) == (b[i] != 0),
        _ => false,
    }
}
