//! What is made of generated elements for a task as a whole.
//!
//! *Lines of one sign*: a maximum that starts at 0 is right on every line that holds a positive number, and drawn lines do. In
//! the structure pass the first slice along the first long axis is negative and the last one positive, in the numerics pass
//! along the last long axis, so that a reduction along any axis meets both.
//!
//! *Faint elements*, where a task's last operator has saturated on others.

use crate::conform::inputs::Kind;
use crate::tensor::{Storage, Tensor};

/// What faint elements are multiplied by: small enough for sums of some thousands to be below 1.
const FAINT: f64 = 1.0 / 256.0;

/// Sizes below this have no slice to spare.
const LONG: usize = 3;

/// The same magnitudes with these signs; zeros there become the least magnitude that the tensor has.
pub fn sign(tensor: &mut Tensor, kind: Kind) {
    let shape = tensor.shape();
    let is_long = |&axis: &usize| shape[axis] >= LONG;
    let axis = match kind {
        Kind::Structure => (0..shape.len()).find(is_long),
        Kind::Numerics | Kind::Given => (0..shape.len()).rfind(is_long),
    };
    let Some(axis) = axis else { return };
    let inner: usize = shape[axis + 1..].iter().product();
    let size = shape[axis];
    let sign = |at: usize| match at / inner % size {
        0 => Some(-1.0),
        i if i + 1 == size => Some(1.0),
        _ => None,
    };
    match tensor.storage_mut() {
        Storage::F32(lanes) => signed(lanes, sign, |v, s| v.abs() * s as f32, |v| v.abs()),
        Storage::F64(lanes) => signed(lanes, sign, |v, s| v.abs() * s, |v| v.abs()),
        Storage::I64(_) | Storage::Bool(_) => {}
    }
}

/// Every element times [`FAINT`], rounded to the tensor's type.
pub fn weaken(tensor: &mut Tensor) {
    let dtype = tensor.dtype();
    match tensor.storage_mut() {
        Storage::F32(lanes) => lanes.iter_mut().for_each(|v| *v = dtype.round(f64::from(*v) * FAINT) as f32),
        Storage::F64(lanes) => lanes.iter_mut().for_each(|v| *v *= FAINT),
        Storage::I64(_) | Storage::Bool(_) => {}
    }
}

fn signed<T: Copy + PartialOrd + Default>(
    lanes: &mut [T],
    sign: impl Fn(usize) -> Option<f64>,
    with: impl Fn(T, f64) -> T,
    magnitude: impl Fn(T) -> T,
) {
    let zero = T::default();
    let positive = lanes.iter().map(|&v| magnitude(v)).filter(|&v| v > zero);
    let Some(least) = positive.reduce(|a, b| if b < a { b } else { a }) else { return };
    for (at, lane) in lanes.iter_mut().enumerate() {
        if let Some(sign) = sign(at) {
            *lane = with(if *lane == zero { least } else { *lane }, sign);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    #[test]
    fn the_first_slice_is_negative_and_the_last_positive() {
        let lanes = vec![1.0, 0.0, 2.0, -3.0, -4.0, 0.0, 0.0, -1.0, 5.0, 2.0, -2.0, 1.0];
        let tensor = Tensor::from_f32(Shape::from_slice(&[1, 3, 4]), lanes);
        let set = |kind| {
            let mut tensor = tensor.clone();
            sign(&mut tensor, kind);
            tensor.as_f32().unwrap().to_vec()
        };
        assert_eq!(set(Kind::Structure), [-1.0, -1.0, -2.0, -3.0, -4.0, 0.0, 0.0, -1.0, 5.0, 2.0, 2.0, 1.0]);
        assert_eq!(set(Kind::Numerics), [-1.0, 0.0, 2.0, 3.0, -4.0, 0.0, 0.0, 1.0, -5.0, 2.0, -2.0, 1.0]);
        let short = Tensor::from_f32(Shape::from_slice(&[2]), vec![1.0, -1.0]);
        let mut same = short.clone();
        sign(&mut same, Kind::Structure);
        assert!(same.is_same(&short));
        weaken(&mut same);
        assert_eq!(same.as_f32().unwrap(), [1.0 / 256.0, -1.0 / 256.0]);
    }
}
