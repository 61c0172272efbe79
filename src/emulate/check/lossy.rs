//! Casts that lose more than rounding does (A024): an integer that the narrower integer type holds in neither reading, an
//! integer that a float of 16 or 8 bits does not have, a finite float beyond the largest one of its new type.
//!
//! Algorithm: where the kernel has such casts, the launch's programs run once more, dense, in order, on what memory held
//! before, until a cast has lost a value or [`BUDGET`] lanes were computed. Nothing of it is on the fast path.
//!
//! Misses: casts in combine functions; launches whose programs talk to each other; programs beyond the budget; fractions
//! that a cast to an integer drops; rounding to fp32 and fp64, and of fractions to any type; small numbers that become zero.
//! A float outside the range of the integer type it is cast to is undefined, and told where it is used (A003 to A005).

use super::race::coordinates;
use crate::diag::{Diagnostic, codes};
use crate::emulate::exec::shape::materialise;
use crate::emulate::exec::{Launch, Machine};
use crate::emulate::memory::Port;
use crate::emulate::observe::Go;
use crate::emulate::tape::{Code, Instruction, Slot};
use crate::emulate::value::int::{unsigned, wrap};
use crate::emulate::value::round::round_scalar;
use crate::emulate::value::{Cell, Floats, taint};
use crate::kernel::ir::{CastKind, Elem, Inst, InstKind, Kernel};
use crate::kernel::walk;

/// Lanes of results after which the search ends.
const BUDGET: u64 = 1 << 25;

/// Whether the kernel has casts that may lose a value.
pub fn may_lose(kernel: &Kernel) -> bool {
    let mut found = false;
    for block in &kernel.blocks {
        walk::each_inst(&block.insts, &mut |inst: &Inst| {
            if let (InstKind::Cast(kind, from), &[to]) = (&inst.kind, inst.results.as_slice()) {
                found |= loses(*kind, kernel.ty(*from).elem, kernel.ty(to).elem);
            }
        });
    }
    found
}

/// Whether some value of `from` is lost.
fn loses(kind: CastKind, from: Elem, to: Elem) -> bool {
    match kind {
        CastKind::Trunc => to != Elem::I1,
        CastKind::IntToFloatS | CastKind::IntToFloatU => from != Elem::I1 && to.bits() <= 16,
        CastKind::FloatTrunc | CastKind::FloatTruncZero => true,
        CastKind::ExtS
        | CastKind::ExtU
        | CastKind::FloatToIntS
        | CastKind::FloatToIntU
        | CastKind::FloatExt
        | CastKind::Bitcast
        | CastKind::PtrToInt
        | CastKind::IntToPtr => false,
    }
}

/// The first cast of the launch that loses a value. `port` gives memory as it was before.
pub fn first(launch: &Launch<'_>, programs: u32, port: Port<'_>) -> Option<Diagnostic> {
    let mut machine = Machine::new(launch, &launch.program.dense, port);
    machine.explain = true;
    machine.prepare().ok()?;
    let (mut found, mut left) = (None, BUDGET);
    for program in (0..programs).map(|n| launch.nth(n)) {
        let mut watch = |machine: &mut Machine<'_>, at: &Instruction, after: bool| {
            if after {
                let lanes = match at.out {
                    Slot::NONE => 1,
                    out => machine.cell(out).layout().map_or(1, |layout| layout.numel()),
                };
                left = left.saturating_sub(lanes as u64);
            } else if let Code::Cast(kind, from, to, a) = &at.code
                && loses(*kind, *from, *to)
            {
                let cell = machine.cell(*a).clone();
                found = lost(machine, &cell, (*kind, *from, *to)).map(|what| explain(machine, &what, at));
            }
            if found.is_some() || left == 0 { Go::Stop } else { Go::On }
        };
        let ran = machine.run_observed(program, &mut watch);
        if let Port::Journalled { journal, .. } = &mut machine.port {
            journal.clear();
        }
        if found.is_some() || left == 0 || ran.is_err() {
            return found;
        }
    }
    None
}

/// The first lane whose value is lost, in words.
fn lost(machine: &mut Machine<'_>, cell: &Cell, (kind, from, to): (CastKind, Elem, Elem)) -> Option<String> {
    let shape = cell.layout().map(|layout| layout.shape_vec()).unwrap_or_default();
    let ordered = if shape.is_empty() { cell.clone() } else { materialise(cell, from, &shape, &mut machine.pool) };
    let lanes = shape.iter().product();
    let taints = ordered.taints();
    let clean = |lane: usize| {
        let flags = taints.as_ref().map_or(0, |t| t[lane]) | ordered.scalar_taint();
        flags & taint::POISON == 0
    };
    (0..lanes).filter(|&lane| clean(lane)).find_map(|lane| {
        let (before, after) = match (&ordered, kind) {
            (Cell::Float(s), _) => float(s.value, to)?,
            (Cell::Floats(block), _) => match &block.lanes {
                Floats::F32(v) => float(v[lane].into(), to)?,
                Floats::F64(v) => float(v[lane], to)?,
            },
            (Cell::Int(s), kind) => integer(s.value, kind, from, to)?,
            (Cell::Ints(block), kind) => integer(block.at(lane), kind, from, to)?,
            (Cell::Empty | Cell::Ptr(_) | Cell::Mask(_) | Cell::Ptrs(_), _) => return None,
        };
        let lane = if shape.is_empty() { String::new() } else { format!("lane {lane}: ") };
        Some(format!("{lane}{before} becomes {after} in {to}"))
    })
}

fn float(value: f64, to: Elem) -> Option<(String, String)> {
    let after = round_scalar(to, value);
    // A conversion to 8 bits saturates; what lies within the last step of the largest value is rounded.
    let gone = value.is_finite() && (!after.is_finite() || (value - after).abs() > after.abs() / 8.0 && value.abs() > 1.0);
    gone.then(|| (value.to_string(), after.to_string()))
}

fn integer(value: i64, kind: CastKind, from: Elem, to: Elem) -> Option<(String, String)> {
    let value = wrap(value, from);
    match kind {
        CastKind::Trunc => {
            let kept = wrap(value, to) == value || unsigned(value, to) == unsigned(value, from);
            (!kept).then(|| (value.to_string(), wrap(value, to).to_string()))
        }
        _ => {
            let value = if kind == CastKind::IntToFloatU { unsigned(value, from) as f64 } else { value as f64 };
            let after = round_scalar(to, value);
            (after != value).then(|| (value.to_string(), after.to_string()))
        }
    }
}

fn explain(machine: &Machine<'_>, what: &str, at: &Instruction) -> Diagnostic {
    let launch = machine.launch;
    Diagnostic::new(&codes::LOSSY_CAST, what.to_owned())
        .at(&launch.program.kernel.source, at.span)
        .note(format!("program: {:?}", coordinates(launch.grid, machine.linear)))
        .help("keep the wider type, or make what is meant explicit: clamp, or mask the bits off before the cast")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_reading_keeps_an_integer() {
        let cut = |value, to| integer(value, CastKind::Trunc, Elem::I32, to).is_some();
        assert!(!cut(255, Elem::I8) && !cut(-1, Elem::I8) && !cut(-128, Elem::I8));
        assert!(cut(256, Elem::I8) && cut(-129, Elem::I8));
        // The upper half of a product of 32-bit words, shifted down.
        assert!(integer(0xffff_ffff, CastKind::Trunc, Elem::I64, Elem::I32).is_none());
        let halves = |value| integer(value, CastKind::IntToFloatS, Elem::I32, Elem::BF16).is_some();
        assert!(!halves(256) && halves(257) && !halves(-1024));
    }

    #[test]
    fn floats_are_lost_beyond_the_largest_one() {
        let gone = |value, to| float(value, to).is_some();
        assert!(!gone(65504.0, Elem::F16) && !gone(65519.0, Elem::F16) && gone(65520.0, Elem::F16));
        assert!(!gone(f64::INFINITY, Elem::F16) && !gone(f64::NAN, Elem::F16) && !gone(1e-30, Elem::F16));
        assert!(!gone(448.0, Elem::F8E4M3) && !gone(460.0, Elem::F8E4M3) && gone(1000.0, Elem::F8E4M3));
        assert!(gone(1e39, Elem::F32) && !gone(1e38, Elem::BF16));
    }
}
