//! The signal-alive guard: a chain of layers whose activations are constant, all zero or not finite
//! compares well with anything, so nothing can be said verified about it.
//!
//! A tensor is alive when it is finite, has at least two distinct elements, is not zero in more than
//! 99.9 % of them, and its standard deviation is above a millionth of its mean. Not caught: signals
//! that vary but carry no information.

use rayon::prelude::*;

use crate::diag::{Diagnostic, codes};
use crate::reference::floats;
use crate::tensor::Tensor;

/// What the elements of one activation look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    pub elements: usize,
    pub mean: f64,
    /// Standard deviation.
    pub spread: f64,
    /// The largest |element|.
    pub maximum: f64,
    pub zeros: usize,
    pub non_finite: usize,
    /// Whether two elements differ.
    pub varies: bool,
}

impl Signal {
    pub fn of(tensor: &Tensor) -> Signal {
        let lanes = floats(tensor.storage());
        let finite = || lanes.par_iter().copied().filter(|v| v.is_finite());
        let count = finite().count();
        let mean = finite().sum::<f64>() / count.max(1) as f64;
        let variance = finite().map(|v| (v - mean).powi(2)).sum::<f64>() / count.max(1) as f64;
        Signal {
            elements: lanes.len(),
            mean,
            spread: variance.sqrt(),
            maximum: finite().map(f64::abs).reduce(|| 0.0, f64::max),
            zeros: lanes.par_iter().filter(|&&v| v == 0.0).count(),
            non_finite: lanes.len() - count,
            varies: lanes.first().is_some_and(|first| lanes.par_iter().any(|v| v != first)),
        }
    }

    /// Why the signal is dead, or `None`. A single element cannot vary and is alive when finite.
    fn death(&self) -> Option<String> {
        if self.non_finite > 0 {
            return Some(format!("{} of {} elements are NaN or infinite", self.non_finite, self.elements));
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
        if self.zeros * 1000 > self.elements * 999 {
            return Some(format!("{} of {} elements are zero", self.zeros, self.elements));
        }
        let limit = 1e-6 * self.mean.abs();
        (self.spread <= limit)
            .then(|| format!("the spread {:.2e} is below a millionth of the mean {:.2e}", self.spread, self.mean))
    }
}

/// A diagnostic that names the layer when its output carries no signal.
pub fn check(file: &str, layer: &str, output: &Tensor) -> Option<Diagnostic> {
    let death = Signal::of(output).death()?;
    Some(
        Diagnostic::new(&codes::SIGNAL_DEAD, format!("the output carries no signal: {death}"))
            .at_node(file, layer)
            .note("everything after this layer compares equal whatever its kernels do")
            .help("verify with generated weights (--weights seeded), or with an input that excites the model (--input)"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(death(vec![1.0, f32::NAN]).unwrap(), "1 of 2 elements are NaN or infinite");
        let mut sparse = vec![0.0; 2000];
        sparse[7] = 1.0;
        assert_eq!(death(sparse).unwrap(), "1999 of 2000 elements are zero");
        assert_eq!(death(vec![1.0, 1.0000001]).unwrap(), "the spread 5.96e-8 is below a millionth of the mean 1.00e0");
    }

    #[test]
    fn the_layer_is_named() {
        let tensor = Tensor::from_f32(Shape::from_slice(&[2]), vec![0.0; 2]);
        let diagnostic = check("m.onnx", "layer1.0.relu", &tensor).unwrap();
        assert_eq!(diagnostic.code.id, "C004");
        assert!(matches!(diagnostic.place, Some(crate::diag::Place::Node { node, .. }) if node == "layer1.0.relu"));
    }
}
