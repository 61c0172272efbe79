//! The coordinates of an anchor, as text, by the logical dimensions of its operand.

use super::anchors::{Anchor, split};
use super::problem::{Operand, Problem};
use super::triton_expr::{Strength, Text};

/// One entry of an operand at an anchor.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The axis's or dimension's name: the suffix of its stride's parameter.
    pub name: String,
    pub coord: Text,
    pub mask: Option<String>,
    /// `None` for a dimension that an index expression finds.
    pub axis: Option<usize>,
}

/// The coordinates of an anchor, by logical dimension of its operand.
#[derive(Clone, Debug)]
pub struct Space {
    pub entries: Vec<Entry>,
    /// For each logical dimension its entry and the member of the entry's axis; `None` where the
    /// operand has one element that stands for all.
    pub(super) place: Vec<Option<(usize, usize)>>,
    /// Sizes of the logical dimensions.
    pub(super) dims: Vec<usize>,
}

impl Space {
    pub fn new(problem: &Problem, operand: &Operand, anchor: &Anchor) -> Space {
        let entries: Vec<Entry> = anchor
            .coords
            .iter()
            .zip(&operand.dims)
            .map(|(coord, dim)| Entry {
                name: dim.name.clone(),
                coord: strength(&coord.text),
                mask: coord.mask.clone(),
                axis: if dim.index.is_none() { problem.axis(&dim.name) } else { None },
            })
            .collect();
        let mut place = vec![None; operand.shape.len()];
        for (entry, range) in operand.ranges.iter().enumerate() {
            for dim in range.clone() {
                place[dim] = match entries[entry].axis {
                    Some(axis) => problem.member(operand, axis, dim).map(|member| (entry, member)),
                    None => Some((entry, 0)),
                };
            }
        }
        Space { entries, place, dims: operand.shape.to_vec() }
    }
}

/// How strongly a coordinate's text of a template binds.
fn strength(text: &str) -> Text {
    let outside = |c: char| split(text, c).len() > 1;
    let strength = if outside('<') || outside('>') || outside('=') || outside('&') || outside('|') {
        Strength::Compare
    } else if outside('+') || outside('-') {
        Strength::Sum
    } else if outside('*') || outside('/') || outside('%') {
        Strength::Product
    } else {
        Strength::Atom
    };
    Text::new(text.to_owned(), strength)
}
