//! Sums and masks under operations that move no value: `expand_dims`, `broadcast`, `trans`.

use smallvec::SmallVec;

use super::Form;
use crate::emulate::tape::compile::Builder;
use crate::emulate::tape::{Code, Conjunct, Sum};
use crate::kernel::ir::{Elem, IntBinary, Value};
use crate::source::Span;

impl Builder<'_> {
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
