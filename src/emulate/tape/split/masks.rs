//! Masks as conjunctions: comparisons of sums, and what `and` and other operations make of them.

use smallvec::SmallVec;

use super::Form;
use crate::emulate::tape::compile::Builder;
use crate::emulate::tape::{Code, Conjunct, Slot, Sum};
use crate::emulate::value::layout::MAX_RANK;
use crate::kernel::ir::{Elem, IntBinary, IntPredicate, Value};
use crate::source::Span;

impl Builder<'_> {
    pub fn split_compare(&mut self, predicate: IntPredicate, elem: Elem, a: Value, b: Value, span: Span) -> Option<Form> {
        let (x, y) = (self.as_sum(a)?, self.as_sum(b)?);
        if let Some(axis) = self.common_axis(&[&x, &y]) {
            let at = axis.unwrap_or(0);
            let (left, right) = (self.line(&x, at, elem, span), self.line(&y, at, elem, span));
            let scalar = self.place.is_scalar(left) && self.place.is_scalar(right);
            let line = self.place.pure(Code::CompareInt(predicate, elem, left, right), scalar, span);
            return Some(Form::Mask(vec![match axis {
                Some(axis) if !scalar => Conjunct::Axis(axis, line),
                _ => Conjunct::Scalar(line),
            }]));
        }
        // Put the side that varies along fewer axes on the right: `sum predicate base`.
        let (sum, base, predicate) = if y.axes().next().is_none() {
            (x.clone(), y.base, predicate)
        } else if x.axes().next().is_none() {
            (y.clone(), x.base, mirrored(predicate))
        } else {
            let Some(Form::Sum(difference)) = self.split_int(IntBinary::Sub, Elem::I64, a, b, span) else { return None };
            (difference, self.constant(0, Elem::I64), predicate)
        };
        let one = self.constant(1, Elem::I64);
        let after = |s: &mut Self| s.int(IntBinary::Add, Elem::I64, base, one, span);
        let (lo, hi) = match predicate {
            IntPredicate::LtS => (None, Some(base)),
            IntPredicate::LeS => (None, Some(after(self))),
            IntPredicate::GeS => (Some(base), None),
            IntPredicate::GtS => (Some(after(self)), None),
            IntPredicate::Eq => (Some(base), Some(after(self))),
            IntPredicate::Ne | IntPredicate::LtU | IntPredicate::LeU | IntPredicate::GtU | IntPredicate::GeU => return None,
        };
        self.guard(&x, elem, span);
        self.guard(&y, elem, span);
        let scalar = Sum { base, terms: SmallVec::from_elem(None, 1) };
        self.guard(&scalar, elem, span);
        Some(Form::Mask(vec![Conjunct::Band { sum, lo, hi }]))
    }

    /// `and`, and other operations on masks that vary along one common axis.
    pub fn split_mask(&mut self, op: IntBinary, a: Value, b: Value, span: Span) -> Option<Form> {
        if !self.place.lazy || !(2..=MAX_RANK).contains(&self.kernel.ty(a).shape.len()) {
            return None;
        }
        let (x, y) = (self.as_mask(a), self.as_mask(b));
        if op == IntBinary::And {
            let mut all = x;
            for conjunct in y {
                self.conjoin(&mut all, conjunct, span);
            }
            return Some(Form::Mask(all));
        }
        let axis = mask_axis(x.iter().chain(&y))?;
        let (left, right) = (self.mask_line(&x, span), self.mask_line(&y, span));
        let scalar = self.place.is_scalar(left) && self.place.is_scalar(right);
        let line = self.place.pure(Code::Int(op, Elem::I1, left, right), scalar, span);
        Some(Form::Mask(vec![match axis {
            Some(axis) if !scalar => Conjunct::Axis(axis, line),
            _ => Conjunct::Scalar(line),
        }]))
    }

    /// Adds a factor, joining it with one of its kind where that saves work: one-axis masks of one
    /// axis, and a lower with an upper bound of one sum.
    fn conjoin(&mut self, all: &mut Vec<Conjunct>, new: Conjunct, span: Span) {
        for old in all.iter_mut() {
            if *old == new {
                return;
            }
            match (&mut *old, &new) {
                (Conjunct::Axis(axis, slot), Conjunct::Axis(other, term)) if axis == other => {
                    *slot = self.place.pure(Code::Int(IntBinary::And, Elem::I1, *slot, *term), false, span);
                    return;
                }
                (Conjunct::Scalar(slot), Conjunct::Scalar(term)) => {
                    *slot = self.place.pure(Code::Int(IntBinary::And, Elem::I1, *slot, *term), true, span);
                    return;
                }
                (Conjunct::Band { sum, lo, hi }, Conjunct::Band { sum: same, lo: l, hi: h }) if sum == same => {
                    if lo.is_none() && h.is_none() {
                        *lo = *l;
                        return;
                    }
                    if hi.is_none() && l.is_none() {
                        *hi = *h;
                        return;
                    }
                }
                _ => {}
            }
        }
        all.push(new);
    }

    /// A mask that varies along at most one axis as one cell.
    pub(super) fn mask_line(&mut self, mask: &[Conjunct], span: Span) -> Slot {
        let mut line = None;
        for conjunct in mask {
            let (Conjunct::Scalar(slot) | Conjunct::Axis(_, slot) | Conjunct::Block(slot)) = conjunct else { continue };
            line = Some(match line {
                None => *slot,
                Some(line) => {
                    let scalar = self.place.is_scalar(line) && self.place.is_scalar(*slot);
                    self.place.pure(Code::Int(IntBinary::And, Elem::I1, line, *slot), scalar, span)
                }
            });
        }
        line.unwrap_or_else(|| self.constant(1, Elem::I1))
    }
}

/// The one axis along which a mask varies, as [`Builder::common_axis`]; `None` when there is a band
/// or a block.
pub(super) fn mask_axis<'a>(mask: impl Iterator<Item = &'a Conjunct>) -> Option<Option<usize>> {
    let mut found = None;
    for conjunct in mask {
        match conjunct {
            Conjunct::Scalar(_) => {}
            Conjunct::Axis(axis, _) if found.is_none_or(|f| f == *axis) => found = Some(*axis),
            Conjunct::Axis(..) | Conjunct::Band { .. } | Conjunct::Block(_) => return None,
        }
    }
    Some(found)
}

/// `a p b` as `b p' a`.
fn mirrored(predicate: IntPredicate) -> IntPredicate {
    match predicate {
        IntPredicate::Eq => IntPredicate::Eq,
        IntPredicate::Ne => IntPredicate::Ne,
        IntPredicate::LtS => IntPredicate::GtS,
        IntPredicate::LeS => IntPredicate::GeS,
        IntPredicate::GtS => IntPredicate::LtS,
        IntPredicate::GeS => IntPredicate::LeS,
        IntPredicate::LtU => IntPredicate::GtU,
        IntPredicate::LeU => IntPredicate::GeU,
        IntPredicate::GtU => IntPredicate::LtU,
        IntPredicate::GeU => IntPredicate::LeU,
    }
}
