//! Integers that floats had a part in: counted, converted, compared.

use std::sync::Arc;

use super::float::{clean, product};
use super::lanes::{at, error, values};
use super::{Errors, Shadow};
use crate::emulate::exec::Machine;
use crate::emulate::tape::Slot;
use crate::kernel::ir::{Elem, IntBinary};

impl Shadow {
    pub(super) fn int(
        &self,
        machine: &mut Machine<'_>,
        op: IntBinary,
        elem: Elem,
        a: Slot,
        b: Slot,
        out: Slot,
    ) -> Option<Errors> {
        if self.exact(&[a, b]) {
            return None;
        }
        let [x, y, v] = [a, b, out].map(|slot| values(machine, slot));
        let (ex, ey) = (self.of(a), self.of(b));
        let lane = |i: usize| {
            let (x, y, ex, ey) = (at(&x, i), at(&y, i), error(&ex, i), error(&ey, i));
            if ex == 0.0 && ey == 0.0 {
                return 0.0;
            }
            clean(match op {
                // A mask is decided by the side that is.
                IntBinary::And if elem == Elem::I1 => undecided((ex == 0.0 && x == 0.0) || (ey == 0.0 && y == 0.0)),
                IntBinary::Or if elem == Elem::I1 => undecided((ex == 0.0 && x != 0.0) || (ey == 0.0 && y != 0.0)),
                _ if elem == Elem::I1 => 1.0,
                IntBinary::Add | IntBinary::Sub => ex + ey,
                IntBinary::Mul => product(x, y, ex, ey),
                IntBinary::MinS | IntBinary::MaxS => ex.max(ey),
                IntBinary::Shl if ey == 0.0 => ex * y.exp2(),
                // Below a power of two it stays there.
                IntBinary::And | IntBinary::Or | IntBinary::Xor if x >= ex && y >= ey && (x + ex).max(y + ey) < 1e15 => {
                    (((x + ex).max(y + ey) as u64 + 1).next_power_of_two() - 1) as f64
                }
                IntBinary::DivS if ey == 0.0 && y != 0.0 => (ex / y.abs()).floor() + 1.0,
                IntBinary::DivS
                | IntBinary::DivU
                | IntBinary::RemS
                | IntBinary::RemU
                | IntBinary::And
                | IntBinary::Or
                | IntBinary::Xor
                | IntBinary::Shl
                | IntBinary::ShrS
                | IntBinary::ShrU
                | IntBinary::MinU
                | IntBinary::MaxU
                | IntBinary::MulHiU => f64::INFINITY,
            })
        };
        Some(Arc::new((0..v.len()).map(lane).collect()))
    }

    /// Errors that add.
    pub(super) fn sum(&self, machine: &mut Machine<'_>, a: Slot, b: Slot, out: Slot) -> Option<Errors> {
        if self.exact(&[a, b]) {
            return None;
        }
        let (ex, ey) = (self.of(a), self.of(b));
        let n = super::lanes::count(machine, out);
        Some(Arc::new((0..n).map(|i| error(&ex, i) + error(&ey, i)).collect()))
    }
}

fn undecided(decided: bool) -> f64 {
    if decided { 0.0 } else { 1.0 }
}
