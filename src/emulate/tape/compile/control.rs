//! `scf.for`, `scf.if` and `scf.while`: streams of their bodies, and what crosses their edges.
//!
//! A carried value of a `for` is split into the parts that change from one iteration to the next and
//! those that do not, by widening an assumption until the body agrees with it.

use super::*;

impl Builder<'_> {
    pub(super) fn lower_for(&mut self, inst: &Inst, bounds: [Value; 3], init: &[Value], body: &Region) -> diag::Result<()> {
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
            body.args.iter().for_each(|&arg| self.hints(arg));
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
            if let Some(table) = table {
                self.join_guards(stream, table);
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

    pub(super) fn lower_if(&mut self, inst: &Inst, condition: Value, then: &Region, otherwise: &Region) -> diag::Result<()> {
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

    pub(super) fn lower_while(&mut self, inst: &Inst, init: &[Value], before: &Region, after: &Region) -> diag::Result<()> {
        let outer = self.place.current;
        let kernel = self.kernel;
        let first = self.place.open(StreamKind::Guarded, outer);
        let second = self.place.open(StreamKind::Guarded, outer);
        let args: Vec<Slot> = before.args.iter().map(|&a| self.place.local(first, kernel.ty(a).is_scalar())).collect();
        // They change from turn to turn as long as the loop runs.
        let results: Vec<Slot> = after.args.iter().map(|&a| self.place.local(second, kernel.ty(a).is_scalar())).collect();
        let start = init.iter().zip(&args).map(|(&v, &to)| Handover { to, from: self.cell(v) }).collect();
        for (&arg, &slot) in before.args.iter().zip(&args) {
            self.forms.insert(arg, Form::Cell(slot));
        }
        self.place.current = first;
        before.args.iter().for_each(|&arg| self.hints(arg));
        self.insts(&before.insts)?;
        let condition = self.cell(before.yields[0]);
        let forward = results.iter().zip(&before.yields[1..]).map(|(&to, &v)| Handover { to, from: self.cell(v) }).collect();
        for (&value, &slot) in after.args.iter().chain(&inst.results).zip(results.iter().chain(&results)) {
            self.forms.insert(value, Form::Cell(slot));
        }
        self.place.current = second;
        after.args.iter().for_each(|&arg| self.hints(arg));
        self.insts(&after.insts)?;
        let next = args.iter().zip(&after.yields).map(|(&to, &v)| Handover { to, from: self.cell(v) }).collect();
        self.place.current = outer;
        results.iter().for_each(|&result| self.place.set_home(result, outer));
        let patience = [before, after].into_iter().filter_map(patience).min();
        self.place.push(Item::While {
            init: start,
            before: first,
            condition,
            forward,
            after: second,
            next,
            patience,
            span: inst.span,
        });
        Ok(())
    }
}

/// Turns of a loop that change nothing before other programs may run, for a loop that looks at memory. One that
/// looks at it with plain loads may as well search.
fn patience(region: &Region) -> Option<u32> {
    let mut found = None;
    walk::each_inst(&region.insts, &mut |inst| {
        let turns = match &inst.kind {
            InstKind::Load { ptr: _, mask: _, other: _ } => 4096,
            kind if walk::touches_memory(kind) && walk::orders_memory(kind) => 16,
            _ => return,
        };
        found = Some(found.map_or(turns, |least: u32| least.min(turns)));
    });
    found
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
            (Carried::Invariant(_), _, _) => {}
            (Carried::Cell { .. }, arg, _) | (Carried::Parts { .. }, arg, _) => {
                unreachable!("invariant: the last round agreed with what it assumed, not {arg:?}")
            }
        }
    }
}
