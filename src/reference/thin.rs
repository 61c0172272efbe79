//! Matrix products with few rows on the left, in f64, straight from the lanes of the right operand.
//!
//! A fully connected layer at batch 1 multiplies one row with a matrix that may be a third of a machine's
//! memory. A library's product wants it in f64, and in an order of its own: three copies of it. Here every lane
//! is read once, widened in a register, and added up in f64, column block by column block:
//! y\[i, j\] = Σₖ f(a\[i, k\]) · f(b\[k, j\]), in the order of k.
//!
//! Not caught: its last bits are not those of a library's product, which adds up in another order.

use rayon::prelude::*;

use crate::tensor::{Storage, Tensor};

/// Rows on the left up to which this is quicker than a library's product.
pub(super) const ROWS: usize = 4;

/// Columns that are summed together: their sums stay in the nearest cache.
const COLUMNS: usize = 256;

/// Whether a product [m, k] · [k, n] is thin.
pub(super) fn fits(a: &Tensor, b: &Tensor) -> bool {
    let floats = |t: &Tensor| matches!(t.storage(), Storage::F32(_) | Storage::F64(_));
    let &[k, n] = b.shape() else { return false };
    k * n > 0 && floats(a) && floats(b) && a.len() <= ROWS * k
}

/// The sums of a thin product, with `f` applied to every lane of both operands.
pub(super) fn product(a: &Tensor, b: &Tensor, f: impl Fn(f64) -> f64 + Sync) -> Vec<f64> {
    let left: Vec<f64> = (0..a.len()).map(|i| f(a.storage().get_f64(i))).collect();
    let [k, n] = [b.shape()[0], b.shape()[1]];
    match b.storage() {
        Storage::F32(lanes) => sums(&left, lanes, [k, n], f),
        Storage::F64(lanes) => sums(&left, lanes, [k, n], f),
        Storage::I64(_) | Storage::Bool(_) => unreachable!("invariant: a thin product is one of floats"),
    }
}

fn sums<T: Copy + Into<f64> + Sync>(left: &[f64], right: &[T], [k, n]: [usize; 2], f: impl Fn(f64) -> f64 + Sync) -> Vec<f64> {
    let rows = left.len() / k.max(1);
    // Column block by column block, then row by row, so that threads write apart.
    let blocks: Vec<Vec<f64>> = (0..n.div_ceil(COLUMNS))
        .into_par_iter()
        .map(|block| {
            let (start, end) = (block * COLUMNS, ((block + 1) * COLUMNS).min(n));
            let mut sums = vec![0.0; rows * (end - start)];
            for (at, line) in right.chunks_exact(n).enumerate() {
                for (i, sums) in sums.chunks_exact_mut(end - start).enumerate() {
                    let factor = left[i * k + at];
                    for (sum, &lane) in sums.iter_mut().zip(&line[start..end]) {
                        *sum += factor * f(lane.into());
                    }
                }
            }
            sums
        })
        .collect();
    (0..rows)
        .flat_map(|i| {
            blocks.iter().flat_map(move |block| {
                let width = block.len() / rows;
                block[i * width..(i + 1) * width].iter().copied()
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::shape::Shape;

    #[test]
    fn sums_are_those_of_a_plain_loop() {
        let lanes = |len: usize| -> Vec<f32> { (0..len).map(|i| (i * 7 % 23) as f32 / 8.0 - 1.25).collect() };
        for [m, k, n] in [[1, 5, 1], [2, 3, COLUMNS + 3], [ROWS, 1, 7]] {
            let (a, b) = (lanes(m * k), lanes(k * n));
            let plain = |f: fn(f64) -> f64| -> Vec<f64> {
                let of = |i: usize, j: usize| (0..k).map(|l| f(a[i * k + l].into()) * f(b[l * n + j].into())).sum();
                (0..m * n).map(|at| of(at / n, at % n)).collect()
            };
            let tensor = |shape: [usize; 2], lanes: &[f32]| Tensor::from_f32(Shape::from_slice(&shape), lanes.to_vec());
            let (left, right) = (tensor([m, k], &a), tensor([k, n], &b));
            assert!(fits(&left, &right));
            assert_eq!(product(&left, &right, |v| v), plain(|v| v), "{m} {k} {n}");
            assert_eq!(product(&left, &right, |v| v * v), plain(|v| v * v), "{m} {k} {n}");
        }
    }

    #[test]
    fn many_rows_nothing_and_integers_are_left_to_others() {
        let zeros = |dtype: DType, shape: [usize; 2]| Tensor::zeros(dtype, Shape::from_slice(&shape));
        let b = zeros(DType::F32, [3, 9]);
        assert!(!fits(&zeros(DType::F32, [ROWS + 1, 3]), &b));
        assert!(!fits(&zeros(DType::F32, [1, 0]), &zeros(DType::F32, [0, 9])));
        assert!(!fits(&zeros(DType::I64, [1, 3]), &zeros(DType::I64, [3, 9])));
    }
}
