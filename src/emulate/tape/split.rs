//! Splitting index arithmetic along axes, at compile time.
//!
//! A block of integers or pointers of two or more axes is kept as a [`Sum`] of a scalar and one
//! one-axis term an axis as long as its definition allows: sums, products by a scalar, and any
//! operation whose operands vary along one common axis. A mask is kept as a conjunction of one-axis
//! masks and of bands `lo <= sum < hi`. Terms are cells of their own, so each is hoisted to its
//! level (`place`), and only loads and stores ever see the whole.
//!
//! Sums are exact: lanes of `+ − ·` wrap only where something else uses them, and there a `Guard`
//! asks that the sum fits its type. When it does not, the program runs again on the dense tape,
//! which wraps lane by lane.

use smallvec::SmallVec;

use super::compile::Builder;
use super::{Code, Conjunct, LoadTile, Slot, Sum, Terms};
use crate::kernel::ir::{Elem, IntBinary, IntPredicate, Literal, Value};
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
    fn axes(&self) -> impl Iterator<Item = usize> + '_ {
        self.terms.iter().enumerate().filter_map(|(a, t)| t.map(|_| a))
    }
}

impl Builder<'_> {
    pub fn constant(&mut self, value: i64, elem: Elem) -> Slot {
        self.place.pure(Code::Constant(Literal::Int(value), elem), true, Span::default())
    }

    fn is_constant(&self, slot: Slot, value: i64) -> bool {
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
                _ => {}
            }
        }
        let scalar = self.place.is_scalar(a) && self.place.is_scalar(b);
        self.place.pure(Code::Int(op, elem, a, b), scalar, span)
    }

    /// The value as a sum, when it has that form or can be given it without work.
    pub fn as_sum(&mut self, value: Value) -> Option<Sum> {
        let ty = self.kernel.ty(value).clone();
        if !self.place.lazy || ty.elem == Elem::I1 {
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
    fn line(&mut self, sum: &Sum, axis: usize, elem: Elem, span: Span) -> Slot {
        match sum.terms[axis] {
            Some(term) => self.int(IntBinary::Add, elem, sum.base, term, span),
            None => sum.base,
        }
    }

    /// The one axis along which any of these sums varies: `Some(None)` for none, `None` for several.
    fn common_axis(&self, sums: &[&Sum]) -> Option<Option<usize>> {
        let mut found = None;
        for axis in sums.iter().flat_map(|s| s.axes()) {
            if found.is_some_and(|f| f != axis) {
                return None;
            }
            found = Some(axis);
        }
        Some(found)
    }

    fn along(&mut self, line: Slot, axis: Option<usize>, rank: usize, elem: Elem) -> Form {
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

    /// `a op b` on blocks of two or more axes; `None` when it does not split.
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
            _ => {}
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
        if !self.place.lazy || self.kernel.ty(a).shape.len() < 2 {
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
    fn mask_line(&mut self, mask: &[Conjunct], span: Span) -> Slot {
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

    pub fn split_expand(&mut self, value: Value, axis: usize, span: Span) -> Option<Form> {
        let ty = self.kernel.ty(value).clone();
        if !self.place.lazy {
            return None;
        }
        if ty.elem == Elem::I1 {
            let mask = self.as_mask(value);
            let expanded = mask.into_iter().map(|conjunct| match conjunct {
                Conjunct::Scalar(s) => Conjunct::Scalar(s),
                Conjunct::Axis(a, s) => Conjunct::Axis(if a >= axis { a + 1 } else { a }, s),
                Conjunct::Band { mut sum, lo, hi } => {
                    sum.terms.insert(axis, None);
                    Conjunct::Band { sum, lo, hi }
                }
                Conjunct::Block(s) => Conjunct::Block(self.place.pure(Code::ExpandDims(s, axis), false, span)),
            });
            return Some(Form::Mask(expanded.collect()));
        }
        if ty.elem.is_float() {
            return None;
        }
        let mut sum = self.as_sum(value)?;
        for (a, &size) in ty.shape.iter().enumerate() {
            if size == 1
                && let Some(term) = sum.terms[a].take()
            {
                let lane = self.place.pure(Code::OnlyLane(term), true, span);
                sum.base = match ty.elem {
                    Elem::Ptr(_) => self.place.pure(Code::AddPtr(sum.base, lane, Elem::I64), true, span),
                    elem => self.int(IntBinary::Add, elem, sum.base, lane, span),
                };
            }
        }
        sum.terms.insert(axis, None);
        Some(Form::Sum(sum))
    }

    pub fn split_broadcast(&mut self, value: Value, shape: &[usize], span: Span) -> Option<Form> {
        let ty = self.kernel.ty(value).clone();
        if !self.place.lazy || ty.elem.is_float() {
            return None;
        }
        if ty.elem == Elem::I1 {
            let mask = self.as_mask(value);
            let grown = |axis: usize| ty.shape[axis] == 1 && shape[axis] != 1;
            let mut out = Vec::new();
            for conjunct in mask {
                out.push(match conjunct {
                    Conjunct::Axis(axis, s) if grown(axis) => Conjunct::Scalar(self.place.pure(Code::OnlyLane(s), true, span)),
                    Conjunct::Block(s) => {
                        Conjunct::Block(self.place.pure(Code::Broadcast(s, SmallVec::from_slice(shape)), false, span))
                    }
                    other => other,
                });
            }
            return Some(Form::Mask(out));
        }
        let sum = self.as_sum(value)?;
        // One-axis terms of length 1 were folded into the base when their axis was made.
        let fits = sum.axes().all(|a| ty.shape[a] == shape[a]);
        fits.then_some(Form::Sum(sum))
    }

    pub fn split_trans(&mut self, value: Value, order: &[u8]) -> Option<Form> {
        let ty = self.kernel.ty(value);
        if !self.place.lazy || ty.elem.is_float() {
            return None;
        }
        match self.form(value) {
            Form::Sum(sum) => {
                let terms = order.iter().map(|&from| sum.terms[from as usize]).collect();
                Some(Form::Sum(Sum { base: sum.base, terms }))
            }
            Form::Mask(mask) => {
                let to = |axis: usize| order.iter().position(|&o| o as usize == axis).unwrap_or(axis);
                let moved: Option<Vec<Conjunct>> = mask
                    .into_iter()
                    .map(|conjunct| match conjunct {
                        Conjunct::Scalar(s) => Some(Conjunct::Scalar(s)),
                        Conjunct::Axis(axis, s) => Some(Conjunct::Axis(to(axis), s)),
                        Conjunct::Band { sum, lo, hi } => {
                            let terms = order.iter().map(|&from| sum.terms[from as usize]).collect();
                            Some(Conjunct::Band { sum: Sum { base: sum.base, terms }, lo, hi })
                        }
                        Conjunct::Block(_) => None,
                    })
                    .collect();
                moved.map(Form::Mask)
            }
            Form::Cell(_) | Form::Load(..) => None,
        }
    }
}

/// The one axis along which a mask varies, as [`Builder::common_axis`]; `None` when there is a band
/// or a block.
fn mask_axis<'a>(mask: impl Iterator<Item = &'a Conjunct>) -> Option<Option<usize>> {
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
