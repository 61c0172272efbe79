//! Reductions and scans by any function: the function is run under observation along the emulator's own tree or line,
//! with what another order may round otherwise added to each of its operations.

use std::sync::Arc;

use super::{Errors, Shadow};
use crate::emulate::exec::Machine;
use crate::emulate::exec::int::wrapped;
use crate::emulate::exec::lines::{join, slice};
use crate::emulate::exec::shape::{materialise, ordered};
use crate::emulate::observe::Go;
use crate::emulate::tape::whole::WholeOp;
use crate::emulate::tape::{Code, Combine, Instruction, Known, Slot};
use crate::emulate::value::{Cell, Layout};
use crate::kernel::ir::{Elem, FloatUnary};

/// A line of blocks with their errors.
type Lines = Vec<(Cell, Vec<f64>)>;

impl Shadow {
    /// The errors of the results; `None` where a law says them, or where there are none.
    pub(super) fn combined(&mut self, machine: &mut Machine<'_>, at: &Instruction) -> Option<Vec<Option<Errors>>> {
        let (operands, elems, shape, axis, combine) = match &at.code {
            Code::Reduce(r) if r.known.is_none() => (&r.operands, &r.elems, &r.shape, r.axis, &r.combine),
            Code::Scan(s) if s.known.is_none() => (&s.operands, &s.elems, &s.shape, s.axis, &s.combine),
            _ => return None,
        };
        if self.exact(operands) && !rounds(machine, combine) {
            return Some(vec![None; operands.len()]);
        }
        let n = shape[axis];
        let inner: usize = shape[axis + 1..].iter().product();
        let rest = shape.iter().product::<usize>() / n.max(1);
        let lines = self.lines(machine, operands, elems, shape, axis);
        let before = std::mem::replace(&mut self.reassociated, true);
        let errors = match &at.code {
            Code::Scan(scan) => self.scanned(machine, combine, elems, lines, [n, rest], scan.reverse),
            _ => self.folded(machine, combine, elems, lines, [n, rest]),
        };
        self.reassociated = before;
        let placed = |errors: Vec<f64>| match &at.code {
            // The axis goes back to its place.
            Code::Scan(_) => (0..n * rest).map(|i| errors[(i / inner % n) * rest + i / inner / n * inner + i % inner]).collect(),
            _ => errors,
        };
        Some(errors.into_iter().map(|errors| Some(Arc::new(placed(errors)))).collect())
    }

    /// Operands with the axis slowest.
    fn lines(&self, machine: &mut Machine<'_>, operands: &[Slot], elems: &[Elem], shape: &[usize], axis: usize) -> Lines {
        let n = shape[axis];
        let total: usize = shape.iter().product();
        let (rest, inner) = (total / n.max(1), shape[axis + 1..].iter().product::<usize>());
        let slowest = Layout::ordered(shape, |i| match shape.len() - 1 - i {
            0 => axis,
            p if p <= axis => p - 1,
            p => p,
        });
        let line = |(&slot, &elem): (&Slot, &Elem)| {
            let cell = wrapped(machine.cell(slot), elem);
            let full = materialise(&cell, elem, shape, &mut machine.pool);
            let cell = ordered(&full, &slowest).with_layout(Layout::line(total), &mut machine.pool);
            let errors = self.of(slot);
            let place = |i: usize| ((i % rest / inner) * n + i / rest) * inner + i % inner;
            (cell, (0..total).map(|i| super::lanes::error(&errors, place(i))).collect())
        };
        operands.iter().zip(elems).map(line).collect()
    }

    /// One run of the combine function on blocks of `count` lanes.
    fn run(&mut self, machine: &mut Machine<'_>, combine: &Combine, elems: &[Elem], sides: [Lines; 2], count: usize) -> Lines {
        for (&slot, (cell, errors)) in combine.args.iter().zip(sides.into_iter().flatten()) {
            machine.set(slot, cell);
            self.put(slot, Some(Arc::new(errors)));
        }
        // What stops the function here stops it again when the instruction itself is executed.
        let _ = machine.part_observed(combine.start, &mut |machine, instruction, after| {
            self.see(machine, instruction, after);
            Go::On
        });
        let result = |(&slot, &elem): (&Slot, &Elem)| {
            let cell = wrapped(machine.cell(slot), elem);
            let errors = self.of(slot);
            let errors = (0..count).map(|i| super::lanes::error(&errors, i)).collect();
            (materialise(&cell, elem, &[count], &mut machine.pool), errors)
        };
        combine.yields.iter().zip(elems).map(result).collect()
    }

    /// The tree of [`Machine::reduce`](crate::emulate::exec::reduce).
    fn folded(
        &mut self,
        machine: &mut Machine<'_>,
        combine: &Combine,
        elems: &[Elem],
        mut lines: Lines,
        [n, rest]: [usize; 2],
    ) -> Vec<Vec<f64>> {
        let mut count = n;
        while count > 1 {
            let half = count.div_ceil(2);
            let pairs = (count - half) * rest;
            let sides = [cut(&lines, 0, pairs), cut(&lines, half * rest, pairs)];
            let combined = self.run(machine, combine, elems, sides, pairs);
            let left = cut(&lines, pairs, half * rest - pairs);
            lines = combined
                .into_iter()
                .zip(left)
                .map(|((cell, mut errors), (rest_cell, rest_errors))| {
                    errors.extend(&rest_errors);
                    let cell = if rest_errors.is_empty() { cell } else { join(&cell, &rest_cell) };
                    (cell, errors)
                })
                .collect();
            count = half;
        }
        lines.into_iter().map(|(_, errors)| errors).collect()
    }

    fn scanned(
        &mut self,
        machine: &mut Machine<'_>,
        combine: &Combine,
        elems: &[Elem],
        lines: Lines,
        [n, rest]: [usize; 2],
        reverse: bool,
    ) -> Vec<Vec<f64>> {
        let at = |step: usize| if reverse { n - 1 - step } else { step };
        let mut all: Vec<Vec<f64>> = lines.iter().map(|(_, errors)| errors.clone()).collect();
        let mut last = cut(&lines, at(0) * rest, rest);
        for step in 1..n {
            last = self.run(machine, combine, elems, [last, cut(&lines, at(step) * rest, rest)], rest);
            for (all, (_, errors)) in all.iter_mut().zip(&last) {
                all[at(step) * rest..(at(step) + 1) * rest].copy_from_slice(errors);
            }
        }
        all
    }
}

fn cut(lines: &Lines, from: usize, n: usize) -> Lines {
    lines.iter().map(|(cell, errors)| (slice(cell, from, n), errors[from..from + n].to_vec())).collect()
}

/// Whether a combine function does anything that rounds.
fn rounds(machine: &Machine<'_>, combine: &Combine) -> bool {
    use crate::kernel::ir::{CastKind, FloatBinary};
    let code = machine.launch.program.dense.code[combine.start..].iter().map(|instruction| &instruction.code);
    code.take_while(|code| !matches!(code, Code::Return)).any(|code| match code {
        Code::Float(op, ..) => {
            matches!(op, FloatBinary::Add | FloatBinary::Sub | FloatBinary::Mul | FloatBinary::Div | FloatBinary::Rem)
        }
        Code::Unary(f, ..) => !matches!(f, FloatUnary::Neg | FloatUnary::Abs),
        Code::Cast(kind, ..) => matches!(kind, CastKind::FloatTrunc | CastKind::FloatTruncZero),
        Code::Whole(whole) => matches!(whole.op, WholeOp::Extern(_)),
        Code::Fma(..) | Code::Dot(_) | Code::Asm(_) | Code::BranchUnless(..) | Code::Jump(_) => true,
        Code::Reduce(reduce) => reduce.known.is_some(),
        Code::Scan(scan) => matches!(scan.known, Some(Known::Float(_))),
        _ => false,
    })
}
