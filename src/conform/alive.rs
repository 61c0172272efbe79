//! The signal-alive guard: a chain of layers whose activations are constant, all zero or NaN compares
//! well with anything, so nothing can be said verified about it.
//!
//! A float tensor is alive when some element is finite, two elements differ, no more than 99.9 % of
//! them are zero or NaN, and the standard deviation of the finite ones is above a millionth of their
//! mean, unless infinities stand between them: a mask of 0 and −∞ is a signal by its places. A
//! softmax is dead, too, when every element has saturated to 0 or 1, because it then hides whatever
//! the layers before it computed, up to the place of the maximum. Integers and bools may be constant
//! (shapes, masks). Not caught: signals that vary but carry no information.

use rayon::prelude::*;

use crate::diag::{Diagnostic, codes};
use crate::graph::Op;
use crate::reference::floats;
use crate::tensor::Tensor;

/// An element of a softmax below this is 0 for all that is done with it.
const SATURATED: f64 = 1e-30;

/// What the elements of one activation look like; mean, spread and maximum are of the finite ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    pub elements: usize,
    pub mean: f64,
    /// Standard deviation.
    pub spread: f64,
    /// The largest |element|.
    pub maximum: f64,
    pub zeros: usize,
    pub nans: usize,
    pub infinities: usize,
    /// Whether two elements differ.
    pub varies: bool,
}

impl Signal {
    pub fn of(tensor: &Tensor) -> Signal {
        let lanes = floats(tensor.storage());
        let finite = || lanes.par_iter().copied().filter(|v| v.is_finite());
        let count = finite().count();
        let nans = lanes.par_iter().filter(|v| v.is_nan()).count();
        let mean = finite().sum::<f64>() / count.max(1) as f64;
        let variance = finite().map(|v| (v - mean).powi(2)).sum::<f64>() / count.max(1) as f64;
        Signal {
            elements: lanes.len(),
            mean,
            spread: variance.sqrt(),
            maximum: finite().map(f64::abs).reduce(|| 0.0, f64::max),
            zeros: lanes.par_iter().filter(|&&v| v == 0.0).count(),
            nans,
            infinities: lanes.len() - count - nans,
            varies: lanes.first().is_some_and(|first| lanes.par_iter().any(|v| v != first)),
        }
    }

    /// Why the signal is dead, or `None`. A single element cannot vary and is alive when finite.
    fn death(&self) -> Option<String> {
        if self.elements > 0 && self.nans + self.infinities == self.elements {
            return Some("no element is finite".to_owned());
        }
        if self.elements < 2 {
            return None;
        }
        if self.zeros == self.elements {
            return Some("all elements are zero".to_owned());
        }
        if !self.varies {
            return Some(format!("all elements are {}", self.mean));
        }
        if (self.zeros + self.nans) * 1000 > self.elements * 999 {
            return Some(format!("{} of {} elements are zero or NaN", self.zeros + self.nans, self.elements));
        }
        if self.infinities > 0 {
            return None;
        }
        let limit = 1e-6 * self.mean.abs();
        (self.spread <= limit)
            .then(|| format!("the spread {:.2e} is below a millionth of the mean {:.2e}", self.spread, self.mean))
    }
}

/// Whether a softmax's elements are all 0 or 1 to fp32.
fn saturated(op: &Op, output: &Tensor) -> bool {
    let hot = |&v: &f64| v == 1.0 || v.abs() < SATURATED;
    matches!(op, Op::Softmax { log: false, .. }) && floats(output.storage()).par_iter().all(hot)
}

/// A diagnostic that names the layer when its output, computed by `op`, carries no signal.
pub fn check(file: &str, layer: &str, op: &Op, output: &Tensor) -> Option<Diagnostic> {
    if !output.dtype().is_float() {
        return None;
    }
    let hot = || saturated(op, output).then(|| "every line of the softmax has saturated to one 1 and zeros".to_owned());
    let death = Signal::of(output).death().or_else(hot)?;
    Some(
        Diagnostic::new(&codes::SIGNAL_DEAD, format!("the output carries no signal: {death}"))
            .at_node(file, layer)
            .note("everything after this layer compares equal whatever its kernels do")
            .help("decompose with another --seed, or with generated weights (--weights seeded)"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::shape::Shape;

    fn death(lanes: Vec<f32>) -> Option<String> {
        Signal::of(&Tensor::from_f32(Shape::from_slice(&[lanes.len()]), lanes)).death()
    }

    #[test]
    fn dead_signals_say_why() {
        assert_eq!(death(vec![0.0, 1.0, -1.0]), None);
        assert_eq!(death(vec![3.0]), None);
        assert_eq!(death(vec![0.0; 4]).unwrap(), "all elements are zero");
        assert_eq!(death(vec![2.5; 4]).unwrap(), "all elements are 2.5");
        assert_eq!(death(vec![f32::NAN]).unwrap(), "no element is finite");
        assert_eq!(death(vec![f32::NAN, f32::NEG_INFINITY]).unwrap(), "no element is finite");
        for hole in [0.0, f32::NAN] {
            let mut sparse = vec![hole; 2000];
            sparse[7] = 1.0;
            assert_eq!(death(sparse).unwrap(), "1999 of 2000 elements are zero or NaN");
        }
        assert_eq!(death(vec![1.0, 1.0000001]).unwrap(), "the spread 5.96e-8 is below a millionth of the mean 1.00e0");
    }

    #[test]
    fn infinities_are_a_signal_by_their_places() {
        let inf = f32::INFINITY;
        assert_eq!(death(vec![0.0, -inf, 0.0]), None);
        assert_eq!(death(vec![-inf, 0.5, 0.25]), None);
        assert_eq!(death(vec![1.0, f32::NAN, 2.0]), None);
    }

    #[test]
    fn integers_and_bools_may_be_constant() {
        let shape = || Shape::from_slice(&[2]);
        assert!(check("m", "shape", &Op::MatMul, &Tensor::from_i64(shape(), vec![7, 7])).is_none());
        assert!(check("m", "mask", &Op::MatMul, &Tensor::zeros(DType::Bool, shape())).is_none());
    }

    #[test]
    fn a_saturated_softmax_is_dead() {
        let tensor = |lanes: [f32; 4]| Tensor::from_f32(Shape::from_slice(&[2, 2]), lanes.to_vec());
        let softmax = Op::Softmax { axis: 1, log: false };
        let hot = tensor([1.0, 0.0, 1e-38, 1.0]);
        let message = check("m", "prob", &softmax, &hot).unwrap().message;
        assert!(message.contains("saturated"), "{message}");
        // The same elements are a mask elsewhere, and one soft line is a signal.
        assert!(check("m", "mask", &Op::MatMul, &hot).is_none());
        assert!(check("m", "prob", &softmax, &tensor([1.0, 0.0, 0.25, 0.75])).is_none());
    }

    #[test]
    fn the_layer_is_named() {
        let tensor = Tensor::from_f32(Shape::from_slice(&[2]), vec![0.0; 2]);
        let diagnostic = check("m.onnx", "layer1.0.relu", &Op::MatMul, &tensor).unwrap();
        assert_eq!(diagnostic.code.id, "C004");
        assert!(matches!(diagnostic.place, Some(crate::diag::Place::Node { node, .. }) if node == "layer1.0.relu"));
    }
}
