//! From kernel IR to tapes: one visit of every instruction, then the streams laid out flat.
//!
//! Loop-carried values start as *invariant*: the body is built as if nothing changed. What the body
//! then yields differently (a pointer's base, an accumulator) becomes a cell of its own and the body
//! is built again, until nothing new differs; a carried pointer block thus stays a sum whose terms
//! are hoisted and whose base alone moves. Each round only adds variant parts, so it ends.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use smallvec::SmallVec;

use super::place::{Handover, Item, LAUNCH, PROGRAM, Placer, StreamId, StreamKind, reads};
use super::split::Form;
use super::{Code, Combiner, Conjunct, Dot, DotOperand, Instruction, LoadTile, Program, Reduce, Slot, Sum, Tape, Tile};
use crate::diag::{self, Diagnostic, codes};
use crate::emulate::value::layout::MAX_RANK;
use crate::kernel::Verified;
use crate::kernel::ir::{DotPrecision, Elem, FloatBinary, Inst, InstKind, IntBinary, Kernel, Literal, Region, Terminator, Value};
use crate::source::Span;

impl Program {
    /// Compiles a kernel: a fraction of a millisecond.
    ///
    /// # Errors
    /// [`codes::KERNEL_UNSUPPORTED`] names what the emulator does not offer, at its place.
    pub fn compile(kernel: &Verified<Kernel>) -> diag::Result<Program> {
        let kernel = Arc::new(Kernel::clone(kernel));
        refuse(&kernel)?;
        let lazy = Builder::new(&kernel, true).build()?;
        let dense = Builder::new(&kernel, false).build()?;
        let (loads, stores) = super::provenance::accesses(&kernel);
        Ok(Program { kernel, lazy, dense, loads, stores })
    }
}

/// What no part of the emulator offers.
fn refuse(kernel: &Kernel) -> diag::Result<()> {
    let unsupported =
        |what: String, span: Span| Err(Box::new(Diagnostic::new(&codes::KERNEL_UNSUPPORTED, what).at(&kernel.source, span)));
    for (index, data) in kernel.values.iter().enumerate() {
        let span = kernel.params.iter().find(|p| p.value.0 as usize == index).map_or(Span::default(), |p| p.span);
        if data.ty.shape.len() > MAX_RANK {
            return unsupported(format!("a block of {} axes; the emulator takes at most {MAX_RANK}", data.ty.shape.len()), span);
        }
        let elem = match data.ty.elem {
            Elem::Ptr(to) => Elem::of(to),
            elem => elem,
        };
        if matches!(elem, Elem::F8E4M3 | Elem::F8E5M2) {
            return unsupported(format!("the element type {elem} is not offered by the emulator yet"), span);
        }
    }
    Ok(())
}

#[derive(Clone)]
pub struct Builder<'k> {
    pub kernel: &'k Kernel,
    pub place: Placer,
    forms: HashMap<Value, Form>,
    /// Integer constants by cell.
    pub constants: HashMap<Slot, i64>,
    /// Loads that their only user, a dot, makes itself.
    deferred: HashSet<Value>,
    /// Dots on a zero accumulator whose only user is a sum: that sum makes them.
    folded: HashMap<Value, &'k Inst>,
    combines: Vec<StreamId>,
    carried: HashMap<Slot, StreamId>,
}

impl<'k> Builder<'k> {
    fn new(kernel: &'k Kernel, lazy: bool) -> Builder<'k> {
        let mut builder = Builder {
            kernel,
            place: Placer::new(lazy),
            forms: HashMap::new(),
            constants: HashMap::new(),
            deferred: HashSet::new(),
            folded: HashMap::new(),
            combines: Vec::new(),
            carried: HashMap::new(),
        };
        let mut uses = HashMap::new();
        for block in &kernel.blocks {
            count_uses(&block.insts, &mut uses);
        }
        let mut zeros = HashSet::new();
        for block in &kernel.blocks {
            fold_dots(&block.insts, &uses, &mut zeros, &mut builder.folded);
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
        Ok(Layout::new(self.place, self.carried).flatten(&streams, exits))
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
        insts.iter().try_for_each(|inst| self.inst(inst))
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
            InstKind::Int(op, a, b) => {
                let e = elem(*a);
                let split = match (e, kernel.ty(*a).shape.len()) {
                    (Elem::I1, _) => self.split_mask(*op, *a, *b, span),
                    (_, 0 | 1) => None,
                    _ => self.split_int(*op, e, *a, *b, span),
                };
                match split {
                    Some(form) => form,
                    None => {
                        let (x, y) = (self.cell(*a), self.cell(*b));
                        Form::Cell(self.int(*op, e, x, y, span))
                    }
                }
            }
            InstKind::Float(FloatBinary::Add, a, b) if self.folded.contains_key(a) || self.folded.contains_key(b) => {
                let (dot, acc) = if self.folded.contains_key(b) { (b, a) } else { (a, b) };
                let dot = self.folded[dot];
                let InstKind::Dot { a, b, acc: _, precision } = &dot.kind else { unreachable!("only dots are folded") };
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
            InstKind::For { lower, upper, step, init, body } => return self.lower_for(inst, [*lower, *upper, *step], init, body),
            InstKind::If { condition, then, otherwise } => return self.lower_if(inst, *condition, then, otherwise),
            InstKind::While { init, before, after } => return self.lower_while(inst, init, before, after),
            InstKind::Assert { condition, message } => {
                let condition = self.cell(*condition);
                self.place.here(Code::Assert(condition, message.clone()), true, span);
                return Ok(());
            }
        };
        if let Some(result) = result {
            self.forms.insert(result, form);
        }
        Ok(())
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

    fn tile(&mut self, ptr: Value, mask: Option<Value>) -> Option<Tile> {
        let shape = self.kernel.ty(ptr).shape.clone();
        if shape.is_empty() {
            return None;
        }
        let address = self.as_sum(ptr)?;
        let mask = mask.map(|m| self.as_mask(m)).unwrap_or_default();
        let fixed = |slot: Slot| match self.place.streams[self.place.home(slot).0].kind {
            StreamKind::Launch | StreamKind::Program => true,
            StreamKind::Table(_) | StreamKind::Loop(_) | StreamKind::Guarded => false,
        };
        let stable = (0..shape.len())
            .map(|axis| {
                mask.iter().all(|conjunct| match conjunct {
                    Conjunct::Band { sum, lo: _, hi: _ } => sum.terms[axis].is_none_or(fixed),
                    Conjunct::Scalar(_) | Conjunct::Axis(..) | Conjunct::Block(_) => true,
                })
            })
            .collect();
        Some(Tile { shape, address, mask, stable })
    }

    fn load(&mut self, ptr: Value, mask: Option<Value>, other: Option<Value>, result: Value, span: Span) -> Form {
        let ty = self.kernel.ty(result).clone();
        let Some(tile) = self.tile(ptr, mask) else {
            let (p, m, o) = (self.cell(ptr), mask.map(|m| self.cell(m)), other.map(|o| self.cell(o)));
            return Form::Cell(self.place.here(Code::LoadLanes(p, m, o, ty.elem, ty.shape.clone()), ty.is_scalar(), span));
        };
        let other_slot = other.map(|o| self.cell(o));
        let uniform = other_slot.is_none_or(|s| self.place.is_scalar(s));
        let load = Box::new(LoadTile { tile, other: other_slot.filter(|_| uniform), elem: ty.elem });
        if uniform && self.deferred.contains(&result) {
            return Form::Load(load, span.start);
        }
        let loaded = self.place.here(Code::LoadTile(load), false, span);
        match (mask, other_slot) {
            (Some(mask), Some(other)) if !uniform => {
                let mask = self.cell(mask);
                Form::Cell(self.place.pure(Code::Select(ty.elem, mask, loaded, other), false, span))
            }
            _ => Form::Cell(loaded),
        }
    }

    fn store(&mut self, ptr: Value, value: Value, mask: Option<Value>, span: Span) {
        let elem = self.kernel.ty(value).elem;
        let value = self.cell(value);
        let code = match self.tile(ptr, mask) {
            Some(tile) => Code::StoreTile(Box::new(tile), value, elem),
            None => {
                let (p, m) = (self.cell(ptr), mask.map(|m| self.cell(m)));
                Code::StoreLanes(p, value, m, elem, self.kernel.ty(ptr).shape.clone())
            }
        };
        self.place.here(code, true, span);
    }

    fn dot_operand(&mut self, value: Value) -> DotOperand {
        match self.form(value) {
            Form::Load(load, at) => DotOperand::Load(load, at),
            _ => DotOperand::Cell(self.cell(value)),
        }
    }

    fn dot(&mut self, [a, b, acc]: [Value; 3], precision: DotPrecision, span: Span) -> diag::Result<Form> {
        let kernel = self.kernel;
        let elem = |v: Value| kernel.ty(v).elem;
        let (sa, sb) = (&kernel.ty(a).shape, &kernel.ty(b).shape);
        if sa.len() != 2 || sb.len() != 2 {
            return Err(self.unsupported(format!("a dot of blocks of {} axes", sa.len()), span));
        }
        if !matches!(precision, DotPrecision::Ieee | DotPrecision::Tf32) && elem(a) == Elem::F32 {
            return Err(self.unsupported(format!("the dot precision {precision:?}"), span));
        }
        if !matches!(elem(acc), Elem::F32 | Elem::F64 | Elem::F16 | Elem::I32) {
            return Err(self.unsupported(format!("a dot that accumulates in {}", elem(acc)), span));
        }
        let dot = Dot {
            a: self.dot_operand(a),
            b: self.dot_operand(b),
            acc: self.cell(acc),
            take_acc: false,
            m: sa[0],
            n: sb[1],
            k: sa[1],
            precision,
            elem: elem(a),
            acc_elem: elem(acc),
        };
        Ok(Form::Cell(self.place.here(Code::Dot(Box::new(dot)), false, span)))
    }

    fn reduce(&mut self, inst: &Inst, operands: &[Value], axis: usize, combine: &Region) -> diag::Result<()> {
        let kernel = self.kernel;
        if combine.insts.iter().any(|i| {
            matches!(
                i.kind,
                InstKind::For { .. }
                    | InstKind::If { .. }
                    | InstKind::While { .. }
                    | InstKind::Load { .. }
                    | InstKind::Store { .. }
            )
        }) {
            return Err(self.unsupported("control flow or memory in the combine function of a reduce".to_owned(), inst.span));
        }
        let slots: Vec<Slot> = operands.iter().map(|&v| self.cell(v)).collect();
        let elems: Vec<Elem> = operands.iter().map(|&v| kernel.ty(v).elem).collect();
        let stream = self.place.open(StreamKind::Guarded, self.place.current);
        let outer = std::mem::replace(&mut self.place.current, stream);
        let args: Vec<Slot> = combine
            .args
            .iter()
            .map(|&arg| {
                // Holds lanes of many pairs at once.
                let slot = self.place.local(stream, false);
                self.forms.insert(arg, Form::Cell(slot));
                slot
            })
            .collect();
        let lazy = std::mem::replace(&mut self.place.lazy, false);
        self.insts(&combine.insts)?;
        let yields = combine.yields.iter().map(|&v| self.cell(v)).collect();
        self.place.lazy = lazy;
        self.place.current = outer;
        let known = combiner(combine);
        let results: Vec<Slot> = inst
            .results
            .iter()
            .map(|&r| {
                let slot = self.place.local(outer, kernel.ty(r).is_scalar());
                self.forms.insert(r, Form::Cell(slot));
                slot
            })
            .collect();
        self.combines.push(stream);
        let reduce = Reduce {
            operands: slots,
            results,
            elems,
            axis,
            shape: kernel.ty(operands[0]).shape.clone(),
            known,
            start: stream.0,
            args,
            yields,
        };
        self.place.here(Code::Reduce(Box::new(reduce)), true, inst.span);
        Ok(())
    }

    fn lower_for(&mut self, inst: &Inst, bounds: [Value; 3], init: &[Value], body: &Region) -> diag::Result<()> {
        let [lower, upper, step] = bounds.map(|v| self.cell(v));
        let mut carried: Vec<Carried> = init.iter().map(|&v| Carried::start(self.form(v))).collect();
        if !self.place.lazy {
            for (state, &v) in carried.iter_mut().zip(init) {
                *state = Carried::Cell { init: self.cell(v) };
            }
        }
        loop {
            let before = self.clone();
            let outer = self.place.current;
            let stream = self.place.open(StreamKind::Loop(None), outer);
            let counter = self.place.local(outer, true);
            let variable = self.place.local(stream, true);
            let mut table = None;
            let mut index = variable;
            if self.place.lazy && self.place.is_launch(lower) && self.place.is_launch(step) {
                let (t, column) = self.place.open_table(stream);
                (table, index) = (Some(t), column);
            }
            self.forms.insert(body.args[0], Form::Cell(index));
            self.place.current = stream;
            let mut starts = Vec::new();
            for ((state, &arg), &value) in carried.iter().zip(&body.args[1..]).zip(init) {
                let scalar = self.kernel.ty(value).is_scalar();
                let form = state.enter(self, stream, scalar, &mut starts);
                self.forms.insert(arg, form);
            }
            self.insts(&body.insts)?;
            // What the body yields differently becomes variant.
            let mut changed = false;
            for ((state, &arg), &value) in carried.iter_mut().zip(&body.args[1..]).zip(&body.yields) {
                let (assumed, yielded) = (self.form(arg), self.form(value));
                changed |= state.widen(&assumed, &yielded);
            }
            if changed {
                *self = before;
                for (state, &v) in carried.iter_mut().zip(init) {
                    state.settle(self, v);
                }
                continue;
            }
            let mut next = Vec::new();
            for ((state, &arg), &value) in carried.iter().zip(&body.args[1..]).zip(&body.yields) {
                state.leave(self, arg, value, &mut next);
            }
            self.place.current = outer;
            for (handover, _) in starts.iter().zip(0..) {
                self.place.set_home(handover.to, outer);
                self.carried.insert(handover.to, stream);
            }
            self.place.push(Item::For {
                counter,
                variable,
                lower,
                upper,
                step,
                table,
                body: stream,
                init: starts,
                next,
                span: inst.span,
            });
            for (&result, &arg) in inst.results.iter().zip(&body.args[1..]) {
                let form = self.form(arg);
                self.forms.insert(result, form);
            }
            return Ok(());
        }
    }

    fn lower_if(&mut self, inst: &Inst, condition: Value, then: &Region, otherwise: &Region) -> diag::Result<()> {
        let condition = self.cell(condition);
        let outer = self.place.current;
        let results: Vec<Slot> = inst.results.iter().map(|&r| self.place.local(outer, self.kernel.ty(r).is_scalar())).collect();
        let mut branch = |region: &Region| -> diag::Result<(StreamId, Vec<Handover>)> {
            let stream = self.place.open(StreamKind::Guarded, outer);
            self.place.current = stream;
            self.insts(&region.insts)?;
            let moves = results.iter().zip(&region.yields).map(|(&to, &v)| Handover { to, from: self.cell(v) }).collect();
            self.place.current = outer;
            Ok((stream, moves))
        };
        let (then, then_results) = branch(then)?;
        let (otherwise, other_results) = branch(otherwise)?;
        self.place.push(Item::If { condition, then, otherwise, then_results, other_results, span: inst.span });
        for (&result, slot) in inst.results.iter().zip(results) {
            self.forms.insert(result, Form::Cell(slot));
        }
        Ok(())
    }

    fn lower_while(&mut self, inst: &Inst, init: &[Value], before: &Region, after: &Region) -> diag::Result<()> {
        let outer = self.place.current;
        let kernel = self.kernel;
        let first = self.place.open(StreamKind::Guarded, outer);
        let second = self.place.open(StreamKind::Guarded, outer);
        let args: Vec<Slot> = before.args.iter().map(|&a| self.place.local(first, kernel.ty(a).is_scalar())).collect();
        let results: Vec<Slot> = after.args.iter().map(|&a| self.place.local(outer, kernel.ty(a).is_scalar())).collect();
        let start = init.iter().zip(&args).map(|(&v, &to)| Handover { to, from: self.cell(v) }).collect();
        for (&arg, &slot) in before.args.iter().zip(&args) {
            self.forms.insert(arg, Form::Cell(slot));
        }
        self.place.current = first;
        self.insts(&before.insts)?;
        let condition = self.cell(before.yields[0]);
        let forward = results.iter().zip(&before.yields[1..]).map(|(&to, &v)| Handover { to, from: self.cell(v) }).collect();
        for (&value, &slot) in after.args.iter().chain(&inst.results).zip(results.iter().chain(&results)) {
            self.forms.insert(value, Form::Cell(slot));
        }
        self.place.current = second;
        self.insts(&after.insts)?;
        let next = args.iter().zip(&after.yields).map(|(&to, &v)| Handover { to, from: self.cell(v) }).collect();
        self.place.current = outer;
        self.place.push(Item::While { init: start, before: first, condition, forward, after: second, next, span: inst.span });
        Ok(())
    }
}

/// One carried value of a `for`: which of its parts change from iteration to iteration.
#[derive(Clone, Debug)]
enum Carried {
    /// Nothing changes.
    Invariant(Form),
    /// A sum; the marked parts (base, then terms) change.
    Parts { init: Sum, changes: SmallVec<[bool; 5]> },
    /// A cell that changes; `init` is set when the round starts.
    Cell { init: Slot },
}

impl Carried {
    fn start(form: Form) -> Carried {
        match form {
            Form::Sum(sum) => Carried::Parts { changes: SmallVec::from_elem(false, sum.terms.len() + 1), init: sum },
            other => Carried::Invariant(other),
        }
    }

    /// The form of the region argument, with the cells of what changes.
    fn enter(&self, builder: &mut Builder<'_>, body: StreamId, scalar: bool, starts: &mut Vec<Handover>) -> Form {
        let mut fresh = |builder: &mut Builder<'_>, from: Slot, scalar: bool| {
            let to = builder.place.local(body, scalar);
            starts.push(Handover { to, from });
            to
        };
        match self {
            Carried::Invariant(form) => form.clone(),
            Carried::Cell { init } => Form::Cell(fresh(builder, *init, scalar)),
            Carried::Parts { init, changes } => {
                let base = if changes[0] { fresh(builder, init.base, true) } else { init.base };
                let mut terms = init.terms.clone();
                for (axis, term) in terms.iter_mut().enumerate() {
                    if changes[axis + 1] {
                        let from = term.unwrap_or_else(|| builder.constant(0, Elem::I64));
                        *term = Some(fresh(builder, from, false));
                    }
                }
                Form::Sum(Sum { base, terms })
            }
        }
    }

    /// Marks what differs between the argument and what is yielded for it; whether anything new did.
    fn widen(&mut self, assumed: &Form, yielded: &Form) -> bool {
        match (&mut *self, assumed, yielded) {
            (Carried::Cell { .. }, ..) => false,
            (Carried::Invariant(_), Form::Cell(a), Form::Cell(b)) if a == b => false,
            (Carried::Invariant(_), Form::Mask(a), Form::Mask(b)) if a == b => false,
            (Carried::Parts { init: _, changes }, Form::Sum(a), Form::Sum(b)) => {
                let mut new = false;
                let parts =
                    std::iter::once((Some(a.base), Some(b.base))).chain(a.terms.iter().copied().zip(b.terms.iter().copied()));
                for (changes, (a, b)) in changes.iter_mut().zip(parts) {
                    if a != b && !*changes {
                        *changes = true;
                        new = true;
                    }
                }
                new
            }
            _ => {
                *self = Carried::Cell { init: Slot::NONE };
                true
            }
        }
    }

    /// Before a new round: the initial cell of what became one.
    fn settle(&mut self, builder: &mut Builder<'_>, value: Value) {
        if let Carried::Cell { init } = self
            && *init == Slot::NONE
        {
            *init = builder.cell(value);
        }
    }

    /// At the end of the body: the changed parts go into their cells.
    fn leave(&self, builder: &mut Builder<'_>, arg: Value, value: Value, next: &mut Vec<Handover>) {
        match (self, builder.form(arg), builder.form(value)) {
            (Carried::Cell { .. }, Form::Cell(to), _) => {
                let from = builder.cell(value);
                next.push(Handover { to, from });
            }
            (Carried::Parts { init: _, changes }, Form::Sum(a), Form::Sum(b)) => {
                if changes[0] {
                    next.push(Handover { to: a.base, from: b.base });
                }
                for (axis, (to, from)) in a.terms.iter().zip(&b.terms).enumerate() {
                    if let (true, Some(to)) = (changes[axis + 1], to) {
                        let from = from.unwrap_or_else(|| builder.constant(0, Elem::I64));
                        next.push(Handover { to: *to, from });
                    }
                }
            }
            _ => {}
        }
    }
}

/// A combine function that is one operation of its two arguments.
fn combiner(combine: &Region) -> Option<Combiner> {
    let ([x, y], [inst], [result]) = (combine.args.as_slice(), combine.insts.as_slice(), combine.yields.as_slice()) else {
        return None;
    };
    let known = match &inst.kind {
        InstKind::Float(op, a, b) if (a, b) == (x, y) => Combiner::Float(*op),
        InstKind::Int(op @ (IntBinary::Add | IntBinary::MinS | IntBinary::MaxS | IntBinary::Or | IntBinary::And), a, b)
            if (a, b) == (x, y) =>
        {
            Combiner::Int(*op)
        }
        _ => return None,
    };
    (inst.results.as_slice() == [*result]).then_some(known)
}

fn count_uses(insts: &[Inst], uses: &mut HashMap<Value, usize>) {
    for inst in insts {
        operands(&inst.kind, &mut |v| *uses.entry(v).or_default() += 1);
        for region in regions(&inst.kind) {
            count_uses(&region.insts, uses);
            region.yields.iter().for_each(|&v| *uses.entry(v).or_default() += 1);
        }
    }
}

/// Finds dots on a zero accumulator whose only user is a sum of the same region: `acc + dot(a, b, 0)`
/// is `dot(a, b, acc)`, as Triton's combine pass makes it. (It changes the rounding: the products are
/// added to the accumulator one by one.)
fn fold_dots<'k>(
    insts: &'k [Inst],
    uses: &HashMap<Value, usize>,
    zeros: &mut HashSet<Value>,
    folded: &mut HashMap<Value, &'k Inst>,
) {
    for (at, inst) in insts.iter().enumerate() {
        match &inst.kind {
            InstKind::Constant(Literal::Float(value)) if *value == 0.0 => zeros.extend(&inst.results),
            InstKind::Float(FloatBinary::Add, a, b) => {
                for value in [b, a] {
                    let Some(found) = insts[..at].iter().position(|i| i.results.contains(value)) else { continue };
                    if let InstKind::Dot { a: _, b: _, acc, precision: _ } = &insts[found].kind
                        && uses.get(value) == Some(&1)
                        && zeros.contains(acc)
                        && is_quiet(&insts[found..at])
                    {
                        folded.insert(*value, &insts[found]);
                        break;
                    }
                }
            }
            _ => {}
        }
        for region in regions(&inst.kind) {
            fold_dots(&region.insts, uses, zeros, folded);
        }
    }
}

/// Nothing among these could change or observe memory.
fn is_quiet(insts: &[Inst]) -> bool {
    insts.iter().all(|i| regions(&i.kind).is_empty() && !matches!(i.kind, InstKind::Store { .. }))
}

/// Finds loads whose only user is a dot of the same region, with nothing between that could change
/// or observe memory.
fn defer_loads(insts: &[Inst], uses: &HashMap<Value, usize>, deferred: &mut HashSet<Value>) {
    for (at, inst) in insts.iter().enumerate() {
        if let InstKind::Dot { a, b, acc: _, precision: _ } = &inst.kind {
            for operand in [a, b] {
                if uses.get(operand) != Some(&1) {
                    continue;
                }
                let Some(found) = insts[..at].iter().rposition(|i| i.results.contains(operand)) else { continue };
                if is_quiet(&insts[found..at]) && matches!(insts[found].kind, InstKind::Load { .. }) {
                    deferred.insert(*operand);
                }
            }
        }
        for region in regions(&inst.kind) {
            defer_loads(&region.insts, uses, deferred);
        }
    }
}

fn regions(kind: &InstKind) -> SmallVec<[&Region; 2]> {
    match kind {
        InstKind::For { body, .. } => SmallVec::from_slice(&[body]),
        InstKind::If { then, otherwise, .. } => SmallVec::from_slice(&[then, otherwise]),
        InstKind::While { before, after, .. } => SmallVec::from_slice(&[before, after]),
        InstKind::Reduce { combine, .. } => SmallVec::from_slice(&[combine]),
        _ => SmallVec::new(),
    }
}

fn operands(kind: &InstKind, visit: &mut dyn FnMut(Value)) {
    match kind {
        InstKind::ProgramId { axis: _ }
        | InstKind::NumPrograms { axis: _ }
        | InstKind::Constant(_)
        | InstKind::MakeRange { start: _, end: _ } => {}
        InstKind::Splat(v)
        | InstKind::Broadcast(v)
        | InstKind::Reshape(v)
        | InstKind::Unary(_, v)
        | InstKind::Cast(_, v)
        | InstKind::ExpandDims { value: v, axis: _ }
        | InstKind::Trans { value: v, order: _ }
        | InstKind::Assert { condition: v, message: _ } => visit(*v),
        InstKind::AddPtr { ptr: a, offset: b }
        | InstKind::Int(_, a, b)
        | InstKind::Float(_, a, b)
        | InstKind::CompareInt(_, a, b)
        | InstKind::CompareFloat(_, a, b) => {
            visit(*a);
            visit(*b);
        }
        InstKind::Fma(a, b, c)
        | InstKind::Select { condition: a, then: b, other: c }
        | InstKind::Dot { a, b, acc: c, precision: _ } => {
            visit(*a);
            visit(*b);
            visit(*c);
        }
        InstKind::Load { ptr, mask, other } => {
            visit(*ptr);
            mask.iter().chain(other).for_each(|&v| visit(v));
        }
        InstKind::Store { ptr, value, mask } => {
            visit(*ptr);
            visit(*value);
            mask.iter().for_each(|&v| visit(v));
        }
        InstKind::Reduce { operands, axis: _, combine: _ } => operands.iter().for_each(|&v| visit(v)),
        InstKind::For { lower, upper, step, init, body: _ } => {
            [lower, upper, step].into_iter().chain(init).for_each(|&v| visit(v));
        }
        InstKind::If { condition, then: _, otherwise: _ } => visit(*condition),
        InstKind::While { init, before: _, after: _ } => init.iter().for_each(|&v| visit(v)),
    }
}

type Exit = (Option<Slot>, Vec<(usize, Vec<Handover>)>);

/// Streams laid out flat.
struct Layout {
    place: Placer,
    code: Vec<Instruction>,
    /// Reads of each cell, by stream.
    readers: HashMap<Slot, Vec<StreamId>>,
    carried: HashMap<Slot, StreamId>,
    tables: Vec<usize>,
    /// Calls of combine functions by stream, to be resolved to places.
    combines: HashMap<usize, usize>,
}

impl Layout {
    fn new(place: Placer, carried: HashMap<Slot, StreamId>) -> Layout {
        let mut readers: HashMap<Slot, Vec<StreamId>> = HashMap::new();
        for (index, stream) in place.streams.iter().enumerate() {
            let mut read = |slots: &mut dyn Iterator<Item = Slot>| {
                slots.for_each(|s| readers.entry(s).or_default().push(StreamId(index)));
            };
            for item in &stream.items {
                match item {
                    Item::Plain(instruction) => {
                        read(&mut reads(&instruction.code).into_iter());
                        if let Code::Reduce(reduce) = &instruction.code {
                            read(&mut reduce.yields.iter().copied());
                        }
                    }
                    Item::For { lower, upper, step, init, next, .. } => {
                        read(&mut [*lower, *upper, *step].into_iter());
                        read(&mut init.iter().chain(next).map(|h| h.from));
                    }
                    Item::If { condition, then_results, other_results, .. } => {
                        read(&mut std::iter::once(*condition));
                        read(&mut then_results.iter().chain(other_results).map(|h| h.from));
                    }
                    Item::While { init, condition, forward, next, .. } => {
                        read(&mut std::iter::once(*condition));
                        read(&mut init.iter().chain(forward).chain(next).map(|h| h.from));
                    }
                }
            }
        }
        Layout { place, code: Vec::new(), readers, carried, tables: Vec::new(), combines: HashMap::new() }
    }

    fn flatten(mut self, blocks: &[StreamId], exits: Vec<Exit>) -> Tape {
        let launch_entry = 0;
        self.stream(LAUNCH);
        self.emit(Code::Return, Slot::NONE, Span::default());
        for table in 0..self.place.tables.len() {
            self.tables.push(self.code.len());
            let stream = self.place.table_stream(table);
            self.stream(stream);
            self.emit(Code::Return, Slot::NONE, Span::default());
        }
        let entry = self.code.len();
        let mut starts = Vec::new();
        let mut patches = Vec::new();
        for (&stream, (condition, targets)) in blocks.iter().zip(exits) {
            starts.push(self.code.len());
            self.stream(stream);
            let mut targets = targets.into_iter();
            if let Some(condition) = condition {
                let branch = self.emit(Code::BranchUnless(condition, 0), Slot::NONE, Span::default());
                if let Some((to, moves)) = targets.next() {
                    self.moves(&moves, stream);
                    patches.push((self.emit(Code::Jump(0), Slot::NONE, Span::default()), to));
                }
                self.patch(branch, self.code.len());
            }
            match targets.next() {
                Some((to, moves)) => {
                    self.moves(&moves, stream);
                    patches.push((self.emit(Code::Jump(0), Slot::NONE, Span::default()), to));
                }
                None => {
                    self.emit(Code::Return, Slot::NONE, Span::default());
                }
            }
        }
        for (at, to) in patches {
            self.patch(at, starts[to]);
        }
        // Combine functions.
        let streams: Vec<usize> = self.combines.keys().copied().collect();
        for stream in streams {
            let start = self.code.len();
            self.stream(StreamId(stream));
            self.emit(Code::Return, Slot::NONE, Span::default());
            self.combines.insert(stream, start);
        }
        for instruction in &mut self.code {
            if let Code::Reduce(reduce) = &mut instruction.code {
                reduce.start = self.combines[&reduce.start];
            }
        }
        Tape {
            code: self.code,
            entry,
            launch_entry,
            locals: self.place.locals,
            launch_cells: self.place.launch_cells,
            tables: self.place.tables,
            lazy: self.place.lazy,
        }
    }

    fn emit(&mut self, code: Code, out: Slot, span: Span) -> usize {
        self.code.push(Instruction { code, out, span });
        self.code.len() - 1
    }

    fn patch(&mut self, at: usize, to: usize) {
        match &mut self.code[at].code {
            Code::Jump(target) | Code::BranchUnless(_, target) | Code::LoopTest { exit: target, .. } => *target = to,
            other => unreachable!("only jumps are patched, not {other:?}"),
        }
    }

    /// Whether this read of a cell is the last before the cell is written again.
    fn is_last_read(&self, slot: Slot, stream: StreamId) -> bool {
        if !matches!(slot.space(), super::Space::Local(_)) {
            return false;
        }
        let readers = self.readers.get(&slot).map_or(&[][..], Vec::as_slice);
        match self.carried.get(&slot) {
            Some(&body) if body == stream => readers.iter().filter(|&&r| self.place.within(r, body)).count() == 1,
            Some(_) => false,
            None => readers.len() == 1 && self.place.home(slot) == stream,
        }
    }

    /// Moves that happen at once: a source that an earlier move overwrites is saved first.
    fn moves(&mut self, moves: &[Handover], stream: StreamId) {
        let mut from: Vec<Slot> = moves.iter().map(|m| m.from).collect();
        for i in 0..moves.len() {
            if moves[..i].iter().any(|earlier| earlier.to == from[i]) {
                let saved = self.place.local(stream, false);
                self.emit(Code::Move(from[i], false), saved, Span::default());
                from[i] = saved;
            }
        }
        for (m, &from) in moves.iter().zip(&from) {
            if m.to != from {
                let take = from == m.from && self.is_last_read(from, stream);
                self.emit(Code::Move(from, take), m.to, Span::default());
            }
        }
    }

    fn stream(&mut self, stream: StreamId) {
        let items = std::mem::take(&mut self.place.streams[stream.0].items);
        for item in items {
            match item {
                Item::Plain(mut instruction) => {
                    match &mut instruction.code {
                        Code::Dot(dot) => dot.take_acc = self.is_last_read(dot.acc, stream),
                        Code::Reduce(reduce) => {
                            self.combines.insert(reduce.start, 0);
                        }
                        _ => {}
                    }
                    self.code.push(instruction);
                }
                Item::For { counter, variable, lower, upper, step, table, body, init, next, span } => {
                    self.moves(&init, stream);
                    self.emit(Code::LoopStart { variable, lower }, counter, span);
                    let test = self.emit(Code::LoopTest { variable, upper, step, exit: 0 }, Slot::NONE, span);
                    if let Some(table) = table {
                        let start = self.tables[table];
                        self.emit(Code::TableRow { table, counter, variable, start }, Slot::NONE, span);
                    }
                    self.stream(body);
                    self.moves(&next, body);
                    self.emit(Code::LoopNext { variable, step, test }, counter, span);
                    self.patch(test, self.code.len());
                }
                Item::If { condition, then, otherwise, then_results, other_results, span } => {
                    let branch = self.emit(Code::BranchUnless(condition, 0), Slot::NONE, span);
                    self.stream(then);
                    self.moves(&then_results, then);
                    let jump = self.emit(Code::Jump(0), Slot::NONE, span);
                    self.patch(branch, self.code.len());
                    self.stream(otherwise);
                    self.moves(&other_results, otherwise);
                    self.patch(jump, self.code.len());
                }
                Item::While { init, before, condition, forward, after, next, span } => {
                    self.moves(&init, stream);
                    let top = self.code.len();
                    self.stream(before);
                    self.moves(&forward, before);
                    let branch = self.emit(Code::BranchUnless(condition, 0), Slot::NONE, span);
                    self.stream(after);
                    self.moves(&next, after);
                    self.emit(Code::Jump(top), Slot::NONE, span);
                    self.patch(branch, self.code.len());
                }
            }
        }
    }
}
