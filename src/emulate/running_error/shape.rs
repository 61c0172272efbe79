//! Lanes that are repeated or change places.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Errors, Shadow, lanes};
use crate::emulate::exec::Machine;
use crate::emulate::exec::elementwise::reorder;
use crate::emulate::tape::Slot;
use crate::emulate::value::{Cell, FloatBlock, Floats, Layout};

impl Shadow {
    pub(super) fn broadcast(&self, machine: &Machine<'_>, a: Slot, to: &[usize]) -> Option<Errors> {
        self.seen(machine, a, |layout| layout.broadcast(to))
    }

    pub(super) fn trans(&self, machine: &Machine<'_>, a: Slot, order: &[u8]) -> Option<Errors> {
        self.seen(machine, a, |layout| layout.permuted(order))
    }

    /// The errors of a block whose axes are seen differently.
    fn seen(&self, machine: &Machine<'_>, a: Slot, layout: impl Fn(&Layout) -> Layout) -> Option<Errors> {
        let errors = self.of(a)?;
        let shape = lanes::shape(machine, a);
        if errors.len() == 1 || shape.is_empty() {
            return Some(errors);
        }
        let seen = layout(&Layout::row_major(&shape));
        let to = Layout::row_major(&seen.shape_vec());
        Some(Arc::new(reorder(Cow::Borrowed(errors.as_slice()), &seen, &to).into_owned()))
    }

    /// Errors as a block of their own; zeros where there are none.
    pub(super) fn block(&self, slot: Slot, shape: &[usize]) -> Cell {
        let n = shape.iter().product();
        let lanes = match self.of(slot) {
            None => vec![0.0; n],
            Some(errors) if errors.len() == n => errors.to_vec(),
            Some(errors) => vec![errors[0]; n],
        };
        let layout = if shape.is_empty() { Layout::line(1) } else { Layout::row_major(shape) };
        Cell::Floats(FloatBlock { layout, lanes: Floats::F64(Arc::new(lanes)), taints: None })
    }
}
