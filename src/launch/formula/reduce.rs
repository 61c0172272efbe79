//! Functions along an axis: sums, extremes, places of extremes, running sums, sorting, products of matrices.
//!
//! A sum of K terms in any order is held to 4·u·√K·√(Σx²) besides what its terms are off by; a product of matrices to the bound of
//! [`crate::tolerance::Contraction`].

use super::array::{Array, Kind, Result, common, count};
use super::pointwise::Rounding;

/// Calls `f` with the values and errors along an axis, and gathers what it gives, which has `size` elements an axis line.
fn along(
    a: &Array,
    axis: usize,
    size: usize,
    kind: Kind,
    mut f: impl FnMut(&[f64], &[f64], &mut [f64], &mut [f64]),
) -> Result<Array> {
    let [outer, len, inner] = a.around(axis);
    let mut shape = a.shape.clone();
    shape[axis] = size;
    let total = count(&shape)?;
    let (mut value, mut error) = (vec![0.0; total], vec![0.0; total]);
    let (mut line, mut line_error) = (vec![0.0; len], vec![0.0; len]);
    let (mut out, mut out_error) = (vec![0.0; size], vec![0.0; size]);
    for o in 0..outer {
        for i in 0..inner {
            for k in 0..len {
                let at = (o * len + k) * inner + i;
                line[k] = a.value[at];
                line_error[k] = a.error_at(at);
            }
            out.fill(0.0);
            out_error.fill(0.0);
            f(&line, &line_error, &mut out, &mut out_error);
            for k in 0..size {
                let at = (o * size + k) * inner + i;
                value[at] = out[k];
                error[at] = if out[k].is_finite() { out_error[k] } else { 0.0 };
            }
        }
    }
    if error.iter().all(|&e| e == 0.0) {
        error = Vec::new();
    }
    Ok(Array { kind, shape, value, error })
}

fn sum_of(line: &[f64], errors: &[f64], exact: bool, unit: f64) -> (f64, f64) {
    let sum: f64 = line.iter().sum();
    let carried: f64 = errors.iter().sum();
    let own = if exact {
        0.0
    } else {
        let weight = line.iter().map(|v| v * v).sum::<f64>().sqrt();
        4.0 * unit * (line.len() as f64).sqrt() * (weight + sum.abs())
    };
    (sum, carried + own)
}

/// A reduction by name along one axis, which stays with size 1; `None` when there is none.
pub fn reduce(name: &str, a: &Array, axis: usize, rounding: Rounding) -> Option<Result<Array>> {
    let unit = rounding.unit;
    let exact = a.kind != Kind::Float;
    let number = a.kind.max(Kind::Int);
    let len = a.shape[axis];
    let extreme = |larger: bool| {
        move |line: &[f64], errors: &[f64], out: &mut [f64], error: &mut [f64]| {
            let mut best = line.first().copied().unwrap_or(f64::NAN);
            for &v in line {
                if v.is_nan() || (larger && v > best) || (!larger && v < best) {
                    best = v;
                }
            }
            out[0] = if line.iter().any(|v| v.is_nan()) { f64::NAN } else { best };
            error[0] = errors.iter().copied().fold(0.0, f64::max);
        }
    };
    let place = |larger: bool| {
        move |line: &[f64], errors: &[f64], out: &mut [f64], error: &mut [f64]| {
            let mut best = 0;
            for (k, &v) in line.iter().enumerate() {
                if (larger && v > line[best]) || (!larger && v < line[best]) {
                    best = k;
                }
            }
            out[0] = best as f64;
            // Any other that may be as good may be named instead.
            let rivals = (0..line.len()).filter(|&k| (line[k] - line[best]).abs() <= errors[k] + errors[best]);
            error[0] = rivals.map(|k| k.abs_diff(best) as f64).fold(0.0, f64::max);
        }
    };
    Some(match name {
        "sum" => along(a, axis, 1, number, |line, errors, out, error| {
            (out[0], error[0]) = sum_of(line, errors, exact, unit);
        }),
        "mean" => along(a, axis, 1, Kind::Float, |line, errors, out, error| {
            let (sum, e) = sum_of(line, errors, false, unit);
            let n = line.len() as f64;
            (out[0], error[0]) = (sum / n, e / n + 4.0 * unit * (sum / n).abs());
        }),
        "var" | "std" => along(a, axis, 1, Kind::Float, |line, errors, out, error| {
            let n = line.len() as f64;
            let (sum, e) = sum_of(line, errors, false, unit);
            let mean = sum / n;
            let apart: Vec<f64> = line.iter().map(|v| (v - mean) * (v - mean)).collect();
            let off = e / n;
            let moved: Vec<f64> = (0..line.len()).map(|k| 2.0 * (line[k] - mean).abs() * (errors[k] + off) + off * off).collect();
            let (squares, squares_error) = sum_of(&apart, &moved, false, unit);
            let (variance, variance_error) = (squares / n, squares_error / n + 4.0 * unit * squares / n);
            (out[0], error[0]) = if name == "var" {
                (variance, variance_error)
            } else {
                let root = variance.sqrt();
                (root, if root > 0.0 { variance_error / root } else { variance_error.sqrt() })
            };
        }),
        "prod" => along(a, axis, 1, number, |line, errors, out, error| {
            let product: f64 = line.iter().product();
            out[0] = product;
            let relative: f64 = line.iter().zip(errors).map(|(v, e)| if *e == 0.0 { 0.0 } else { e / v.abs() }).sum();
            error[0] = product.abs() * (relative + if exact { 0.0 } else { line.len() as f64 * unit });
        }),
        "max" | "amax" => along(a, axis, 1, a.kind, extreme(true)),
        "min" | "amin" => along(a, axis, 1, a.kind, extreme(false)),
        "argmax" => along(a, axis, 1, Kind::Int, place(true)),
        "argmin" => along(a, axis, 1, Kind::Int, place(false)),
        "any" => along(a, axis, 1, Kind::Bool, |line, errors, out, error| {
            out[0] = f64::from(u8::from(line.iter().any(|v| *v != 0.0)));
            error[0] = errors.iter().copied().fold(0.0, f64::max);
        }),
        "all" => along(a, axis, 1, Kind::Bool, |line, errors, out, error| {
            out[0] = f64::from(u8::from(line.iter().all(|v| *v != 0.0)));
            error[0] = errors.iter().copied().fold(0.0, f64::max);
        }),
        "cumsum" => along(a, axis, len, number, |line, errors, out, error| {
            let (mut sum, mut squares, mut carried) = (0.0, 0.0, 0.0);
            for k in 0..line.len() {
                sum += line[k];
                squares += line[k] * line[k];
                carried += errors[k];
                out[k] = sum;
                let own = 4.0 * unit * ((k + 1) as f64).sqrt() * (f64::sqrt(squares) + f64::abs(sum));
                error[k] = carried + if exact { 0.0 } else { own };
            }
        }),
        "cumprod" => along(a, axis, len, number, |line, errors, out, error| {
            let (mut product, mut relative) = (1.0, 0.0);
            for k in 0..line.len() {
                product *= line[k];
                relative += if errors[k] == 0.0 { 0.0 } else { errors[k] / line[k].abs() };
                relative += if exact { 0.0 } else { unit };
                out[k] = product;
                error[k] = f64::abs(product) * relative;
            }
        }),
        "sort" | "sort_descending" => along(a, axis, len, a.kind, |line, errors, out, error| {
            out.copy_from_slice(line);
            out.sort_by(f64::total_cmp);
            if name == "sort_descending" {
                out.reverse();
            }
            error.fill(errors.iter().copied().fold(0.0, f64::max));
        }),
        "flip" => along(a, axis, len, a.kind, |line, errors, out, error| {
            for k in 0..line.len() {
                (out[k], error[k]) = (line[line.len() - 1 - k], errors[line.len() - 1 - k]);
            }
        }),
        _ => return None,
    })
}

/// `a @ b` over the last two axes; the others broadcast. A vector counts as a matrix of one row or column.
pub fn matmul(a: &Array, b: &Array, rounding: Rounding) -> Result<Array> {
    let [left, right] = match (a.shape.len(), b.shape.len()) {
        (0, _) | (_, 0) => return Err("matmul of a scalar".to_owned()),
        (1, _) | (_, 1) => {
            let row = if a.shape.len() == 1 { a.clone().reshaped(vec![1, a.shape[0]])? } else { a.clone() };
            let column = if b.shape.len() == 1 { b.clone().reshaped(vec![b.shape[0], 1])? } else { b.clone() };
            let mut product = matmul(&row, &column, rounding)?;
            if b.shape.len() == 1 {
                product.shape.pop();
            }
            if a.shape.len() == 1 {
                let at = product.shape.len() - if b.shape.len() == 1 { 1 } else { 2 };
                product.shape.remove(at);
            }
            return Ok(product);
        }
        _ => [a, b],
    };
    let (rank_a, rank_b) = (left.shape.len(), right.shape.len());
    let [m, k] = [left.shape[rank_a - 2], left.shape[rank_a - 1]];
    let [k_b, n] = [right.shape[rank_b - 2], right.shape[rank_b - 1]];
    if k != k_b {
        return Err(format!("matmul of {} and {}", crate::shape::display(&a.shape), crate::shape::display(&b.shape)));
    }
    let batch = |array: &Array| Array::exact(Kind::Int, array.shape[..array.shape.len() - 2].to_vec(), Vec::new());
    let batches = common(&[&batch(left), &batch(right)])?;
    let whole = |array: &Array, sizes: [usize; 2]| array.broadcast(&[batches.as_slice(), &sizes].concat());
    let (left, right) = (whole(left, [m, k]), whole(right, [k, n]));
    let mut shape = batches.clone();
    shape.extend([m, n]);
    let total = count(&shape)?;
    let exact = left.kind != Kind::Float && right.kind != Kind::Float;
    let carries = !left.error.is_empty() || !right.error.is_empty();
    let (mut value, mut error) = (vec![0.0; total], vec![0.0; if exact { 0 } else { total }]);
    let mut squares = vec![0.0; n];
    for z in 0..batches.iter().product() {
        for i in 0..m {
            let row = &mut value[(z * m + i) * n..][..n];
            squares.fill(0.0);
            for p in 0..k {
                let x = left.value[(z * m + i) * k + p];
                let others = &right.value[(z * k + p) * n..][..n];
                for j in 0..n {
                    let product = x * others[j];
                    row[j] += product;
                    squares[j] += product * product;
                }
            }
            if exact {
                continue;
            }
            let errors = &mut error[(z * m + i) * n..][..n];
            for ((error, square), r) in errors.iter_mut().zip(&squares).zip(row.iter()) {
                let (q, r) = (square.sqrt(), r.abs());
                *error = 4.0 * rounding.unit * (k as f64).sqrt() * (q + r) + rounding.operand * (6.0 * q + 2.0 * r);
            }
            for p in 0..if carries { k } else { 0 } {
                let at = (z * m + i) * k + p;
                let (x, e) = (left.value[at].abs(), left.error_at(at));
                for (j, error) in errors.iter_mut().enumerate() {
                    let other = (z * k + p) * n + j;
                    *error += x * right.error_at(other) + e * (right.value[other].abs() + right.error_at(other));
                }
            }
        }
    }
    for (e, v) in error.iter_mut().zip(&value) {
        if !v.is_finite() {
            *e = 0.0;
        }
    }
    Ok(Array { kind: left.kind.max(right.kind).max(Kind::Int), shape, value, error })
}
