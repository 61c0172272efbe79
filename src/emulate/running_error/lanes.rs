//! Cells as numbers, in row-major order.

use crate::emulate::exec::Machine;
use crate::emulate::exec::shape::materialise;
use crate::emulate::tape::Slot;
use crate::emulate::value::{Cell, Floats};
use crate::kernel::ir::Elem;

/// Every lane as f64; one for a scalar. Pointers are their offsets.
pub fn values(machine: &mut Machine<'_>, slot: Slot) -> Vec<f64> {
    let cell = machine.cell(slot).clone();
    of(&cell, machine)
}

pub fn of(cell: &Cell, machine: &mut Machine<'_>) -> Vec<f64> {
    let Some(layout) = cell.layout() else {
        return match cell {
            Cell::Int(s) => vec![s.value as f64],
            Cell::Float(s) => vec![s.value],
            Cell::Ptr(p) => vec![p.offset as f64],
            _ => vec![0.0],
        };
    };
    // The element type matters for scalars alone.
    match materialise(cell, Elem::I64, &layout.shape_vec(), &mut machine.pool) {
        Cell::Ints(block) => block.values().iter().map(|&v| v as f64).collect(),
        Cell::Mask(block) => block.values().iter().map(|&v| v.into()).collect(),
        Cell::Ptrs(block) => block.offsets.values().iter().map(|&v| v as f64).collect(),
        Cell::Floats(block) => match &block.lanes {
            Floats::F32(lanes) => lanes.iter().map(|&v| v.into()).collect(),
            Floats::F64(lanes) => lanes.to_vec(),
        },
        Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) => vec![0.0],
    }
}

/// Lanes of a cell; 1 for a scalar.
pub fn count(machine: &Machine<'_>, slot: Slot) -> usize {
    machine.cell(slot).layout().map_or(1, |layout| layout.numel())
}

/// The shape of a block; empty for a scalar.
pub fn shape(machine: &Machine<'_>, slot: Slot) -> Vec<usize> {
    machine.cell(slot).layout().map_or_else(Vec::new, |layout| layout.shape_vec().to_vec())
}

/// Lane `i` of an operand, which may be a scalar.
pub fn at(lanes: &[f64], i: usize) -> f64 {
    if lanes.len() == 1 { lanes[0] } else { lanes[i] }
}

/// Lane `i` of what may be exact.
pub fn error(errors: &Option<super::Errors>, i: usize) -> f64 {
    errors.as_ref().map_or(0.0, |errors| at(errors, i))
}
