//! Checks every invariant of the IR and hands out [`Verified`], which later stages take.
//!
//! # Invariants
//! * Every value is defined once: by a parameter, a block argument, a region argument or an
//!   instruction; its index lies in `values`.
//! * A use is dominated by its definition: within a block and its regions by order, across top-level
//!   blocks along every path; what a region defines is not seen outside it.
//! * There is an entry block, without arguments; branches go to blocks other than the entry and pass
//!   one value of the right type for each argument.
//! * Block sizes are positive, elements fit their operations: integer operations take integers, float
//!   operations floats, `addptr` a pointer and an integer of one shape, conditions are i1 scalars.
//! * Operands and results have the types that each operation demands: the same type for arithmetic,
//!   pointee types for loads and stores, i1 masks of the pointer's shape, `[m, k] × [k, n] + [m, n]`
//!   for a dot.
//! * Casts go in their direction: `trunc` narrows (a float one may change the format at one width), `ext`
//!   widens, `bitcast` keeps the width.
//! * Regions have the arguments and yields of their instruction: `for` the counter and the carried
//!   values, `if` the results, `while` the carried values and a condition, `reduce` two lanes an
//!   operand and one yield an operand; a `reduce` region has no effects.
//!
//! Does not check: that a loop ends, that an address is valid, that a divisor is not zero. Those are
//! facts of a run.

mod blocks;
mod types;

use std::ops::Deref;

use super::ir::{Block, BlockId, Elem, Inst, Kernel, Region, Terminator, Type, Value};
use super::walk;
use crate::diag::{Diagnostic, Result, codes};
use crate::source::Span;

/// Data that has been verified; only [`verify`] makes it.
#[derive(Clone, Debug)]
pub struct Verified<T>(T);

impl<T> Verified<T> {
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Verified<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Checks a kernel; a violation is K005 at the instruction.
pub fn verify(kernel: Kernel) -> Result<Verified<Kernel>> {
    let outcome = Verifier { kernel: &kernel, state: vec![State::Undefined; kernel.values.len()], scope: Vec::new() }.kernel();
    match outcome {
        Ok(()) => Ok(Verified(kernel)),
        Err((span, message)) => Err(Box::new(
            Diagnostic::new(&codes::IR_INVALID, message).at(&kernel.source, span).note(format!("kernel: {}", kernel.name)),
        )),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Undefined,
    Visible,
    /// Defined, but in a region that has ended or a block that does not dominate.
    Hidden,
}

type Check = std::result::Result<(), (Span, String)>;

struct Verifier<'k> {
    kernel: &'k Kernel,
    state: Vec<State>,
    /// What was defined since the current block or region began.
    scope: Vec<Value>,
}

fn check(holds: bool, span: Span, message: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err((span, message())) }
}

impl Verifier<'_> {
    fn kernel(&mut self) -> Check {
        let kernel = self.kernel;
        let start = Span::default();
        for data in &kernel.values {
            check(!data.ty.shape.contains(&0), start, || format!("a block of size zero: {}", data.ty))?;
        }
        for param in &kernel.params {
            self.define(param.value, param.span)?;
            check(kernel.ty(param.value).is_scalar(), param.span, || format!("parameter `{}` is a block", param.name))?;
        }
        let params = std::mem::take(&mut self.scope);
        check(!kernel.blocks.is_empty(), start, || "no blocks".to_owned())?;
        check(kernel.blocks[0].args.is_empty(), start, || "the entry block takes arguments".to_owned())?;

        let dominators = self.dominators()?;
        let mut defined: Vec<Vec<Value>> = Vec::with_capacity(kernel.blocks.len());
        // Definitions first, so that a block may be used before its place in the list.
        for (i, block) in kernel.blocks.iter().enumerate() {
            for (other, values) in defined.iter().enumerate() {
                let state = if dominators[i].contains(&other) { State::Visible } else { State::Hidden };
                values.iter().for_each(|v| self.state[v.0 as usize] = state);
            }
            self.block(block)?;
            defined.push(std::mem::take(&mut self.scope));
        }
        self.scope = params;
        Ok(())
    }

    /// For every block, the blocks before it in the list on every path from the entry. A dominator
    /// that comes later in the list than the block it dominates is not supported.
    fn dominators(&self) -> std::result::Result<Vec<Vec<usize>>, (Span, String)> {
        let blocks = &self.kernel.blocks;
        let count = blocks.len();
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (i, block) in blocks.iter().enumerate() {
            for to in successors(&block.terminator) {
                let at = to.0 as usize;
                let span = block.insts.last().map_or(Span::default(), |inst| inst.span);
                check(at > 0 && at < count, span, || format!("a branch to block {at} of {count}"))?;
                before[at].push(i);
            }
        }
        let all: Vec<usize> = (0..count).collect();
        let mut dominators: Vec<Vec<usize>> = vec![all; count];
        dominators[0] = vec![0];
        let mut changed = true;
        while changed {
            changed = false;
            for i in 1..count {
                let mut next: Option<Vec<usize>> = None;
                for &p in &before[i] {
                    next = Some(match next {
                        None => dominators[p].clone(),
                        Some(set) => set.into_iter().filter(|d| dominators[p].contains(d)).collect(),
                    });
                }
                let mut next = next.unwrap_or_default();
                if !next.contains(&i) {
                    next.push(i);
                }
                next.sort_unstable();
                if next != dominators[i] {
                    dominators[i] = next;
                    changed = true;
                }
            }
        }
        Ok(dominators)
    }

    fn define(&mut self, value: Value, span: Span) -> Check {
        let at = value.0 as usize;
        check(at < self.state.len(), span, || format!("value {at} is not in the table"))?;
        check(self.state[at] == State::Undefined, span, || format!("value {at} is defined twice"))?;
        self.state[at] = State::Visible;
        self.scope.push(value);
        Ok(())
    }

    fn use_value(&self, value: Value, span: Span) -> Check {
        let at = value.0 as usize;
        check(at < self.state.len(), span, || format!("value {at} is not in the table"))?;
        let name = self.kernel.value_name(value).map_or_else(|| format!("value {at}"), |name| format!("`{name}`"));
        match self.state[at] {
            State::Visible => Ok(()),
            State::Hidden => Err((span, format!("{name} is used where its definition does not reach"))),
            State::Undefined => Err((span, format!("{name} is used before its definition"))),
        }
    }

    fn ty(&self, value: Value) -> &Type {
        self.kernel.ty(value)
    }

    fn block(&mut self, block: &Block) -> Check {
        let span = block.insts.last().map_or(Span::default(), |inst| inst.span);
        for &arg in &block.args {
            self.define(arg, span)?;
        }
        self.insts(&block.insts)?;
        match &block.terminator {
            Terminator::Return => Ok(()),
            Terminator::Branch { to, args } => self.branch(*to, args, span),
            Terminator::CondBranch { condition, then, otherwise } => {
                self.use_value(*condition, span)?;
                check(*self.ty(*condition) == Type::scalar(Elem::I1), span, || {
                    "a branch on something other than an i1".to_owned()
                })?;
                self.branch(then.0, &then.1, span)?;
                self.branch(otherwise.0, &otherwise.1, span)
            }
        }
    }

    fn branch(&self, to: BlockId, args: &[Value], span: Span) -> Check {
        let params = &self.kernel.blocks[to.0 as usize].args;
        check(params.len() == args.len(), span, || {
            format!("a branch passes {} values to a block that takes {}", args.len(), params.len())
        })?;
        for (&arg, &param) in args.iter().zip(params) {
            self.use_value(arg, span)?;
            check(self.ty(arg) == self.ty(param), span, || {
                format!("a branch passes {} where {} is taken", self.ty(arg), self.ty(param))
            })?;
        }
        Ok(())
    }

    fn insts(&mut self, insts: &[Inst]) -> Check {
        for inst in insts {
            for operand in walk::operands(&inst.kind) {
                self.use_value(operand, inst.span)?;
            }
            self.inst(inst)?;
            for &result in &inst.results {
                self.define(result, inst.span)?;
            }
        }
        Ok(())
    }

    /// A region: its arguments have given types, its yields too; what it defines is gone afterwards.
    fn region(&mut self, region: &Region, args: &[Type], yields: &[Type], span: Span) -> Check {
        check(region.args.len() == args.len(), span, || {
            format!("a region takes {} arguments instead of {}", region.args.len(), args.len())
        })?;
        let outer = std::mem::take(&mut self.scope);
        for (&arg, ty) in region.args.iter().zip(args) {
            self.define(arg, span)?;
            check(self.ty(arg) == ty, span, || format!("a region's argument is {} instead of {ty}", self.ty(arg)))?;
        }
        self.insts(&region.insts)?;
        check(region.yields.len() == yields.len(), span, || {
            format!("a region yields {} values instead of {}", region.yields.len(), yields.len())
        })?;
        for (&value, ty) in region.yields.iter().zip(yields) {
            self.use_value(value, span)?;
            check(self.ty(value) == ty, span, || format!("a region yields {} instead of {ty}", self.ty(value)))?;
        }
        for value in std::mem::replace(&mut self.scope, outer) {
            self.state[value.0 as usize] = State::Hidden;
        }
        Ok(())
    }
}

fn successors(terminator: &Terminator) -> Vec<BlockId> {
    match terminator {
        Terminator::Return => Vec::new(),
        Terminator::Branch { to, args: _ } => vec![*to],
        Terminator::CondBranch { condition: _, then, otherwise } => vec![then.0, otherwise.0],
    }
}
