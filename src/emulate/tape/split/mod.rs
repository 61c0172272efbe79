//! Splitting index arithmetic along axes, at compile time.
//!
//! A block of integers or pointers of two or more axes is kept as a [`Sum`] of a scalar and one
//! one-axis term an axis as long as its definition allows: sums, products by a scalar, and any
//! operation whose operands vary along one common axis. Integers of one axis are kept so where their parts are known at
//! different times. A mask is kept as a conjunction of one-axis
//! masks and of bands `lo <= sum < hi`. Terms are cells of their own, so each is hoisted to its
//! level (`place`), and only loads and stores ever see the whole.
//!
//! Sums are exact: lanes of `+ − ·` wrap only where something else uses them, and there a `Guard`
//! asks that the sum fits its type. When it does not, the program runs again on the dense tape,
//! which wraps lane by lane.

mod masks;
mod shape;

use masks::mask_axis;
use smallvec::SmallVec;

use super::compile::Builder;
use super::place::StreamKind;
use super::{Code, Conjunct, LoadTile, Slot, Sum, Terms};
use crate::emulate::value::layout::MAX_RANK;
use crate::kernel::ir::{Elem, IntBinary, Literal, Value};
use crate::source::Span;

/// How a value is held.
#[derive(Clone, Debug)]
pub enum Form {
    Cell(Slot),
    Sum(Sum),
    Mask(Vec<Conjunct>),
    /// A load that its only user, a dot, will make.
    Load(Box<LoadTile>, u32),
}

impl Sum {
    pub(super) fn axes(&self) -> impl Iterator<Item = usize> + '_ {
        self.terms.iter().enumerate().filter_map(|(a, t)| t.map(|_| a))
    }
}

impl Builder<'_> {
    pub fn constant(&mut self, value: i64, elem: Elem) -> Slot {
        self.place.pure(Code::Constant(Literal::Int(value), elem), true, Span::default())
    }

    pub(super) fn is_constant(&self, slot: Slot, value: i64) -> bool {
        self.constants.get(&slot) == Some(&value)
    }

    /// An integer operation on cells, with the identities of 0 and 1 applied.
    pub fn int(&mut self, op: IntBinary, elem: Elem, a: Slot, b: Slot, span: Span) -> Slot {
        if self.place.lazy {
            match op {
                IntBinary::Add if self.is_constant(a, 0) => return b,
                IntBinary::Add | IntBinary::Sub if self.is_constant(b, 0) => return a,
                IntBinary::Mul if self.is_constant(a, 1) => return b,
                IntBinary::Mul if self.is_constant(b, 1) => return a,
                IntBinary::Add | IntBinary::Sub | IntBinary::Mul => {}
                IntBinary::DivS | IntBinary::DivU | IntBinary::RemS | IntBinary::RemU => {}
                IntBinary::And | IntBinary::Or | IntBinary::Xor | IntBinary::Shl | IntBinary::ShrS | IntBinary::ShrU => {}
                IntBinary::MinS | IntBinary::MinU | IntBinary::MaxS | IntBinary::MaxU | IntBinary::MulHiU => {}
            }
        }
        let scalar = self.place.is_scalar(a) && self.place.is_scalar(b);
        self.place.pure(Code::Int(op, elem, a, b), scalar, span)
    }

    /// The value as a sum, when it has that form or can be given it without work.
    pub fn as_sum(&mut self, value: Value) -> Option<Sum> {
        let ty = self.kernel.ty(value).clone();
        if !self.place.lazy || ty.elem == Elem::I1 || ty.shape.len() > MAX_RANK {
            return None;
        }
        match self.form(value) {
            Form::Sum(sum) => Some(sum),
            Form::Cell(slot) if ty.is_scalar() => Some(Sum { base: slot, terms: Terms::new() }),
            Form::Cell(slot) if self.place.is_scalar(slot) => {
                Some(Sum { base: slot, terms: SmallVec::from_elem(None, ty.shape.len()) })
            }
            Form::Cell(slot) if ty.shape.len() == 1 && !matches!(ty.elem, Elem::Ptr(_)) => {
                let base = self.constant(0, ty.elem);
                Some(Sum { base, terms: SmallVec::from_elem(Some(slot), 1) })
            }
            Form::Cell(_) | Form::Mask(_) | Form::Load(..) => None,
        }
    }

    /// The value as a conjunction; any mask has that form.
    pub fn as_mask(&mut self, value: Value) -> Vec<Conjunct> {
        let ty = self.kernel.ty(value).clone();
        match self.form(value) {
            Form::Mask(mask) => mask,
            Form::Cell(slot) if ty.is_scalar() || self.place.is_scalar(slot) => {
                if self.is_constant(slot, 1) {
                    Vec::new()
                } else {
                    vec![Conjunct::Scalar(slot)]
                }
            }
            Form::Cell(slot) if ty.shape.len() == 1 && self.place.lazy => vec![Conjunct::Axis(0, slot)],
            Form::Cell(slot) => vec![Conjunct::Block(slot)],
            Form::Sum(_) | Form::Load(..) => vec![Conjunct::Block(self.cell(value))],
        }
    }

    /// Base plus the term of `axis`, as a one-axis cell; the sum has no other terms.
    pub(super) fn line(&mut self, sum: &Sum, axis: usize, elem: Elem, span: Span) -> Slot {
        match sum.terms[axis] {
            Some(term) => self.int(IntBinary::Add, elem, sum.base, term, span),
            None => sum.base,
        }
    }

    /// The one axis along which any of these sums varies: `Some(None)` for none, `None` for several.
    pub(super) fn common_axis(&self, sums: &[&Sum]) -> Option<Option<usize>> {
        let mut found = None;
        for axis in sums.iter().flat_map(|s| s.axes()) {
            if found.is_some_and(|f| f != axis) {
                return None;
            }
            found = Some(axis);
        }
        Some(found)
    }

    pub(super) fn along(&mut self, line: Slot, axis: Option<usize>, rank: usize, elem: Elem) -> Form {
        let mut terms: Terms = SmallVec::from_elem(None, rank);
        match axis {
            None => Form::Sum(Sum { base: line, terms }),
            Some(_) if self.place.is_scalar(line) => Form::Sum(Sum { base: line, terms }),
            Some(axis) => {
                terms[axis] = Some(line);
                Form::Sum(Sum { base: self.constant(0, elem), terms })
            }
        }
    }

    /// Whether a sum or product along one axis is worth keeping in parts: a number that the program or an iteration
    /// decides, and lanes that are known before. The lanes are then computed once a launch, not once an iteration.
    pub fn splits_line(&self, op: IntBinary, a: Value, b: Value) -> bool {
        if !self.place.lazy || !matches!(op, IntBinary::Add | IntBinary::Sub | IntBinary::Mul) || self.kernel.ty(a).is_scalar() {
            return false;
        }
        let known = |slot: Slot| match self.place.streams[self.place.home(slot).0].kind {
            StreamKind::Launch | StreamKind::Table(_) => true,
            StreamKind::Program | StreamKind::Loop(_) | StreamKind::Guarded => false,
        };
        match (self.form(a), self.form(b)) {
            (Form::Sum(_), _) | (_, Form::Sum(_)) => true,
            (Form::Cell(x), Form::Cell(y)) if op != IntBinary::Mul => {
                let parts = |number, lanes| {
                    self.place.is_scalar(number) && !known(number) && !self.place.is_scalar(lanes) && known(lanes)
                };
                parts(x, y) || parts(y, x)
            }
            (Form::Cell(_) | Form::Mask(_) | Form::Load(..), Form::Cell(_) | Form::Mask(_) | Form::Load(..)) => false,
        }
    }

    /// `a op b` on blocks of integers; `None` when it does not split.
    pub fn split_int(&mut self, op: IntBinary, elem: Elem, a: Value, b: Value, span: Span) -> Option<Form> {
        let (x, y) = (self.as_sum(a)?, self.as_sum(b)?);
        let rank = x.terms.len();
        match op {
            IntBinary::Add | IntBinary::Sub => {
                let zero = self.constant(0, elem);
                let base = self.int(op, elem, x.base, y.base, span);
                let mut terms = Terms::new();
                for axis in 0..rank {
                    terms.push(match (x.terms[axis], y.terms[axis]) {
                        (None, None) => None,
                        (Some(s), None) => Some(s),
                        (s, Some(t)) => Some(self.int(op, elem, s.unwrap_or(zero), t, span)),
                    });
                }
                return Some(Form::Sum(Sum { base, terms }));
            }
            IntBinary::Mul if x.axes().next().is_none() || y.axes().next().is_none() => {
                let (many, factor) = if y.axes().next().is_none() { (x, y.base) } else { (y, x.base) };
                let base = self.int(op, elem, many.base, factor, span);
                let mut terms = Terms::new();
                for term in &many.terms {
                    terms.push(term.map(|term| self.int(op, elem, term, factor, span)));
                }
                return Some(Form::Sum(Sum { base, terms }));
            }
            IntBinary::Mul | IntBinary::DivS | IntBinary::DivU | IntBinary::RemS | IntBinary::RemU => {}
            IntBinary::And | IntBinary::Or | IntBinary::Xor | IntBinary::Shl | IntBinary::ShrS | IntBinary::ShrU => {}
            IntBinary::MinS | IntBinary::MinU | IntBinary::MaxS | IntBinary::MaxU | IntBinary::MulHiU => {}
        }
        let axis = self.common_axis(&[&x, &y])?;
        let at = axis.unwrap_or(0);
        let (left, right) = (self.line(&x, at, elem, span), self.line(&y, at, elem, span));
        let line = self.int(op, elem, left, right, span);
        Some(self.along(line, axis, rank, elem))
    }

    /// Suspect unless the sum fits its type: asked before anything but `+ − ·` uses it.
    pub fn guard(&mut self, sum: &Sum, elem: Elem, span: Span) {
        if elem != Elem::I64 && !matches!(elem, Elem::Ptr(_)) {
            self.place.pure(Code::Guard(sum.clone(), elem), true, span);
        }
    }

    pub fn split_addptr(&mut self, ptr: Value, offset: Value, span: Span) -> Option<Form> {
        let (p, o) = (self.as_sum(ptr)?, self.as_sum(offset)?);
        let elem = self.kernel.ty(offset).elem;
        self.guard(&o, elem, span);
        let scalar = self.place.is_scalar(p.base) && self.place.is_scalar(o.base);
        let base =
            if self.is_constant(o.base, 0) { p.base } else { self.place.pure(Code::AddPtr(p.base, o.base, elem), scalar, span) };
        let mut terms = Terms::new();
        for axis in 0..p.terms.len() {
            terms.push(match (p.terms[axis], o.terms[axis]) {
                (None, term) | (term, None) => term,
                (Some(s), Some(t)) => Some(self.int(IntBinary::Add, Elem::I64, s, t, span)),
            });
        }
        Some(Form::Sum(Sum { base, terms }))
    }

    /// A select of integers whose condition and values vary along one common axis.
    pub fn split_select(&mut self, condition: Value, a: Value, b: Value, span: Span) -> Option<Form> {
        let elem = self.kernel.ty(a).elem;
        if !elem.is_integer() || elem == Elem::I1 {
            return None;
        }
        let (x, y) = (self.as_sum(a)?, self.as_sum(b)?);
        let mask = self.as_mask(condition);
        let mask_axis = mask_axis(mask.iter())?;
        let axis = match (self.common_axis(&[&x, &y])?, mask_axis) {
            (Some(p), Some(q)) if p != q => return None,
            (p, q) => p.or(q),
        };
        let at = axis.unwrap_or(0);
        let line = self.mask_line(&mask, span);
        let (left, right) = (self.line(&x, at, elem, span), self.line(&y, at, elem, span));
        let scalar = [line, left, right].iter().all(|&s| self.place.is_scalar(s));
        let chosen = self.place.pure(Code::Select(elem, line, left, right), scalar, span);
        Some(self.along(chosen, axis, x.terms.len(), elem))
    }

    /// A conversion of integers: a widening by sign of a sum that fits its type, or any one-axis one.
    pub fn split_cast(&mut self, kind: crate::kernel::ir::CastKind, from: Elem, to: Elem, a: Value, span: Span) -> Option<Form> {
        use crate::kernel::ir::CastKind;
        if !from.is_integer() || !to.is_integer() || from == Elem::I1 || to == Elem::I1 {
            return None;
        }
        let x = self.as_sum(a)?;
        if kind == CastKind::ExtS {
            self.guard(&x, from, span);
            return Some(Form::Sum(x));
        }
        let axis = self.common_axis(&[&x])?;
        let line = self.line(&x, axis.unwrap_or(0), from, span);
        let scalar = self.place.is_scalar(line);
        let line = self.place.pure(Code::Cast(kind, from, to, line), scalar, span);
        Some(self.along(line, axis, x.terms.len(), to))
    }
}
