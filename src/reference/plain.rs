//! Products of a matrix and a vector in fp32, each sum term after term.
//!
//! A library splits such a sum into one a vector lane, which rounds several times less than anything that
//! walks along k with one accumulator, as kernels do. The fp32 chain is the measure of a suite's whole
//! error, so it sums as a plain program would. Products of matrices are summed so by the library
//! itself.

use rayon::prelude::*;

/// Columns that one task walks down together.
const COLUMNS: usize = 512;

/// A [m, k] · B [k, n]; m or n is 1.
pub(super) fn product(a: &[f32], b: &[f32], [m, k, n]: [usize; 3]) -> Vec<f32> {
    if n == 1 {
        let row = |i: usize| a[i * k..][..k].iter().zip(b).fold(0.0, |sum, (x, y)| sum + x * y);
        return (0..m).into_par_iter().map(row).collect();
    }
    debug_assert_eq!(m, 1, "one of the operands is a vector");
    let mut sums = vec![0.0; n];
    sums.par_chunks_mut(COLUMNS).enumerate().for_each(|(chunk, sums)| {
        for (x, row) in a.iter().zip(b.chunks_exact(n)) {
            sums.iter_mut().zip(&row[chunk * COLUMNS..]).for_each(|(sum, y)| *sum += x * y);
        }
    });
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_on_either_side_are_summed_in_order() {
        let (k, n) = (37, 1100);
        let lanes = |len: usize| (0..len).map(|i| (i * 29 % 101) as f32 * 0.37 - 18.0).collect::<Vec<f32>>();
        let (vector, matrix) = (lanes(k), lanes(k * n));
        let column = |j: usize| (0..k).fold(0.0, |sum, l| sum + vector[l] * matrix[l * n + j]);
        let expected: Vec<f32> = (0..n).map(column).collect();
        assert_eq!(product(&vector, &matrix, [1, k, n]), expected);
        let turned: Vec<f32> = (0..n).flat_map(|j| (0..k).map(move |l| l * n + j)).map(|at| matrix[at]).collect();
        assert_eq!(product(&turned, &vector, [n, k, 1]), expected);
    }
}
