//! One instruction: its operands' cells to the operation's file, its result to its cell; and those that
//! decide where the program goes.

use super::address::only_lane;
use super::{Machine, Step, Stop, cast, compare, float, int, shape};
use crate::diag::codes;
use crate::emulate::check;
use crate::emulate::launch::Arg;
use crate::emulate::tape::{Code, Instruction, Slot};
use crate::emulate::value::round::round_scalar;
use crate::emulate::value::{Cell, IntBlock, Layout, Pointer, PtrBlock, misfit};
use crate::kernel::ir::{Elem, Hint, Literal};

impl<'l> Machine<'l> {
    pub(super) fn step(&mut self, instruction: &'l Instruction) -> Step {
        let out = instruction.out;
        let result = match &instruction.code {
            Code::ProgramId(axis) => Cell::int(self.pid[*axis as usize].into()),
            Code::NumPrograms(axis) => Cell::int(self.launch.grid[*axis as usize].into()),
            Code::Argument(index) => self.argument(*index),
            Code::Constant(Literal::Int(v), elem) => Cell::int(if *elem == Elem::I1 { v & 1 } else { *v }),
            Code::Constant(Literal::Float(v), elem) => Cell::float(round_scalar(*elem, *v)),
            Code::Range(start, end) => {
                let n = (end - start).max(0) as usize;
                if self.tape.lazy {
                    Cell::Ints(IntBlock::affine(n, (*start).into(), 1))
                } else {
                    Cell::Ints(IntBlock::dense(Layout::line(n), (i64::from(*start)..i64::from(*end)).collect(), None))
                }
            }
            Code::Int(op, elem, a, b) => {
                self.vacate(out);
                int::binary(*op, *elem, self.state.cells.get(*a), self.state.cells.get(*b), &mut self.pool)
            }
            Code::Float(op, elem, a, b) => {
                self.vacate(out);
                float::binary(*op, *elem, self.state.cells.get(*a), self.state.cells.get(*b), &mut self.pool)
            }
            Code::Unary(f, elem, a) => {
                self.vacate(out);
                float::unary(*f, *elem, self.state.cells.get(*a), &mut self.pool)
            }
            Code::Fma(elem, a, b, c) => {
                self.vacate(out);
                let cells = &self.state.cells;
                float::fma(*elem, cells.get(*a), cells.get(*b), cells.get(*c), &mut self.pool)
            }
            Code::CompareInt(p, elem, a, b) => {
                self.vacate(out);
                compare::ints(*p, *elem, self.state.cells.get(*a), self.state.cells.get(*b), &mut self.pool)
            }
            Code::CompareFloat(p, elem, a, b) => {
                self.vacate(out);
                compare::floats(*p, *elem, self.state.cells.get(*a), self.state.cells.get(*b), &mut self.pool)
            }
            Code::Select(elem, c, a, b) => {
                self.vacate(out);
                let cells = &self.state.cells;
                match compare::select(cells.get(*c), cells.get(*a), cells.get(*b), *elem, &mut self.pool) {
                    Ok(cell) => cell,
                    Err(what) => return self.unsupported(what, instruction),
                }
            }
            Code::Cast(_, Elem::Ptr(_), to, a) | Code::Cast(_, Elem::I64, to @ Elem::Ptr(_), a) => self.cast_pointer(*a, *to),
            Code::Cast(kind, from, to, a) => {
                self.vacate(out);
                match cast::cast(*kind, *from, *to, self.state.cells.get(*a), &mut self.pool) {
                    Ok(cell) => cell,
                    Err(what) => return self.unsupported(what, instruction),
                }
            }
            Code::AddPtr(ptr, offset, elem) => self.add_ptr(*ptr, *offset, *elem),
            Code::Splat(a, elem, shape) => shape::materialise(self.state.cells.get(*a), *elem, shape, &mut self.pool),
            Code::ExpandDims(a, axis) => {
                let cell = self.state.cells.get(*a);
                match cell.layout() {
                    Some(layout) => cell.with_layout(layout.expanded(*axis), &mut self.pool),
                    None => cell.clone(),
                }
            }
            Code::Broadcast(a, to) => {
                let cell = self.state.cells.get(*a);
                match cell.layout() {
                    Some(layout) => cell.with_layout(layout.broadcast(to), &mut self.pool),
                    None => cell.clone(),
                }
            }
            Code::Trans(a, order) => {
                let cell = self.state.cells.get(*a);
                match cell.layout() {
                    Some(layout) => cell.with_layout(layout.permuted(order), &mut self.pool),
                    None => cell.clone(),
                }
            }
            Code::Reshape(a, to) => shape::reshape(self.state.cells.get(*a), to, &mut self.pool),
            Code::Materialise(sum, elem, to) => self.materialise(sum, *elem, to),
            Code::Conjunction(mask, to) => self.conjunction(mask, to),
            Code::OnlyLane(a) => only_lane(self.cell(*a)),
            Code::Guard(sum, elem) => return self.guard(sum, *elem),
            Code::Guards(guards) => return self.guards(guards),
            Code::LoadTile(load) => {
                self.vacate(out);
                self.load_tile(load, instruction)?
            }
            Code::StoreTile(tile, value, elem) => return self.store_tile(tile, *value, *elem),
            Code::LoadLanes(ptr, mask, other, elem, to) => {
                self.vacate(out);
                self.load_lanes(*ptr, *mask, *other, *elem, to, instruction)?
            }
            Code::StoreLanes(ptr, value, mask, elem, to) => {
                return self.store_lanes(*ptr, *value, *mask, *elem, to, instruction);
            }
            Code::Dot(dot) => self.dot(dot, instruction)?,
            Code::Reduce(reduce) => return self.reduce(reduce),
            Code::Atomic(atomic) => {
                self.vacate(out);
                self.atomic(atomic, instruction)?
            }
            Code::Barrier => {
                self.talk.phase += 1;
                return Ok(());
            }
            Code::Assume(condition) => return self.assume(*condition, instruction),
            Code::Hint(value, hint, shape) => return self.hint(*value, hint, shape, instruction),
            Code::Yield(patience) => return self.end_of_turn(*patience),
            Code::Scan(scan) => return self.scan(scan),
            Code::Whole(whole) => self.whole(whole, instruction)?,
            Code::Asm(asm) => return self.inline_asm(asm, instruction),
            Code::Assert(condition, message) => return self.assert(*condition, message, instruction),
            Code::Move(from, take) => {
                let taken = if *take { self.state.cells.take(*from) } else { None };
                taken.unwrap_or_else(|| self.cell(*from).clone())
            }
            Code::Jump(to) => {
                self.state.pc = *to;
                return Ok(());
            }
            Code::BranchUnless(condition, to) => {
                if self.scalar(*condition, "a branch", instruction)? == 0 {
                    self.state.pc = *to;
                }
                return Ok(());
            }
            Code::LoopStart { variable, lower } => {
                let lower = self.scalar(*lower, "the bounds of a loop", instruction)?;
                self.set(*variable, Cell::int(lower));
                Cell::int(0)
            }
            Code::LoopTest { variable, upper, step, exit } => {
                let upper = self.scalar(*upper, "the bounds of a loop", instruction)?;
                let step = self.scalar(*step, "the step of a loop", instruction)?;
                let at = self.scalar(*variable, "a loop", instruction)?;
                if step <= 0 || at >= upper {
                    self.state.pc = *exit;
                }
                return Ok(());
            }
            Code::LoopNext { variable, step, test } => {
                let step = self.scalar(*step, "the step of a loop", instruction)?;
                let at = self.scalar(*variable, "a loop", instruction)?;
                let count = self.scalar(out, "a loop", instruction)?;
                // Numbers both, which nothing watches: an iteration of small tiles is short enough to feel more.
                *self.state.cells.place(*variable) = Cell::int(at.saturating_add(step));
                *self.state.cells.place(out) = Cell::int(count + 1);
                self.state.pc = *test;
                return Ok(());
            }
            Code::TableRow { table, counter, variable, start } => {
                return self.table_row(*table, *counter, *variable, *start, instruction);
            }
            Code::Return => return Ok(()),
        };
        self.set(out, result);
        if self.pool.held > self.launch.memory {
            // The pool's account misses what was dropped elsewhere: count before complaining.
            self.pool.held = self.state.cells.bytes() + self.pool.free_bytes();
            if self.pool.held > self.launch.memory {
                return Err(Stop::Fault(check::fuel::memory(self, instruction)));
            }
        }
        Ok(())
    }

    fn argument(&self, index: usize) -> Cell {
        match &self.launch.args[index] {
            Arg::Int(value) => Cell::int(*value),
            Arg::Float(value) => {
                let elem = self.launch.program.kernel.ty(self.launch.program.kernel.params[index].value).elem;
                Cell::float(round_scalar(elem, *value))
            }
            Arg::Pointer(view) => Cell::Ptr(Pointer { arg: index as u32, offset: view.pointer as i64, taint: 0 }),
        }
    }

    /// A scalar that decides where the program goes.
    fn scalar(&self, slot: Slot, what: &str, at: &Instruction) -> Step<i64> {
        match self.cell(slot) {
            Cell::Int(s) if s.taint == 0 => Ok(s.value),
            Cell::Int(s) => {
                if check::poison::matters(self.launch.checks, s.taint) {
                    self.stop(|| check::poison::in_branch(self, s.taint, what, at))
                } else {
                    Ok(s.value)
                }
            }
            other @ (Cell::Empty
            | Cell::Float(_)
            | Cell::Ptr(_)
            | Cell::Ints(_)
            | Cell::Mask(_)
            | Cell::Floats(_)
            | Cell::Ptrs(_)) => misfit(other, "one integer"),
        }
    }

    fn assert(&self, condition: Slot, message: &str, at: &Instruction) -> Step {
        let cell = self.cell(condition);
        let fails = match cell {
            Cell::Int(s) => s.value == 0,
            Cell::Mask(block) => block.values().contains(&0),
            other => misfit(other, "a condition"),
        };
        let flags = cell.taints().iter().flat_map(|t| t.iter()).fold(cell.scalar_taint(), |all, flag| all | flag);
        if check::poison::matters(self.launch.checks, flags) {
            return self.stop(|| check::poison::in_branch(self, flags, "an assertion", at));
        }
        if fails && self.launch.checks.asserts {
            return self.stop(|| self.message(&codes::ASSERT_FAILED, format!("assertion failed: {message}"), at));
        }
        Ok(())
    }

    fn assume(&self, condition: Slot, at: &Instruction) -> Step {
        let holds = self.scalar(condition, "an assumption", at)?;
        if holds == 0 && self.launch.checks.assumptions {
            return self.stop(|| check::hint::assumed(self, at));
        }
        Ok(())
    }

    fn hint(&mut self, value: Slot, hint: &Hint, shape: &[usize], at: &Instruction) -> Step {
        if !self.launch.checks.hints {
            return Ok(());
        }
        let cell = self.state.cells.get(value);
        let (start, size) = match cell {
            Cell::Ptr(Pointer { arg, .. }) | Cell::Ptrs(PtrBlock { arg, .. }) => self.origin(*arg),
            _ => (0, 1),
        };
        let lanes = check::hint::Lanes::new(cell, shape, start, size);
        match check::hint::broken(&lanes, hint) {
            None => Ok(()),
            Some(broken) => self.stop(|| check::hint::explain(self, hint, &broken, at)),
        }
    }

    fn table_row(&mut self, table: usize, counter: Slot, variable: Slot, start: usize, at: &Instruction) -> Step {
        let row = self.scalar(counter, "a loop", at)? as usize;
        let value = self.cell(variable).clone();
        if self.state.cells.enter_row(table, row) {
            self.set(Slot::table(table, 0), value);
            let back = std::mem::replace(&mut self.state.pc, start);
            self.resume()?;
            self.state.pc = back;
            self.state.cells.keep_row(table);
        }
        Ok(())
    }
}
