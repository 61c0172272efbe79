//! The elements of a value that no file gives: which law its role asks for.
//!
//! The laws keep a signal alive through deep networks: a weight's scale is the power of two nearest
//! to √(6 / fan-in), which keeps a variance through a product and a ReLU (He et al. 2015), and
//! [`signal`](super::signal) makes the fan-in fit what else stands before the product;
//! a normalisation's γ is a little below 1, so that residual sums grow by about 1.15 a block and stay
//! far inside fp16's range (ResNet-50's largest activation is about 20).

use std::sync::Arc;

use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::graph::{Graph, Producer, Role, ValueId, Weight};
use crate::rng::{self, Law, Seed};
use crate::shape::Shape;
use crate::tensor::{Storage, Tensor};

/// The law of real values of a role; `None` for values that are never generated.
pub fn law(role: Role, dtype: DType) -> Option<Law> {
    let anything = |float: Law| if dtype.is_float() { float } else { Law::Integers { low: 0, count: 5, step: 1, keep: 256 } };
    Some(match role {
        Role::Activation => anything(Law::Uniform { scale: 1.0, offset: 0.0 }),
        Role::Weight { fan_in } => anything(Law::Uniform { scale: weight_scale(fan_in), offset: 0.0 }),
        Role::Bias => anything(Law::Uniform { scale: 0.0625, offset: 0.0 }),
        Role::Mean => anything(Law::Uniform { scale: 0.125, offset: 0.0 }),
        // In [½, 1): a residual branch adds less than it gets.
        Role::Scale => Law::Uniform { scale: 0.25, offset: 0.75 },
        // In [½, 3/2).
        Role::Variance => Law::Uniform { scale: 0.5, offset: 1.0 },
        // From either end.
        Role::IndexBelow(size) => {
            let size = size.clamp(1, i32::MAX as usize) as u32;
            Law::Integers { low: -i64::from(size), count: 2 * size, step: 1, keep: 256 }
        }
        // Positive, so that unsigned types hold it; what it divides has both signs.
        Role::Divisor => Law::Integers { low: 1, count: 5, step: 1, keep: 256 },
        // Inside (0, 1), a thousandth away from the ends.
        Role::Probability => Law::Uniform { scale: 0.5 - 1.0 / 1024.0, offset: 0.5 },
        Role::Mask => Law::Integers { low: 0, count: 2, step: 1, keep: 256 },
        Role::Exact => return None,
    })
}

/// The power of two nearest (in the logarithm) to √(6 / fan-in), the half-width of the uniform law
/// with variance 2 / fan-in.
fn weight_scale(fan_in: usize) -> f32 {
    (6.0 / fan_in.max(1) as f64).sqrt().log2().round().exp2() as f32
}

/// Where a weight's elements come from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The file.
    Own(Arc<Tensor>),
    /// One number everywhere, which the file gives.
    Filled(f64),
    Generated(Law, Seed),
}

/// Elements of a weight, made when they are asked for: a network's weights may take more memory together
/// than everything else, and few are needed at once.
#[derive(Clone, Debug)]
pub struct Elements {
    pub origin: Origin,
    dtype: DType,
    shape: Shape,
}

impl Elements {
    pub fn tensor(&self) -> Arc<Tensor> {
        match &self.origin {
            Origin::Own(tensor) => tensor.clone(),
            Origin::Filled(value) => Arc::new(filled(*value, self.dtype, self.shape.clone())),
            Origin::Generated(law, seed) => Arc::new(rng::fill(*law, *seed, self.dtype, self.shape.clone())),
        }
    }
}

/// A weight's own elements, or generated ones where the file has none or fills it with one number
/// (a constant weight hides indexing errors). Exact values and constant integers are never replaced.
/// `always` generates float weights that the file does have, too.
///
/// Fails when the value is not a weight, or is exact and missing.
pub fn weight(graph: &Graph, value: ValueId, seed: u64, always: bool) -> Result<Elements> {
    let data = graph.value(value);
    let (dtype, shape) = (data.ty.dtype, data.ty.shape.clone());
    let Producer::Weight(weight) = &data.producer else {
        let message = format!("value `{}` is not a weight", data.name);
        return Err(Box::new(Diagnostic::new(&codes::INTERNAL, message).in_file(graph.file.clone())));
    };
    let law = law(data.role, dtype).filter(|_| dtype.is_float() || data.role != Role::Activation);
    let origin = match (weight, law) {
        (Weight::Data(tensor), None) => Origin::Own(tensor.clone()),
        (Weight::Data(tensor), Some(_)) if !always => Origin::Own(tensor.clone()),
        (Weight::Filled(value), None) => Origin::Filled(*value),
        (Weight::Data(_) | Weight::Filled(_) | Weight::Missing, Some(law)) => {
            Origin::Generated(law, Seed::derive(seed, &data.name))
        }
        (Weight::Missing, None) => {
            let message = format!("weight `{}` has no elements in the file, and its value matters", data.name);
            let help = "export the model with this constant, or give it as an initializer";
            return Err(Box::new(Diagnostic::new(&codes::MODEL_INITIALIZER, message).in_file(graph.file.clone()).help(help)));
        }
    };
    Ok(Elements { origin, dtype, shape })
}

/// A weight's elements as the file has them, also where it fills the weight with one number.
///
/// # Errors
/// M005 where the file has none; X001 when the value is not a weight.
pub fn own(graph: &Graph, value: ValueId) -> Result<Arc<Tensor>> {
    let data = graph.value(value);
    match &data.producer {
        Producer::Weight(Weight::Data(tensor)) => Ok(tensor.clone()),
        Producer::Weight(Weight::Filled(value)) => Ok(Arc::new(filled(*value, data.ty.dtype, data.ty.shape.clone()))),
        Producer::Weight(Weight::Missing) => {
            let message = format!("weight `{}` has no elements in the file", data.name);
            Err(Box::new(Diagnostic::new(&codes::MODEL_INITIALIZER, message).in_file(graph.file.clone())))
        }
        Producer::Input(_) | Producer::Node { .. } => {
            let message = format!("value `{}` is not a weight", data.name);
            Err(Box::new(Diagnostic::new(&codes::INTERNAL, message).in_file(graph.file.clone())))
        }
    }
}

/// A model input as generated from a seed, under its name and by its role; zeros where no law serves it.
pub fn input(graph: &Graph, value: ValueId, seed: u64) -> Tensor {
    let data = graph.value(value);
    let (dtype, shape) = (data.ty.dtype, data.ty.shape.clone());
    match law(data.role, dtype) {
        Some(law) => rng::fill(law, Seed::derive(seed, &data.name), dtype, shape),
        None => Tensor::zeros(dtype, shape),
    }
}

/// One number everywhere.
fn filled(value: f64, dtype: DType, shape: Shape) -> Tensor {
    let mut tensor = Tensor::zeros(dtype, shape);
    match tensor.storage_mut() {
        Storage::F64(lanes) => lanes.fill(value),
        Storage::F32(lanes) => lanes.fill(dtype.round(value) as f32),
        Storage::I64(lanes) => lanes.fill(dtype.wrap(value as i64)),
        Storage::Bool(lanes) => lanes.fill((value != 0.0) as u8),
    }
    tensor
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::TensorType;
    use smallvec::smallvec;

    #[test]
    fn scales_are_the_nearest_powers_of_two() {
        assert_eq!([64, 147, 576, 2048, 4608].map(weight_scale), [0.25, 0.25, 0.125, 0.0625, 0.03125]);
    }

    #[test]
    fn files_elements_stay_and_constants_are_replaced() {
        let mut graph = Graph::new("m.onnx");
        let mut add = |name: &str, dtype, role, weight| {
            graph.add_weight(name, TensorType { dtype, shape: smallvec![4] }, role, weight).unwrap()
        };
        let data = Arc::new(Tensor::from_f32(Shape::from_slice(&[4]), vec![1.0, 2.0, 3.0, 4.0]));
        let own = add("own", DType::F32, Role::Bias, Weight::Data(data.clone()));
        let constant = add("constant", DType::F32, Role::Variance, Weight::Filled(1.0));
        let exact = add("exact", DType::F32, Role::Exact, Weight::Filled(0.1));
        let shape = add("shape", DType::I64, Role::Activation, Weight::Filled(7.0));
        let missing = add("missing", DType::F32, Role::Exact, Weight::Missing);
        let get = |value, always| weight(&graph, value, 0, always).unwrap();
        assert_eq!(get(own, false).tensor(), data);
        assert!(matches!(get(own, true).origin, Origin::Generated(..)));
        let variance = get(constant, false);
        assert!(variance.tensor().as_f32().unwrap().iter().all(|v| (0.5..1.5).contains(v)));
        assert!(matches!(variance.origin, Origin::Generated(..)));
        assert_eq!(get(exact, true).tensor().as_f32().unwrap(), [0.1; 4]);
        assert_eq!(get(shape, true).tensor().as_i64().unwrap(), [7; 4]);
        assert_eq!(weight(&graph, missing, 0, false).unwrap_err().code.id, "M005");
    }
}
