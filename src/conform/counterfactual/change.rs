//! Other elements for an operand: all equal, equal along an axis, or in the reverse order.

use crate::dtype::Carrier;
use crate::graph::{Graph, Producer, Role, ValueId};
use crate::reference::Env;
use crate::shape::{self, contiguous_strides};
use crate::tensor::{Storage, Tensor};

/// Constants that an operand is set to, from its least to its greatest element.
pub const PROBES: usize = 6;

/// A change of the elements that enter a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    Constant,
    Zero,
    One,
    Along(usize),
    /// The element at this share (of [`PROBES`] − 1) of the way from the least to the greatest.
    Probe(usize),
    /// The element at this place.
    At(usize),
}

/// Changes a value's elements; those whose values matter (indices, variances, constants) stay.
pub fn apply(graph: &Graph, env: &mut Env, value: ValueId, change: Change) {
    let role = graph.value(value).role;
    let fixed = matches!(role, Role::Variance | Role::Exact | Role::IndexBelow(_) | Role::Divisor | Role::Mask);
    let weightless = matches!(graph.value(value).producer, Producer::Node { .. }) && env.get(value).is_none();
    if fixed || weightless {
        return;
    }
    let Some(tensor) = env.get(value) else { return };
    let changed = match (change, constant(tensor, change)) {
        (Change::Along(axis), _) if tensor.shape().len() > axis && tensor.shape().len() > 1 => along(tensor, axis),
        (_, Some(value)) => filled(tensor, value),
        (_, None) => return,
    };
    env.set(value, changed);
}

/// What a change makes of every element; `None` where the tensor has no such element.
pub fn constant(tensor: &Tensor, change: Change) -> Option<f64> {
    let finite = || (0..tensor.len()).map(|i| tensor.storage().get_f64(i)).filter(|v| v.is_finite());
    match change {
        Change::Zero => Some(0.0),
        Change::One => Some(1.0),
        // Along: a vector beside a tensor of more axes, a scale or bias along the first of them.
        Change::Constant | Change::Along(_) => Some(typical(tensor)),
        Change::Probe(step) => {
            let (least, greatest) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
            let wanted = least + (greatest - least) * step as f64 / (PROBES - 1) as f64;
            finite().min_by(|a, b| (a - wanted).abs().total_cmp(&(b - wanted).abs()))
        }
        Change::At(place) => (place < tensor.len()).then(|| tensor.storage().get_f64(place)),
    }
}

/// The first element that is neither 0 nor 1 (a factor of 1 hides that it is left out), so that
/// divisibility and size stay what they were.
fn typical(tensor: &Tensor) -> f64 {
    (0..tensor.len()).map(|i| tensor.storage().get_f64(i)).find(|v| *v != 0.0 && *v != 1.0 && v.is_finite()).unwrap_or(1.0)
}

fn filled(tensor: &Tensor, value: f64) -> Tensor {
    let len = tensor.len();
    let storage = match tensor.dtype().carrier() {
        Carrier::F64 => Storage::F64(vec![value; len]),
        Carrier::F32 => Storage::F32(vec![value as f32; len]),
        Carrier::I64 => Storage::I64(vec![value as i64; len]),
        Carrier::Bool => Storage::Bool(vec![u8::from(value != 0.0); len]),
    };
    Tensor::new(tensor.dtype(), shape::Shape::from_slice(tensor.shape()), storage)
}

/// Every element is the first one along the axis.
fn along(tensor: &Tensor, axis: usize) -> Tensor {
    let stride = contiguous_strides(tensor.shape())[axis] as usize;
    let size = tensor.shape()[axis];
    arranged(tensor, |at| at - at / stride % size * stride)
}

/// The last elements first along an axis.
pub fn reversed(tensor: &Tensor, axis: usize) -> Tensor {
    arranged(tensor, opposite(tensor.shape(), axis))
}

/// The place that an element has when an axis is reversed.
pub fn opposite(shape: &[usize], axis: usize) -> impl Fn(usize) -> usize + use<> {
    let (stride, size) = (contiguous_strides(shape)[axis] as usize, shape[axis]);
    move |at| {
        let i = at / stride % size;
        at + (size - 1 - i) * stride - i * stride
    }
}

/// Each element is that of another place.
fn arranged(tensor: &Tensor, source: impl Fn(usize) -> usize) -> Tensor {
    let storage = match tensor.storage() {
        Storage::F64(v) => Storage::F64((0..v.len()).map(|i| v[source(i)]).collect()),
        Storage::F32(v) => Storage::F32((0..v.len()).map(|i| v[source(i)]).collect()),
        Storage::I64(v) => Storage::I64((0..v.len()).map(|i| v[source(i)]).collect()),
        Storage::Bool(v) => Storage::Bool((0..v.len()).map(|i| v[source(i)]).collect()),
    };
    Tensor::new(tensor.dtype(), shape::Shape::from_slice(tensor.shape()), storage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    #[test]
    fn elements_become_equal_or_reversed_along_an_axis() {
        let tensor = Tensor::from_f32(Shape::from_slice(&[2, 3]), vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(along(&tensor, 0).as_f32().unwrap(), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
        assert_eq!(reversed(&tensor, 0).as_f32().unwrap(), [3.0, 4.0, 5.0, 0.0, 1.0, 2.0]);
        assert_eq!(reversed(&tensor, 1).as_f32().unwrap(), [2.0, 1.0, 0.0, 5.0, 4.0, 3.0]);
        assert_eq!(along(&tensor, 1).as_f32().unwrap(), [0.0, 0.0, 0.0, 3.0, 3.0, 3.0]);
        assert_eq!(filled(&tensor, typical(&tensor)).as_f32().unwrap(), [2.0; 6]);
    }
}
