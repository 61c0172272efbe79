//! Matrix product A [b…, m, k] · B [b…, k, n] with numpy's broadcast of the batch axes.
//!
//! Floats through candle; integers by an exact loop that wraps in 64 bits.

use super::bridge::{Real, from_candle, refused, to_candle, truncated};
use super::{Math, thin};
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::{Carrier, DType};
use crate::shape;
use crate::tensor::{Storage, Tensor};

pub(super) fn evaluate(a: &Tensor, b: &Tensor, dtype: DType, math: Math) -> Result<Tensor> {
    match (dtype.carrier(), math) {
        (Carrier::F64 | Carrier::F32, Math::F64) if thin::fits(a, b) => {
            let out = product_shape(a.shape(), b.shape())?;
            Ok(Tensor::new(DType::F64, out, Storage::F64(thin::product(a, b, |v| v))))
        }
        (Carrier::F64 | Carrier::F32, Math::F64) => typed::<f64>(a, b, dtype),
        (Carrier::F64 | Carrier::F32, Math::Tf32) => typed::<f32>(&truncated(a), &truncated(b), dtype),
        (Carrier::F64 | Carrier::F32, Math::F32 | Math::Unrounded) => typed::<f32>(a, b, math.holds(dtype)),
        (Carrier::I64, _) => integers(a, b, dtype),
        (Carrier::Bool, _) => {
            Err(Box::new(Diagnostic::new(&codes::DTYPE_UNSUPPORTED, "a matrix product is not defined on bool")))
        }
    }
}

/// The shape of the product; `import` has checked that the operands agree.
fn product_shape(a: &[usize], b: &[usize]) -> Result<shape::Shape> {
    let (batch_a, batch_b) = (&a[..a.len() - 2], &b[..b.len() - 2]);
    let (m, k, n) = (a[a.len() - 2], a[a.len() - 1], b[b.len() - 1]);
    match shape::broadcast(batch_a, batch_b) {
        Some(mut out) if k == b[b.len() - 2] => {
            out.extend([m, n]);
            Ok(out)
        }
        Some(_) | None => {
            let message = format!("{} and {} cannot be multiplied", shape::display(a), shape::display(b));
            Err(Box::new(Diagnostic::new(&codes::MODEL_SHAPES, message)))
        }
    }
}

/// Lanes of a matrix that are converted at once: a fully connected layer's weights may be a third of a
/// machine's memory, and in f64 twice that.
const BLOCK: usize = 1 << 24;

fn typed<T: Real>(a: &Tensor, b: &Tensor, dtype: DType) -> Result<Tensor> {
    let out = product_shape(a.shape(), b.shape())?;
    if let &[k, n] = b.shape() {
        let m = a.len() / k.max(1);
        if let Some(product) = T::PRODUCT.filter(|_| m == 1 || n == 1) {
            return Ok(T::tensor(product(&T::lanes(a), &T::lanes(b), [m, k, n]), dtype, &out));
        }
        if b.len() > BLOCK {
            return Ok(T::tensor(blocks::<T>(a, b, (BLOCK / n).max(1))?, dtype, &out));
        }
    }
    let left = to_candle(T::lanes(a).into_owned(), a.shape())?;
    let right = to_candle(T::lanes(b).into_owned(), b.shape())?;
    let product = left.broadcast_matmul(&right).map_err(refused)?;
    Ok(T::tensor(from_candle(product)?, dtype, &out))
}

/// A [m…, k] · B [k, n], so many rows of B after the other.
fn blocks<T: Real>(a: &Tensor, b: &Tensor, rows: usize) -> Result<Vec<T>> {
    let (k, n) = (b.shape()[0], b.shape()[1]);
    let (left, m) = (T::lanes(a), a.len() / k.max(1));
    let mut sums = vec![T::default(); m * n];
    for start in (0..k).step_by(rows) {
        let end = (start + rows).min(k);
        let columns: Vec<T> = (0..m).flat_map(|i| left[i * k + start..i * k + end].iter().copied()).collect();
        let part = to_candle(columns, &[m, end - start])?;
        let product = part.matmul(&to_candle(T::range(b, start * n..end * n), &[end - start, n])?).map_err(refused)?;
        sums.iter_mut().zip(from_candle::<T>(product)?).for_each(|(sum, v)| *sum = sum.plus(v));
    }
    Ok(sums)
}

fn integers(a: &Tensor, b: &Tensor, dtype: DType) -> Result<Tensor> {
    let out = product_shape(a.shape(), b.shape())?;
    let (Some(left), Some(right)) = (a.as_i64(), b.as_i64()) else {
        return Err(Box::new(Diagnostic::new(
            &codes::GRAPH_INVALID,
            format!("a product in {dtype} of operands that are not integers"),
        )));
    };
    let rank = out.len();
    let (m, n, k) = (out[rank - 2], out[rank - 1], a.shape()[a.shape().len() - 1]);
    let batches: usize = out[..rank - 2].iter().product();
    // The matrix of an operand that stands at a batch of the result: axes of size 1 do not move.
    let matrix = |operand: &[usize], batch: usize| {
        let axes = &operand[..operand.len() - 2];
        let (mut rest, mut at, mut step) = (batch, 0, 1);
        for i in (0..axes.len()).rev() {
            let size = out[rank - 2 - axes.len() + i];
            at += if axes[i] == 1 { 0 } else { rest % size * step };
            step *= axes[i];
            rest /= size;
        }
        at
    };
    let mut lanes = Vec::with_capacity(batches * m * n);
    for batch in 0..batches {
        let left = &left[matrix(a.shape(), batch) * m * k..][..m * k];
        let right = &right[matrix(b.shape(), batch) * k * n..][..k * n];
        for i in 0..m {
            for j in 0..n {
                let sum = (0..k).fold(0i64, |sum, l| sum.wrapping_add(left[i * k + l].wrapping_mul(right[l * n + j])));
                lanes.push(dtype.wrap(sum));
            }
        }
    }
    Ok(Tensor::new(dtype, out, Storage::I64(lanes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_rows_add_up() {
        let lanes = |len: usize| (0..len).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
        let (a, b) = (Tensor::from_f32([2, 3, 7].as_slice(), lanes(42)), Tensor::from_f32([7, 5].as_slice(), lanes(35)));
        let whole = evaluate(&a, &b, DType::F32, Math::F64).unwrap();
        for rows in [1, 3, 7, 9] {
            assert_eq!(Storage::F64(blocks(&a, &b, rows).unwrap()), *whole.storage(), "{rows} rows");
        }
    }

    /// [1, 2] · [2, 1] in a type and an arithmetic.
    fn product(dtype: DType, a: [f32; 2], b: [f32; 2], math: Math) -> (DType, f64) {
        let tensor = |lanes: [f32; 2], shape: [usize; 2]| {
            Tensor::new(dtype, shape::Shape::from_slice(&shape), Storage::F32(lanes.to_vec()))
        };
        let y = evaluate(&tensor(a, [1, 2]), &tensor(b, [2, 1]), dtype, math).unwrap();
        (y.dtype(), y.storage().get_f64(0))
    }

    #[test]
    fn tf32_drops_what_its_operands_lack() {
        let fine = 1.0 + 1.0 / 2048.0 + 1.0 / 1024.0;
        let exact = f64::from(fine) * 3.0 + 1.0;
        assert_eq!(product(DType::F32, [fine, 1.0], [3.0, 1.0], Math::F32), (DType::F32, exact));
        assert_eq!(product(DType::F32, [fine, 1.0], [3.0, 1.0], Math::Tf32), (DType::F32, (1.0 + 1.0 / 1024.0) * 3.0 + 1.0));
        // f16 operands have no class: 11 digits are all of theirs.
        assert_eq!(product(DType::F16, [1.5, 1.0], [3.0, 1.0], Math::Tf32), (DType::F16, 5.5));
    }

    #[test]
    fn narrow_results_are_rounded_or_kept() {
        let sum = |math| product(DType::BF16, [255.0, 2.0], [1.0, 1.0], math);
        assert_eq!(sum(Math::F32), (DType::BF16, 256.0));
        assert_eq!(sum(Math::Unrounded), (DType::F32, 257.0));
        assert_eq!(sum(Math::F64), (DType::F64, 257.0));
    }
}
