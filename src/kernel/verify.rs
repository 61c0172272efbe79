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

use std::ops::Deref;

use super::ir::{Block, BlockId, CastKind, Elem, FloatBinary, Inst, InstKind, Kernel, Literal, Region, Terminator, Type, Value};
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

    fn inst(&mut self, inst: &Inst) -> Check {
        let span = inst.span;
        let result_types: Vec<Type> = inst.results.iter().map(|&r| self.ty(r).clone()).collect();
        let results = |count: usize| {
            check(result_types.len() == count, span, || format!("{} results instead of {count}", result_types.len()))
        };
        let is = |ty: &Type| {
            results(1)?;
            check(result_types[0] == *ty, span, || format!("the result is {} instead of {ty}", result_types[0]))
        };
        match &inst.kind {
            InstKind::ProgramId { axis } | InstKind::NumPrograms { axis } => {
                check(*axis < 3, span, || format!("grid axis {axis}"))?;
                is(&Type::scalar(Elem::I32))
            }
            InstKind::Constant(literal) => {
                results(1)?;
                let elem = result_types[0].elem;
                let fits = match literal {
                    Literal::Int(int) => elem.is_integer() && super::lower::wrap(*int, elem) == *int,
                    Literal::Float(_) => elem.is_float(),
                };
                check(fits, span, || format!("the constant {literal:?} is no {elem}"))
            }
            InstKind::MakeRange { start, end } => {
                let size = i64::from(*end) - i64::from(*start);
                check(size > 0, span, || format!("an empty range {start} to {end}"))?;
                is(&Type::block(Elem::I32, &[size as usize]))
            }
            InstKind::Splat(v) => {
                results(1)?;
                check(self.ty(*v).is_scalar() && !result_types[0].is_scalar(), span, || {
                    "splat takes a scalar to a block".to_owned()
                })?;
                is(&result_types[0].with_elem(self.ty(*v).elem))
            }
            InstKind::ExpandDims { value, axis } => {
                let mut ty = self.ty(*value).clone();
                check(!ty.is_scalar() && *axis as usize <= ty.shape.len(), span, || format!("expand_dims of {ty} at {axis}"))?;
                ty.shape.insert(*axis as usize, 1);
                is(&ty)
            }
            InstKind::Broadcast(v) => {
                results(1)?;
                let from = self.ty(*v);
                let grows = from.shape.len() == result_types[0].shape.len()
                    && !from.is_scalar()
                    && from.elem == result_types[0].elem
                    && from.shape.iter().zip(&result_types[0].shape).all(|(&a, &b)| a == b || a == 1);
                check(grows, span, || format!("a broadcast of {from} to {}", result_types[0]))
            }
            InstKind::Trans { value, order } => {
                let from = self.ty(*value);
                let mut sorted: Vec<usize> = order.iter().map(|&axis| axis as usize).collect();
                sorted.sort_unstable();
                let whole = sorted == (0..from.shape.len()).collect::<Vec<_>>();
                check(whole && !from.is_scalar(), span, || format!("trans of {from} in the order {order:?}"))?;
                is(&Type { elem: from.elem, shape: order.iter().map(|&axis| from.shape[axis as usize]).collect() })
            }
            InstKind::Reshape(v) => {
                results(1)?;
                let from = self.ty(*v);
                let fits = from.numel() == result_types[0].numel()
                    && from.elem == result_types[0].elem
                    && from.is_scalar() == result_types[0].is_scalar();
                check(fits, span, || format!("a reshape of {from} to {}", result_types[0]))
            }
            InstKind::AddPtr { ptr, offset } => {
                let (p, o) = (self.ty(*ptr), self.ty(*offset));
                let fits = matches!(p.elem, Elem::Ptr(_)) && o.elem.is_integer() && p.shape == o.shape;
                check(fits, span, || format!("addptr of {p} and {o}"))?;
                is(p)
            }
            InstKind::Load { ptr, mask, other } => {
                let element = self.pointee(*ptr, span)?;
                self.mask(*ptr, *mask, span)?;
                if let Some(other) = other {
                    check(mask.is_some(), span, || "`other` without a mask".to_owned())?;
                    check(*self.ty(*other) == element, span, || format!("`other` is {} instead of {element}", self.ty(*other)))?;
                }
                is(&element)
            }
            InstKind::Store { ptr, value, mask } => {
                let element = self.pointee(*ptr, span)?;
                self.mask(*ptr, *mask, span)?;
                check(*self.ty(*value) == element, span, || format!("a store of {} as {element}", self.ty(*value)))?;
                results(0)
            }
            InstKind::Int(_, a, b) => {
                let (x, y) = (self.ty(*a), self.ty(*b));
                check(x == y && x.elem.is_integer(), span, || format!("integer arithmetic on {x} and {y}"))?;
                is(x)
            }
            InstKind::Float(op, a, b) => {
                let (x, y) = (self.ty(*a), self.ty(*b));
                check(x == y && x.elem.is_float(), span, || format!("float arithmetic on {x} and {y}"))?;
                let fp8 = matches!(x.elem, Elem::F8E4M3 | Elem::F8E5M2);
                check(!fp8 || *op != FloatBinary::Rem, span, || format!("a remainder of {x}"))?;
                is(x)
            }
            InstKind::Unary(_, v) => {
                let x = self.ty(*v);
                check(x.elem.is_float(), span, || format!("a float function of {x}"))?;
                is(x)
            }
            InstKind::Fma(a, b, c) => {
                let x = self.ty(*a);
                check(x.elem.is_float() && self.ty(*b) == x && self.ty(*c) == x, span, || {
                    "operands of fma differ in type".to_owned()
                })?;
                is(x)
            }
            InstKind::CompareInt(_, a, b) => {
                let (x, y) = (self.ty(*a), self.ty(*b));
                check(x == y && x.elem.is_integer(), span, || format!("an integer comparison of {x} and {y}"))?;
                is(&x.with_elem(Elem::I1))
            }
            InstKind::CompareFloat(_, a, b) => {
                let (x, y) = (self.ty(*a), self.ty(*b));
                check(x == y && x.elem.is_float(), span, || format!("a float comparison of {x} and {y}"))?;
                is(&x.with_elem(Elem::I1))
            }
            InstKind::Select { condition, then, other } => {
                let (c, x, y) = (self.ty(*condition), self.ty(*then), self.ty(*other));
                check(c.elem == Elem::I1 && (c.is_scalar() || c.shape == x.shape), span, || format!("a select of {x} by {c}"))?;
                check(x == y, span, || format!("a select of {x} and {y}"))?;
                is(x)
            }
            InstKind::Cast(kind, v) => {
                results(1)?;
                self.cast(*kind, self.ty(*v), &result_types[0], span)
            }
            InstKind::Dot { a, b, acc, precision: _ } => {
                let (x, y, z) = (self.ty(*a), self.ty(*b), self.ty(*acc));
                let fits = x.shape.len() == 2 && y.shape.len() == 2 && x.shape[1] == y.shape[0];
                check(fits, span, || format!("a dot of {x} and {y}"))?;
                check(z.shape.as_slice() == [x.shape[0], y.shape[1]], span, || format!("an accumulator of {z}"))?;
                let arithmetic = x.elem.is_float() == z.elem.is_float() && x.elem.is_float() == y.elem.is_float();
                check(arithmetic && x.elem.bits() == y.elem.bits(), span, || format!("a dot of {x} and {y} into {z}"))?;
                is(z)
            }
            InstKind::Reduce { operands, axis, combine } => {
                let Some(first) = operands.first() else { return Err((span, "a reduction of nothing".to_owned())) };
                let shape = self.ty(*first).shape.clone();
                check((*axis as usize) < shape.len(), span, || format!("a reduction of {} along {axis}", self.ty(*first)))?;
                let mut rest = shape.clone();
                rest.remove(*axis as usize);
                results(operands.len())?;
                let mut lanes = Vec::new();
                for (&operand, result) in operands.iter().zip(&result_types) {
                    let ty = self.ty(operand);
                    check(ty.shape == shape, span, || "operands of a reduction differ in shape".to_owned())?;
                    let want = Type { elem: ty.elem, shape: rest.clone() };
                    check(*result == want, span, || format!("a reduction gives {result} instead of {want}"))?;
                    lanes.push(Type::scalar(ty.elem));
                }
                let mut effects = false;
                walk::each_inst(&combine.insts, &mut |inst| {
                    effects |= matches!(
                        inst.kind,
                        InstKind::Store { ptr: _, value: _, mask: _ }
                            | InstKind::Load { ptr: _, mask: _, other: _ }
                            | InstKind::Assert { condition: _, message: _ }
                    );
                });
                check(!effects, span, || "a combine function with memory accesses or assertions".to_owned())?;
                let args = [lanes.clone(), lanes.clone()].concat();
                self.region(combine, &args, &lanes, span)
            }
            InstKind::For { lower, upper, step, init, body } => {
                let counter = self.ty(*lower).clone();
                let integer = counter.is_scalar() && counter.elem.is_integer();
                check(integer && *self.ty(*upper) == counter && *self.ty(*step) == counter, span, || {
                    format!("loop bounds of {counter}, {} and {}", self.ty(*upper), self.ty(*step))
                })?;
                let carried: Vec<Type> = init.iter().map(|&v| self.ty(v).clone()).collect();
                check(carried == result_types, span, || "a loop's results differ from its initial values in type".to_owned())?;
                let mut args = vec![counter];
                args.extend(carried.iter().cloned());
                self.region(body, &args, &carried, span)
            }
            InstKind::If { condition, then, otherwise } => {
                check(*self.ty(*condition) == Type::scalar(Elem::I1), span, || "an if on something other than an i1".to_owned())?;
                self.region(then, &[], &result_types, span)?;
                self.region(otherwise, &[], &result_types, span)
            }
            InstKind::While { init, before, after } => {
                let carried: Vec<Type> = init.iter().map(|&v| self.ty(v).clone()).collect();
                let mut yields = vec![Type::scalar(Elem::I1)];
                yields.extend(result_types.iter().cloned());
                self.region(before, &carried, &yields, span)?;
                self.region(after, &result_types, &carried, span)
            }
            InstKind::Assert { condition, message: _ } => {
                check(self.ty(*condition).elem == Elem::I1, span, || format!("an assertion of {}", self.ty(*condition)))?;
                results(0)
            }
        }
    }

    /// What a pointer points at, in the pointer's shape.
    fn pointee(&self, ptr: Value, span: Span) -> std::result::Result<Type, (Span, String)> {
        let ty = self.ty(ptr);
        match ty.elem {
            Elem::Ptr(to) => Ok(ty.with_elem(Elem::of(to))),
            _ => Err((span, format!("a memory access through {ty}"))),
        }
    }

    fn mask(&self, ptr: Value, mask: Option<Value>, span: Span) -> Check {
        let Some(mask) = mask else { return Ok(()) };
        let want = self.ty(ptr).with_elem(Elem::I1);
        check(*self.ty(mask) == want, span, || format!("a mask of {} instead of {want}", self.ty(mask)))
    }

    fn cast(&self, kind: CastKind, from: &Type, to: &Type, span: Span) -> Check {
        let (a, b) = (from.elem, to.elem);
        let narrower = b.bits() < a.bits();
        let wider = b.bits() > a.bits();
        let fits = match kind {
            CastKind::Trunc => a.is_integer() && b.is_integer() && narrower,
            CastKind::ExtS | CastKind::ExtU => a.is_integer() && b.is_integer() && wider,
            CastKind::IntToFloatS | CastKind::IntToFloatU => a.is_integer() && b.is_float(),
            CastKind::FloatToIntS | CastKind::FloatToIntU => a.is_float() && b.is_integer(),
            CastKind::FloatExt => a.is_float() && b.is_float() && wider,
            CastKind::FloatTrunc => a.is_float() && b.is_float() && a != b && !wider,
            CastKind::Bitcast => a != b && a.bits() == b.bits() && matches!(a, Elem::Ptr(_)) == matches!(b, Elem::Ptr(_)),
        };
        check(fits && from.shape == to.shape, span, || format!("a {kind:?} of {from} to {to}"))
    }
}

fn successors(terminator: &Terminator) -> Vec<BlockId> {
    match terminator {
        Terminator::Return => Vec::new(),
        Terminator::Branch { to, args: _ } => vec![*to],
        Terminator::CondBranch { condition: _, then, otherwise } => vec![then.0, otherwise.0],
    }
}
