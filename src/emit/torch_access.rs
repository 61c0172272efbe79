//! How a Map reads an operand, as torch.
//!
//! Broadcasts and orders of axes become `permute` and `view`; everything else (slices, padding,
//! concatenation, …) becomes indexing by coordinate tensors, which is slow, plain and right.

use super::python::{self, list, tuple};
use crate::expr::index::Index;
use crate::graph::op::{Access, OutOfBounds};

/// An operand as a tensor that broadcasts to the output, when that needs no indexing: axes in order,
/// `None` for an access that is not a broadcast.
pub fn broadcast(operand: &str, shape: &[usize], access: &Access, dims: &[usize]) -> Option<String> {
    if access.oob != OutOfBounds::InBounds {
        return None;
    }
    // For each output axis, the operand axis that it walks.
    let mut walked = vec![None; dims.len()];
    for (axis, index) in access.index.iter().enumerate() {
        match index {
            Index::Dim(d) if shape[axis] == dims[*d] && walked[*d].is_none() => walked[*d] = Some(axis),
            Index::Constant(0) if shape[axis] == 1 => {}
            _ => return None,
        }
    }
    let skip = dims.len().checked_sub(shape.len());
    let aligned = skip.is_some_and(|skip| walked.iter().enumerate().all(|(d, axis)| axis.is_none_or(|axis| axis + skip == d)));
    if aligned {
        return Some(operand.to_owned());
    }
    let order: Vec<usize> = walked.iter().flatten().copied().collect();
    let rest = (0..shape.len()).filter(|axis| !order.contains(axis));
    let sizes: Vec<usize> = walked.iter().map(|axis| axis.map_or(1, |a| shape[a])).collect();
    let all: Vec<usize> = order.iter().copied().chain(rest).collect();
    let moved = if order.is_sorted() { operand.to_owned() } else { format!("{operand}.permute({})", list(&all)) };
    if order.len() == dims.len() && all.len() == dims.len() {
        return Some(moved);
    }
    Some(format!("{moved}.reshape({})", list(&sizes)))
}

/// Any access, by indexing. `coordinate(d)` names a tensor of the d-th output coordinate and
/// `read(k)` the value of the k-th access.
pub fn indexed(
    operand: &str,
    shape: &[usize],
    access: &Access,
    coordinate: &mut dyn FnMut(usize) -> String,
    read: &mut dyn FnMut(usize) -> String,
) -> String {
    let mut inside = Vec::new();
    let mut at = Vec::new();
    for (index, &size) in access.index.iter().zip(shape) {
        let (text, atom) = print(index, coordinate, read);
        match access.oob {
            OutOfBounds::InBounds => at.push(text),
            // A plain coordinate may lie outside too: the output can be larger than the operand.
            OutOfBounds::Fill(_) => {
                let operand = if atom { text.clone() } else { format!("({text})") };
                match constant(index) {
                    Some(c) if (0..size as i64).contains(&c) => at.push(text),
                    Some(_) => {
                        inside.push("torch.tensor(False)".to_owned());
                        at.push("0".to_owned());
                    }
                    None => {
                        inside.push(format!("({text} >= 0) & ({text} < {size})"));
                        at.push(format!("{operand}.clamp(0, {})", size.max(1) - 1));
                    }
                }
            }
        }
    }
    let value = if at.is_empty() { operand.to_owned() } else { format!("{operand}[{}]", at.join(", ")) };
    match access.oob {
        OutOfBounds::Fill(fill) if !inside.is_empty() => {
            format!("torch.where({}, {value}, {})", inside.join(" & "), python::float(fill))
        }
        OutOfBounds::Fill(_) | OutOfBounds::InBounds => value,
    }
}

fn constant(index: &Index) -> Option<i64> {
    match index {
        Index::Constant(c) => Some(*c),
        _ => None,
    }
}

/// An index expression, and whether it binds tighter than any operator.
fn print(index: &Index, coordinate: &mut dyn FnMut(usize) -> String, read: &mut dyn FnMut(usize) -> String) -> (String, bool) {
    let operand = |(text, atom): (String, bool)| if atom { text } else { format!("({text})") };
    match index {
        Index::Dim(d) => (coordinate(*d), true),
        Index::Constant(c) => (c.to_string(), *c >= 0),
        Index::Add(a, b) => {
            let left = print(a, coordinate, read).0;
            match constant(b) {
                Some(c) if c < 0 => (format!("{left} - {}", c.unsigned_abs()), false),
                _ => (format!("{left} + {}", print(b, coordinate, read).0), false),
            }
        }
        Index::Mul(a, c) => (format!("{} * {}", operand(print(a, coordinate, read)), c), false),
        Index::FloorDiv(a, c) => (format!("{} // {c}", operand(print(a, coordinate, read))), false),
        Index::Mod(a, c) => (format!("{} % {c}", operand(print(a, coordinate, read))), false),
        Index::Read(k) => (format!("{}.to(torch.int64)", read(*k)), true),
    }
}

/// A tensor of the d-th coordinate of an output, shaped to broadcast.
pub fn coordinate(d: usize, dims: &[usize], device: &str) -> String {
    let mut sizes = vec![1i64; dims.len()];
    sizes[d] = -1;
    format!("torch.arange({}, device={device}).view{}", dims[d], tuple(&sizes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(index: Vec<Index>, oob: OutOfBounds) -> Access {
        Access { input: 0, index, oob }
    }

    #[test]
    fn broadcasts_are_views() {
        let at = |index: &[Index], shape: &[usize], dims: &[usize]| {
            broadcast("x", shape, &access(index.to_vec(), OutOfBounds::InBounds), dims)
        };
        use Index::{Constant, Dim};
        assert_eq!(at(&[Dim(0), Dim(1)], &[2, 3], &[2, 3]).as_deref(), Some("x"));
        assert_eq!(at(&[Dim(1)], &[3], &[2, 3]).as_deref(), Some("x"));
        assert_eq!(at(&[Constant(0), Dim(1)], &[1, 3], &[2, 3]).as_deref(), Some("x"));
        assert_eq!(at(&[Dim(0)], &[2], &[2, 3]).as_deref(), Some("x.reshape(2, 1)"));
        assert_eq!(at(&[Dim(1), Dim(0)], &[3, 2], &[2, 3]).as_deref(), Some("x.permute(1, 0)"));
        assert_eq!(at(&[Dim(0), Constant(0)], &[2, 1], &[2, 5]).as_deref(), Some("x"));
        assert_eq!(at(&[], &[], &[2]).as_deref(), Some("x"));
        assert_eq!(at(&[Dim(0)], &[4], &[2]), None, "a slice");
    }

    #[test]
    fn other_accesses_index() {
        let shifted = Index::Add(Box::new(Index::Dim(1)), Box::new(Index::Constant(-1)));
        let text = indexed(
            "x",
            &[2, 3],
            &access(vec![Index::Dim(0), shifted], OutOfBounds::Fill(0.5)),
            &mut |d| format!("i{d}"),
            &mut |k| format!("r{k}"),
        );
        assert_eq!(
            text,
            "torch.where((i0 >= 0) & (i0 < 2) & (i1 - 1 >= 0) & (i1 - 1 < 3), \
             x[i0.clamp(0, 1), (i1 - 1).clamp(0, 2)], 0.5)"
        );
    }
}
