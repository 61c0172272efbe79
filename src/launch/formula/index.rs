//! Movement: subscripts, transposition, reshaping, gathering, joining.

use super::array::{Array, Kind, Result, common, count};
use super::{Evaluator, Value};
use crate::diag;
use crate::syntax::ast::{Expr, ExprKind};

/// `x.T`, `x.mT`.
pub fn attribute(a: &Array, name: &str) -> Result<Array> {
    let rank = a.shape.len();
    match name {
        "T" if rank == 2 => Ok(a.permuted(&[1, 0])),
        "T" if rank < 2 => Ok(a.clone()),
        "T" => Err(format!("`.T` of {rank} axes: write permute(x, …)")),
        "mT" if rank >= 2 => {
            let mut order: Vec<usize> = (0..rank).collect();
            order.swap(rank - 2, rank - 1);
            Ok(a.permuted(&order))
        }
        _ => Err(format!("a tensor has no attribute `{name}` here; known: T, mT, shape, ndim")),
    }
}

/// The slices of `indices` along an axis.
pub fn take(a: &Array, indices: &Array, axis: usize) -> Result<Array> {
    let [outer, len, inner] = a.around(axis);
    let mut places = Vec::with_capacity(outer * indices.value.len() * inner);
    let mut rows = Vec::with_capacity(indices.value.len());
    for &index in &indices.value {
        let at = if index < 0.0 { index + len as f64 } else { index };
        if at < 0.0 || at >= len as f64 || at.fract() != 0.0 {
            return Err(format!("index {index} of an axis of {len}"));
        }
        rows.push(at as usize);
    }
    for o in 0..outer {
        for &row in &rows {
            places.extend((0..inner).map(|i| (o * len + row) * inner + i));
        }
    }
    let shape = [&a.shape[..axis], &indices.shape, &a.shape[axis + 1..]].concat();
    count(&shape)?;
    Ok(a.pick(shape, places.iter().copied()))
}

/// Arrays behind each other along an axis.
pub fn concat(arrays: &[Array], axis: i64) -> Result<Array> {
    let first = arrays.first().ok_or("nothing is joined")?;
    let axis = first.axis(axis)?;
    let mut shape = first.shape.clone();
    for other in &arrays[1..] {
        let fits = other.shape.len() == shape.len() && (0..shape.len()).all(|k| k == axis || other.shape[k] == shape[k]);
        if !fits {
            let [a, b] = [&shape, &other.shape].map(|s| crate::shape::display(s));
            return Err(format!("{a} and {b} cannot be joined along axis {axis}"));
        }
        shape[axis] += other.shape[axis];
    }
    let total = count(&shape)?;
    let outer: usize = shape[..axis].iter().product();
    let inner: usize = shape[axis + 1..].iter().product();
    let (mut value, mut error) = (Vec::with_capacity(total), Vec::with_capacity(total));
    for o in 0..outer {
        for array in arrays {
            let run = array.shape[axis] * inner;
            value.extend_from_slice(&array.value[o * run..][..run]);
            error.extend((o * run..(o + 1) * run).map(|at| array.error_at(at)));
        }
    }
    let kind = arrays.iter().map(|a| a.kind).max().unwrap_or(Kind::Float);
    Ok(Array { kind, shape, value, error })
}

/// `tril` and `triu`: zero above or below the diagonal.
pub fn triangle(a: &Array, lower: bool, diagonal: i64) -> Result<Array> {
    let &[.., rows, columns] = a.shape.as_slice() else { return Err("a triangle of less than two axes".to_owned()) };
    let keeps = |flat: usize| {
        let (row, column) = ((flat / columns % rows) as i64, (flat % columns) as i64);
        if lower { column - row <= diagonal } else { column - row >= diagonal }
    };
    let value = a.value.iter().enumerate().map(|(i, &v)| if keeps(i) { v } else { 0.0 }).collect();
    let error = a.error.iter().enumerate().map(|(i, &e)| if keeps(i) { e } else { 0.0 }).collect();
    Ok(Array { kind: a.kind, shape: a.shape.clone(), value, error })
}

impl Evaluator<'_> {
    /// `x[…]`: integers, slices, None, `...`, and one tensor of indices.
    pub(super) fn subscript(&self, a: &Array, index: &Expr) -> diag::Result<Array> {
        let items: Vec<&Expr> = match &index.kind {
            ExprKind::Tuple(items) => items.iter().collect(),
            _ => vec![index],
        };
        let consuming = items.iter().filter(|e| !matches!(e.kind, ExprKind::None | ExprKind::Ellipsis)).count();
        if consuming > a.shape.len() {
            return Err(self.error(index.span, format!("{consuming} indices of {} axes", a.shape.len())));
        }
        let (mut array, mut axis) = (a.clone(), 0);
        for item in items {
            let span = item.span;
            match &item.kind {
                ExprKind::None => {
                    array.shape.insert(axis, 1);
                    axis += 1;
                }
                ExprKind::Ellipsis => axis += a.shape.len() - consuming,
                ExprKind::Slice { lower, upper, step } => {
                    let len = array.shape[axis] as i64;
                    let number = |e: &Option<Box<Expr>>| match e {
                        None => Ok(None),
                        Some(e) => self.int(e).map(Some),
                    };
                    let (lower, upper, step) = (number(lower)?, number(upper)?, number(step)?.unwrap_or(1));
                    let clip = |at: i64, low: i64, high: i64| (if at < 0 { at + len } else { at }).clamp(low, high);
                    let mut rows = Vec::new();
                    match step {
                        0 => return Err(self.error(span, "a slice with a step of zero")),
                        1.. => {
                            let (mut at, end) = (clip(lower.unwrap_or(0), 0, len), clip(upper.unwrap_or(len), 0, len));
                            while at < end {
                                rows.push(at as f64);
                                at += step;
                            }
                        }
                        ..0 => {
                            let mut at = lower.map_or(len - 1, |l| clip(l, -1, len - 1));
                            let end = upper.map_or(-1, |u| clip(u, -1, len - 1));
                            while at > end {
                                rows.push(at as f64);
                                at += step;
                            }
                        }
                    }
                    let rows = Array::exact(Kind::Int, vec![rows.len()], rows);
                    array = self.lift(span, take(&array, &rows, axis))?;
                    axis += 1;
                }
                _ => {
                    let rows = match self.value(item)? {
                        Value::Array(rows) if rows.kind == Kind::Float => {
                            return Err(self.error(span, "an index is an integer, not a float"));
                        }
                        Value::Array(rows) => rows,
                        Value::Constant(constant) => self.array(span, Value::Constant(constant))?,
                    };
                    array = self.lift(span, take(&array, &rows, axis))?;
                    axis += rows.shape.len();
                }
            }
        }
        Ok(array)
    }

    pub(super) fn int(&self, expr: &Expr) -> diag::Result<i64> {
        match self.value(expr)? {
            Value::Constant(constant) => constant.as_int(),
            Value::Array(_) => None,
        }
        .ok_or_else(|| self.error(expr.span, "an integer is expected"))
    }
}

/// `gather(x, index, axis)`: along the axis the index says where, elsewhere the place itself.
pub fn gather(a: &Array, index: &Array, axis: usize) -> Result<Array> {
    if a.shape.len() != index.shape.len() {
        return Err("gather takes an index of as many axes".to_owned());
    }
    let strides = crate::shape::contiguous_strides(&a.shape);
    let mut places = Vec::with_capacity(index.value.len());
    for (flat, &row) in index.value.iter().enumerate() {
        let (mut rest, mut at) = (flat, 0usize);
        for k in (0..a.shape.len()).rev() {
            let own = rest % index.shape[k];
            rest /= index.shape[k];
            let here = if k == axis { row as usize } else { own };
            if here >= a.shape[k] || row < 0.0 {
                return Err(format!("index {row} of an axis of {}", a.shape[axis]));
            }
            at += here * strides[k] as usize;
        }
        places.push(at);
    }
    common(&[index])?;
    Ok(a.pick(index.shape.clone(), places.iter().copied()))
}
