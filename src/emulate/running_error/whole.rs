//! Operations on whole blocks: errors move as their lanes do; foreign functions are looked at where their intervals end.

use std::sync::Arc;

use super::float::{clean, law};
use super::lanes::{at, count, error, of, values};
use super::rounding::{smallest, within};
use super::{Errors, Shadow};
use crate::emulate::exec::{Machine, libdevice, moves};
use crate::emulate::tape::Slot;
use crate::emulate::tape::whole::{Asm, Whole, WholeOp};
use crate::emulate::value::{Cell, FloatBlock, Floats, Layout};
use crate::kernel::ir::Elem;
use crate::kernel::libdevice::Symbol;
use crate::tolerance::UNIT;

/// Units by which libdevice's functions may be off, ours included: the CUDA manual's table of single precision has 4 as
/// the largest but for functions of more than one argument and gamma and Bessel functions.
const FUNCTION_UNITS: f64 = 8.0;
/// Those.
const ROUGH_UNITS: f64 = 32.0;

impl Shadow {
    pub(super) fn whole(&self, machine: &mut Machine<'_>, whole: &Whole, out: Slot) -> Option<Errors> {
        match &whole.op {
            WholeOp::Extern(symbol) => return self.function(machine, *symbol, whole, out),
            WholeOp::DotScaled(_) => {
                let v = values(machine, out);
                let exact = self.exact(&whole.operands);
                let terms = whole.shapes[0].last().copied().unwrap_or(1) * 2;
                // Its terms are not looked at: as if all were as large as the result.
                let lane = |&v: &f64| if exact { law(UNIT, terms, v * v * terms as f64, v) } else { f64::INFINITY };
                return Some(Arc::new(v.iter().map(lane).collect()));
            }
            _ if self.exact(&whole.operands) => return None,
            WholeOp::Clamp { .. } => {
                let errors: Vec<_> = whole.operands.iter().map(|&slot| self.of(slot)).collect();
                let lane = |i: usize| errors.iter().map(|e| error(e, i)).fold(0.0, f64::max);
                return Some(Arc::new((0..count(machine, out)).map(lane).collect()));
            }
            WholeOp::AbsInt => return self.of(whole.operands[0]),
            WholeOp::Histogram(_) => return Some(Arc::new(vec![f64::INFINITY; count(machine, out)])),
            WholeOp::Join
            | WholeOp::Half(_)
            | WholeOp::Cat
            | WholeOp::Gather(_)
            | WholeOp::Pick(_)
            | WholeOp::Plane(_)
            | WholeOp::Stack
            | WholeOp::Unsplat => {}
        }
        let mut moved = whole.clone();
        (moved.result, moved.elems) = (Elem::F64, vec![Elem::F64; whole.elems.len()]);
        let cells: Vec<Cell> = whole.operands.iter().zip(&whole.shapes).map(|(&slot, shape)| self.block(slot, shape)).collect();
        let mut cells: Vec<&Cell> = cells.iter().collect();
        let index;
        let made = match &whole.op {
            WholeOp::Join => moves::join(&moved, &cells, &mut machine.pool),
            WholeOp::Cat => moves::cat(&moved, &cells, &mut machine.pool),
            WholeOp::Half(half) => Ok(moves::half(&moved, &cells, *half, &mut machine.pool)),
            WholeOp::Gather(axis) => {
                if !self.exact(&whole.operands[1..]) {
                    return Some(Arc::new(vec![f64::INFINITY; count(machine, out)]));
                }
                index = machine.cell(whole.operands[1]).clone();
                cells[1] = &index;
                moved.elems[1] = whole.elems[1];
                Ok(moves::gather(&moved, &cells, *axis, &mut machine.pool))
            }
            WholeOp::Pick(places) => Ok(moves::picked(&moved, &cells, places, &mut machine.pool)),
            WholeOp::Plane(i) => Ok(moves::plane(&moved, &cells, *i, &mut machine.pool)),
            WholeOp::Stack => Ok(moves::stack(&moved, &cells, &mut machine.pool)),
            WholeOp::Unsplat => Ok(moves::only(&moved, &cells, &mut machine.pool)),
            _ => Err("not a movement"),
        };
        Some(Arc::new(match made {
            Ok(cell) => of(&cell, machine),
            Err(_) => vec![f64::INFINITY; count(machine, out)],
        }))
    }

    /// A function of libdevice: each argument in turn at the ends of its interval, and the function's own error.
    fn function(&self, machine: &mut Machine<'_>, symbol: Symbol, whole: &Whole, out: Slot) -> Option<Errors> {
        let own = function_units(symbol);
        if own == 0.0 && self.exact(&whole.operands) {
            return None;
        }
        let v = values(machine, out);
        let mut spread = vec![0.0; v.len()];
        for (n, &slot) in whole.operands.iter().enumerate() {
            let Some(errors) = self.of(slot) else { continue };
            for sign in [-1.0, 1.0] {
                let cells: Vec<Cell> = whole.operands.iter().map(|&slot| machine.cell(slot).clone()).collect();
                let x = of(&cells[n], machine);
                let moved: Vec<f64> = x.iter().enumerate().map(|(i, x)| x + sign * at(&errors, i)).collect();
                let moved = lanes_like(&cells[n], moved);
                let Some(moved) = moved else {
                    spread.iter_mut().enumerate().for_each(|(i, s)| *s += if at(&errors, i) > 0.0 { f64::INFINITY } else { 0.0 });
                    continue;
                };
                let mut given: Vec<&Cell> = cells.iter().collect();
                given[n] = &moved;
                let end = libdevice::call(symbol, &given, &mut machine.pool);
                let end = of(&end, machine);
                for (i, s) in spread.iter_mut().enumerate() {
                    // Both ends count: more than is needed, and never less.
                    let change = if at(&end, i) == v[i] || at(&errors, i) == 0.0 { 0.0 } else { (at(&end, i) - v[i]).abs() };
                    *s += change;
                }
            }
        }
        let lane = |i: usize| {
            let own = if own == 0.0 || !v[i].is_finite() {
                0.0
            } else {
                own * unit_of(whole.result) * v[i].abs() + smallest(whole.result)
            };
            if whole.result.is_float() { clean(within(whole.result, v[i], v[i], spread[i] + own)) } else { clean(spread[i]) }
        };
        Some(Arc::new((0..v.len()).map(lane).collect()))
    }

    /// Inline assembly is opaque: exact operands give equal results unless it says that it approximates. Then each approximate
    /// instruction has 8 units of the result, and of 1: what it makes may have been added to a number of that size.
    pub(super) fn asm(&mut self, machine: &mut Machine<'_>, asm: &Asm) {
        let exact = self.exact(&asm.operands);
        let approximates = asm.asm.text.matches(".approx").count();
        for (&slot, &elem) in asm.results.iter().zip(&asm.result_elems) {
            let errors = if !exact {
                Some(vec![f64::INFINITY; count(machine, slot)])
            } else if approximates > 0 {
                // The roughest, tanh.approx, has 2⁻¹¹ as its relative error.
                let rough = elem == Elem::F32 && asm.asm.text.contains("tanh");
                let each = if rough { f64::from(-11).exp2() } else { 8.0 * unit_of(elem) };
                let units = approximates as f64 * each;
                Some(values(machine, slot).iter().map(|v| if v.is_finite() { v.abs().max(1.0) * units } else { 0.0 }).collect())
            } else {
                None
            };
            self.put(slot, errors.map(Arc::new));
        }
    }
}

fn unit_of(elem: Elem) -> f64 {
    if elem.is_float() { super::rounding::unit(elem) } else { UNIT }
}

/// The same cell with other lanes, floats only.
fn lanes_like(cell: &Cell, lanes: Vec<f64>) -> Option<Cell> {
    match cell {
        Cell::Float(_) => Some(Cell::float(lanes[0])),
        Cell::Floats(block) => {
            let layout = Layout::row_major(&block.layout.shape_vec());
            let lanes = match &block.lanes {
                Floats::F32(_) => Floats::F32(Arc::new(lanes.iter().map(|&v| v as f32).collect())),
                Floats::F64(_) => Floats::F64(Arc::new(lanes)),
            };
            Some(Cell::Floats(FloatBlock { layout, lanes, taints: None }))
        }
        _ => None,
    }
}

/// Units of the result's type that a function may be off by; 0 for what is exact or rounded correctly.
fn function_units(symbol: Symbol) -> f64 {
    let row = symbol.row();
    let name = row.function;
    let exact = [
        "abs",
        "floor",
        "ceil",
        "trunc",
        "rint",
        "nearbyint",
        "round",
        "copysign",
        "fmod",
        "remainder",
        "min",
        "max",
        "finitef",
        "isfinite",
        "isinf",
        "isnan",
        "signbit",
        "saturatef",
        "nextafter",
        "ldexp",
        "scalbn",
        "logb",
        "ilogb",
        "fdim",
        "byte_perm",
        "clz",
        "popc",
        "brev",
    ];
    let rounded = ["_rn", "_rz", "_ru", "_rd"].iter().any(|end| name.ends_with(end));
    let rough =
        ["pow", "gamma", "j0", "j1", "jn", "y0", "y1", "yn", "cyl_bessel", "norm", "erfcx", "erfinv", "erfcinv", "fast_", "erfc"];
    if exact.contains(&name) || rounded || row.args.iter().all(|dtype| dtype.is_integer()) {
        0.0
    } else if rough.iter().any(|part| name.contains(part)) {
        ROUGH_UNITS
    } else {
        FUNCTION_UNITS
    }
}
