//! From kernel IR to tapes: one visit of every instruction, then the streams laid out flat.
//!
//! Loop-carried values start as *invariant*: the body is built as if nothing changed. What the body
//! then yields differently (a pointer's base, an accumulator) becomes a cell of its own and the body
//! is built again, until nothing new differs; a carried pointer block thus stays a sum whose terms
//! are hoisted and whose base alone moves. Each round only adds variant parts, so it ends.

mod contract;
mod control;
pub mod flat;
mod flatten;
mod guards;
mod memory;
mod patterns;
mod whole;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use smallvec::SmallVec;

use flatten::Layout;
use patterns::{count_uses, defer_loads, find_swaps, fold_dots};

use super::place::{Handover, Item, LAUNCH, PROGRAM, Placer, StreamId, StreamKind, reads};
use super::provenance::Uses;
use super::split::Form;
use super::whole::WholeOp;
use super::{
    Atomic, AtomicKind, Code, Combine, Conjunct, Dot, DotOperand, Guards, Instruction, Known, Lasting, LoadTile, Program, Reduce,
    Scan, Slot, Sum, Tape, Tile,
};
use crate::diag::{self, Diagnostic, codes};
use crate::emulate::value::layout::MAX_RANK;
use crate::kernel::Verified;
use crate::kernel::ir::{
    DotPrecision, Elem, FloatBinary, Inst, InstKind, IntBinary, Kernel, Literal, MemoryOrder, Region, Terminator, Value,
};
use crate::kernel::passes::Version;
use crate::kernel::walk;
use crate::source::Span;

impl Program {
    /// Compiles a kernel: a fraction of a millisecond.
    ///
    /// # Errors
    /// [`codes::KERNEL_UNSUPPORTED`] names what the emulator does not offer, at its place; what
    /// [`combine`](crate::kernel::passes::combine) says.
    pub fn compile(kernel: &Verified<Kernel>) -> diag::Result<Program> {
        Program::compile_as(kernel, Version::default())
    }

    /// The same for the Triton that is meant.
    ///
    /// # Errors
    /// As `compile`.
    pub fn compile_as(kernel: &Verified<Kernel>, triton: Version) -> diag::Result<Program> {
        let mut kernel = Kernel::clone(kernel);
        crate::kernel::passes::negations(&mut kernel, triton);
        crate::kernel::passes::combine(&mut kernel, triton)?;
        let kernel = Arc::new(kernel);
        let uses = super::provenance::uses(&kernel);
        let lazy = Builder::new(&kernel, &uses, true).build()?;
        let dense = Builder::new(&kernel, &uses, false).build()?;
        let (loads, stores) = (uses.loads(), uses.stores());
        Ok(Program { kernel, lazy, dense, loads, stores, uses })
    }
}

#[derive(Clone)]
pub struct Builder<'k> {
    pub kernel: &'k Kernel,
    uses: &'k Uses,
    pub place: Placer,
    forms: HashMap<Value, Form>,
    /// Integer constants by cell.
    pub constants: HashMap<Slot, i64>,
    /// Loads that their only user, a dot, makes itself.
    deferred: HashSet<Value>,
    /// Dots on a zero accumulator whose only user is a sum: that sum makes them.
    folded: HashMap<Value, &'k Inst>,
    /// Values that something uses.
    used: HashSet<Value>,
    /// `x ^ xor_sum(x)` along an axis of size 2, which exchanges its halves: by result, the axis.
    swaps: HashMap<Value, usize>,
    /// Parts of such a pattern that nothing else reads.
    skipped: HashSet<Value>,
    combines: Vec<StreamId>,
    carried: HashMap<Slot, StreamId>,
    /// Tiles so far.
    tiles: usize,
    /// Joined guards so far.
    guards: usize,
}

impl<'k> Builder<'k> {
    fn new(kernel: &'k Kernel, uses: &'k Uses, lazy: bool) -> Builder<'k> {
        let mut builder = Builder {
            kernel,
            uses,
            place: Placer::new(lazy),
            forms: HashMap::new(),
            constants: HashMap::new(),
            deferred: HashSet::new(),
            folded: HashMap::new(),
            used: HashSet::new(),
            swaps: HashMap::new(),
            skipped: HashSet::new(),
            combines: Vec::new(),
            carried: HashMap::new(),
            tiles: 0,
            guards: 0,
        };
        let mut uses = HashMap::new();
        for block in &kernel.blocks {
            count_uses(&block.insts, &mut uses);
        }
        for block in &kernel.blocks {
            walk::terminator_operands(&block.terminator, |v| {
                builder.used.insert(v);
            });
        }
        builder.used.extend(uses.keys());
        let mut zeros = HashSet::new();
        for block in &kernel.blocks {
            fold_dots(&block.insts, &uses, &mut zeros, &mut builder.folded);
            find_swaps(kernel, &block.insts, &uses, &mut builder.swaps, &mut builder.skipped);
            if lazy {
                defer_loads(&block.insts, &uses, &mut builder.deferred);
            }
        }
        builder
    }

    fn build(mut self) -> diag::Result<Tape> {
        let kernel = self.kernel;
        for (index, param) in kernel.params.iter().enumerate() {
            let slot = self.place.pure(Code::Argument(index), true, param.span);
            self.forms.insert(param.value, Form::Cell(slot));
            self.hints(param.value);
        }
        let mut streams = vec![PROGRAM];
        for block in &kernel.blocks[1..] {
            let stream = self.place.open(StreamKind::Guarded, PROGRAM);
            for &arg in &block.args {
                let slot = self.place.local(stream, kernel.ty(arg).is_scalar());
                self.forms.insert(arg, Form::Cell(slot));
            }
            streams.push(stream);
        }
        let mut exits = Vec::new();
        for (block, &stream) in kernel.blocks.iter().zip(&streams) {
            self.place.current = stream;
            block.args.iter().for_each(|&arg| self.hints(arg));
            self.insts(&block.insts)?;
            exits.push(match &block.terminator {
                Terminator::Return => (None, Vec::new()),
                Terminator::Branch { to, args } => {
                    (None, vec![(to.0 as usize, self.hand_over(&kernel.blocks[to.0 as usize].args, args))])
                }
                Terminator::CondBranch { condition, then, otherwise } => {
                    let condition = self.cell(*condition);
                    let both = [then, otherwise]
                        .map(|(to, args)| (to.0 as usize, self.hand_over(&kernel.blocks[to.0 as usize].args, args)));
                    (Some(condition), both.into())
                }
            });
        }
        let names = if self.place.lazy { Vec::new() } else { self.names() };
        let mut tape = Layout::new(self.place, self.carried).flatten(&streams, exits);
        tape.names = names;
        Ok(tape)
    }

    /// The cells of values that the kernel's text names.
    fn names(&self) -> Vec<(Slot, Value)> {
        let named = (0..self.kernel.values.len() as u32).map(Value).filter(|v| self.kernel.values[v.0 as usize].name.is_some());
        let cell = |value: Value| match self.forms.get(&value) {
            Some(Form::Cell(slot)) => Some((*slot, value)),
            Some(Form::Sum(_) | Form::Mask(_) | Form::Load(..)) | None => None,
        };
        named.filter_map(cell).collect()
    }

    fn hand_over(&mut self, to: &[Value], from: &[Value]) -> Vec<Handover> {
        to.iter().zip(from).map(|(&to, &from)| Handover { to: self.cell(to), from: self.cell(from) }).collect()
    }

    pub fn form(&self, value: Value) -> Form {
        self.forms.get(&value).cloned().expect("invariant: a verified kernel defines values before their uses")
    }

    /// The value in a cell; sums and conjunctions are materialised.
    pub fn cell(&mut self, value: Value) -> Slot {
        let ty = self.kernel.ty(value).clone();
        match self.form(value) {
            Form::Cell(slot) => slot,
            Form::Sum(sum) if sum.terms.iter().all(Option::is_none) => sum.base,
            Form::Sum(sum) if sum.terms.len() == 1 && ty.elem.is_integer() => self.line(&sum, 0, ty.elem, Span::default()),
            Form::Sum(sum) => self.place.pure(Code::Materialise(sum, ty.elem, ty.shape), false, Span::default()),
            Form::Mask(mask) => match mask.as_slice() {
                [] => self.constant(1, Elem::I1),
                [Conjunct::Scalar(slot) | Conjunct::Block(slot)] => *slot,
                _ => self.place.pure(Code::Conjunction(mask, ty.shape), false, Span::default()),
            },
            Form::Load(load, _) => self.place.here(Code::LoadTile(load), false, Span::default()),
        }
    }

    fn insts(&mut self, insts: &[Inst]) -> diag::Result<()> {
        for inst in insts {
            if inst.results.iter().any(|r| self.skipped.contains(r)) {
                continue;
            }
            self.inst(inst)?;
            // A dot that a sum makes is made where the sum is.
            let folded = |value: &Value| self.folded.contains_key(value);
            let joins = match &inst.kind {
                InstKind::Dot { a: _, b: _, acc: _, precision: _ } if inst.results.iter().any(folded) => false,
                InstKind::Float(FloatBinary::Add, a, b) => folded(a) || folded(b),
                _ => walk::joins_lanes(inst, &self.kernel.values),
            };
            if joins && self.uses.lanes_may_meet() {
                self.place.here(Code::Barrier, true, inst.span);
            }
        }
        Ok(())
    }

    /// A lane-by-lane instruction on cells.
    fn pointwise(&mut self, operands: &[Value], span: Span, code: impl FnOnce(&[Slot]) -> Code) -> Form {
        let slots: SmallVec<[Slot; 3]> = operands.iter().map(|&v| self.cell(v)).collect();
        let scalar = slots.iter().all(|&s| self.place.is_scalar(s));
        Form::Cell(self.place.pure(code(&slots), scalar, span))
    }

    fn inst(&mut self, inst: &Inst) -> diag::Result<()> {
        let span = inst.span;
        let kernel = self.kernel;
        if let Some(done) = self.flat(inst) {
            return done;
        }
        let elem = |v: Value| kernel.ty(v).elem;
        let result = inst.results.first().copied();
        let result_ty = result.map(|r| kernel.ty(r).clone());
        let form = match &inst.kind {
            InstKind::ProgramId { axis } => {
                let slot = self.program_level(Code::ProgramId(*axis), span);
                Form::Cell(slot)
            }
            InstKind::NumPrograms { axis } => Form::Cell(self.place.pure(Code::NumPrograms(*axis), true, span)),
            InstKind::Constant(literal) => {
                let ty = result_ty.clone().expect("invariant: a constant has a result");
                let slot = self.place.pure(Code::Constant(*literal, ty.elem), true, span);
                if let Literal::Int(value) = literal {
                    self.constants.insert(slot, if ty.elem == Elem::I1 { value & 1 } else { *value });
                }
                self.splat(slot, ty.elem, &ty.shape, span)
            }
            InstKind::MakeRange { start, end } => Form::Cell(self.place.pure(Code::Range(*start, *end), false, span)),
            InstKind::Splat(value) => {
                let slot = self.cell(*value);
                let ty = result_ty.clone().expect("invariant: a splat has a result");
                self.splat(slot, ty.elem, &ty.shape, span)
            }
            InstKind::ExpandDims { value, axis } => match self.split_expand(*value, *axis as usize, span) {
                Some(form) => form,
                None => self.pointwise(&[*value], span, |s| Code::ExpandDims(s[0], *axis as usize)),
            },
            InstKind::Broadcast(value) => {
                let shape = result_ty.clone().expect("invariant: a broadcast has a result").shape;
                match self.split_broadcast(*value, &shape, span) {
                    Some(form) => form,
                    None => self.pointwise(&[*value], span, |s| Code::Broadcast(s[0], shape)),
                }
            }
            InstKind::Trans { value, order } => match self.split_trans(*value, order) {
                Some(form) => form,
                None => self.pointwise(&[*value], span, |s| Code::Trans(s[0], order.clone())),
            },
            InstKind::Reshape(value) => {
                let shape = result_ty.clone().expect("invariant: a reshape has a result").shape;
                self.pointwise(&[*value], span, |s| Code::Reshape(s[0], shape))
            }
            InstKind::AddPtr { ptr, offset } => {
                let split = if kernel.ty(*ptr).is_scalar() { None } else { self.split_addptr(*ptr, *offset, span) };
                match split {
                    Some(form) => form,
                    None => self.pointwise(&[*ptr, *offset], span, |s| Code::AddPtr(s[0], s[1], elem(*offset))),
                }
            }
            InstKind::Load { ptr, mask, other } => {
                self.load(*ptr, *mask, *other, result.expect("invariant: a load has a result"), span)
            }
            InstKind::Store { ptr, value, mask } => {
                self.store(*ptr, *value, *mask, span);
                return Ok(());
            }
            InstKind::Int(_, a, _) if result.is_some_and(|r| self.swaps.contains_key(&r)) => {
                let axis = result.map_or(0, |r| self.swaps[&r]);
                self.swapped(*a, axis, span)
            }
            InstKind::Int(op, a, b) => {
                let e = elem(*a);
                let split = if e == Elem::I1 {
                    self.split_mask(*op, *a, *b, span)
                } else if kernel.ty(*a).shape.len() < 2 && !self.splits_line(*op, *a, *b) {
                    None
                } else {
                    self.split_int(*op, e, *a, *b, span)
                };
                let wraps = result.is_some_and(|r| kernel.wraps.contains(&r));
                match split {
                    Some(form) if !wraps => form,
                    Some(_) | None => {
                        let (x, y) = (self.cell(*a), self.cell(*b));
                        let slot = self.int(*op, e, x, y, span);
                        if wraps {
                            // An operation on bits takes the wrapped number for what it is.
                            let zero = self.constant(0, e);
                            Form::Cell(self.int(IntBinary::Xor, e, slot, zero, span))
                        } else {
                            Form::Cell(slot)
                        }
                    }
                }
            }
            InstKind::Float(FloatBinary::Add, a, b) if self.folded.contains_key(a) || self.folded.contains_key(b) => {
                let (dot, acc) = if self.folded.contains_key(b) { (b, a) } else { (a, b) };
                let dot = self.folded[dot];
                let InstKind::Dot { a, b, acc: _, precision } = &dot.kind else {
                    unreachable!("invariant: only dots are folded")
                };
                self.dot([*a, *b, *acc], *precision, dot.span)?
            }
            InstKind::Float(op, a, b) => self.pointwise(&[*a, *b], span, |s| Code::Float(*op, elem(*a), s[0], s[1])),
            InstKind::Unary(f, a) => self.pointwise(&[*a], span, |s| Code::Unary(*f, elem(*a), s[0])),
            InstKind::Fma(a, b, c) => self.pointwise(&[*a, *b, *c], span, |s| Code::Fma(elem(*a), s[0], s[1], s[2])),
            InstKind::CompareInt(p, a, b) => {
                let split = if kernel.ty(*a).shape.len() < 2 { None } else { self.split_compare(*p, elem(*a), *a, *b, span) };
                match split {
                    Some(form) => form,
                    None => self.pointwise(&[*a, *b], span, |s| Code::CompareInt(*p, elem(*a), s[0], s[1])),
                }
            }
            InstKind::CompareFloat(p, a, b) => self.pointwise(&[*a, *b], span, |s| Code::CompareFloat(*p, elem(*a), s[0], s[1])),
            InstKind::Select { condition, then, other } => {
                let split =
                    if kernel.ty(*then).shape.len() < 2 { None } else { self.split_select(*condition, *then, *other, span) };
                match split {
                    Some(form) => form,
                    None => self.pointwise(&[*condition, *then, *other], span, |s| Code::Select(elem(*then), s[0], s[1], s[2])),
                }
            }
            InstKind::Cast(kind, a) => {
                let to = result_ty.clone().expect("invariant: a cast has a result").elem;
                let split = if kernel.ty(*a).shape.len() < 2 { None } else { self.split_cast(*kind, elem(*a), to, *a, span) };
                match split {
                    Some(form) => form,
                    None => self.pointwise(&[*a], span, |s| Code::Cast(*kind, elem(*a), to, s[0])),
                }
            }
            InstKind::Dot { a: _, b: _, acc: _, precision: _ } if result.is_some_and(|r| self.folded.contains_key(&r)) => {
                return Ok(());
            }
            InstKind::Dot { a, b, acc, precision } => self.dot([*a, *b, *acc], *precision, span)?,
            InstKind::Reduce { operands, axis, combine } => return self.reduce(inst, operands, *axis as usize, combine),
            InstKind::Scan { operands, axis, reverse, combine } => {
                return self.scan(inst, operands, *axis as usize, *reverse, combine);
            }
            InstKind::DotScaled(dot) => self.dot_scaled(dot, inst),
            InstKind::Gather { source, index, axis } => self.whole(WholeOp::Gather(*axis as usize), &[*source, *index], inst),
            InstKind::Histogram { value, mask } => {
                let bins = result_ty.as_ref().map_or(0, |ty| ty.shape[0]);
                let operands: SmallVec<[Value; 2]> = [Some(*value), *mask].into_iter().flatten().collect();
                self.whole(WholeOp::Histogram(bins), &operands, inst)
            }
            InstKind::Join(a, b) => self.whole(WholeOp::Join, &[*a, *b], inst),
            InstKind::Cat(a, b) => self.whole(WholeOp::Cat, &[*a, *b], inst),
            InstKind::Split(v) => {
                for (half, &result) in inst.results.iter().enumerate() {
                    let form = self.whole(WholeOp::Half(half), &[*v], inst);
                    self.forms.insert(result, form);
                }
                return Ok(());
            }
            InstKind::Unsplat(v) => self.whole(WholeOp::Unsplat, &[*v], inst),
            InstKind::ClampFloat { value, min, max, keeps_nan } => {
                self.whole(WholeOp::Clamp { keeps_nan: *keeps_nan }, &[*value, *min, *max], inst)
            }
            InstKind::AbsInt(v) => self.whole(WholeOp::AbsInt, &[*v], inst),
            InstKind::Extern { symbol, operands } => self.whole(WholeOp::Extern(*symbol), operands, inst),
            InstKind::InlineAsm { asm, operands } => return self.inline_asm(asm, operands, inst),
            InstKind::For { lower, upper, step, init, body } => return self.lower_for(inst, [*lower, *upper, *step], init, body),
            InstKind::If { condition, then, otherwise } => return self.lower_if(inst, *condition, then, otherwise),
            InstKind::While { init, before, after } => return self.lower_while(inst, init, before, after),
            InstKind::VolatileLoad { ptr, mask, other } => self.atomic(
                AtomicKind::VolatileLoad,
                MemoryOrder::Relaxed,
                [Some(*ptr), None, None, *mask, *other],
                result.expect("invariant: a load has a result"),
                span,
            ),
            InstKind::AtomicRmw { op, order, scope: _, ptr, value, mask } => self.atomic(
                AtomicKind::Modify(*op),
                *order,
                [Some(*ptr), None, Some(*value), *mask, None],
                result.expect("invariant: an atomic has a result"),
                span,
            ),
            InstKind::AtomicCas { order, scope: _, ptr, expected, value } => self.atomic(
                AtomicKind::CompareAndSwap,
                *order,
                [Some(*ptr), Some(*expected), Some(*value), None, None],
                result.expect("invariant: an atomic has a result"),
                span,
            ),
            InstKind::Barrier => {
                self.place.here(Code::Barrier, true, span);
                return Ok(());
            }
            InstKind::Assume(condition) => {
                let condition = self.cell(*condition);
                self.place.here(Code::Assume(condition), true, span);
                return Ok(());
            }
            InstKind::Assert { condition, message } => {
                let condition = self.cell(*condition);
                self.place.here(Code::Assert(condition, message.clone()), true, span);
                return Ok(());
            }
        };
        if let Some(result) = result {
            self.forms.insert(result, form);
            self.hints(result);
        }
        Ok(())
    }

    /// Asks what is promised of a value, where it is defined.
    fn hints(&mut self, value: Value) {
        let kernel = self.kernel;
        for hint in &kernel.values[value.0 as usize].hints {
            let cell = self.cell(value);
            let shape = kernel.ty(value).shape.clone();
            self.place.here(Code::Hint(cell, Box::new(hint.clone()), shape), true, hint.span);
        }
    }

    fn unsupported(&self, what: String, span: Span) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::new(&codes::KERNEL_UNSUPPORTED, format!("{what} is not offered by the emulator yet"))
                .at(&self.kernel.source, span),
        )
    }

    /// An instruction that depends on the program alone.
    fn program_level(&mut self, code: Code, span: Span) -> Slot {
        if !self.place.lazy {
            return self.place.here(code, true, span);
        }
        let current = std::mem::replace(&mut self.place.current, PROGRAM);
        // At the very start, so that every block and region may read it.
        let out = self.place.local(PROGRAM, true);
        self.place.streams[PROGRAM.0].items.insert(0, Item::Plain(Instruction { code, out, span }));
        self.place.current = current;
        out
    }

    fn splat(&mut self, slot: Slot, elem: Elem, shape: &[usize], span: Span) -> Form {
        if self.place.lazy || shape.is_empty() {
            return Form::Cell(slot);
        }
        Form::Cell(self.place.here(Code::Splat(slot, elem, SmallVec::from_slice(shape)), false, span))
    }
}
