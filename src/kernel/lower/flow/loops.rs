//! Loops: `for` over ranges, unrolled or as `scf.for`, and `while`.
//!
//! A loop body is lowered on trial first to find which names it changes: those whose value differs
//! afterwards are carried. Inside a trial, loops nested in it are tried but not lowered again, so that
//! the cost is depth + 1 visits and not 2^depth.

use std::sync::Arc;

use super::{Condition, Flow};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{InstKind, IntBinary, Type, Value};
use crate::kernel::lower::Lower;
use crate::kernel::lower::types::{Scalar, Ty, promote_integers};
use crate::kernel::lower::value::{Tensor, Val};
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::{Expr, ExprKind, Keyword, Stmt};

/// Unrolled loops stop here.
const MAX_VALUES: usize = 1 << 20;

/// A name that a loop changes.
struct Carried<'a> {
    name: Arc<str>,
    before: Val<'a>,
    /// Which of the run-time values of `before` change.
    parts: Vec<bool>,
}

impl<'a> Carried<'a> {
    fn types(&self) -> Vec<Type> {
        self.before.pick(&self.parts).iter().map(|t| t.ty.ir()).collect()
    }
}

/// What carried names hold before their loop.
fn initial(carried: &[Carried<'_>]) -> Vec<Value> {
    carried.iter().flat_map(|c| c.before.pick(&c.parts)).map(|t| t.value).collect()
}

impl<'a> Lower<'a, '_> {
    /// The names that a loop body changes, with their values before it, found by a trial.
    fn carried(&mut self, span: Span, target: Option<&str>, body: &'a [Stmt]) -> Result<Vec<Carried<'a>>> {
        let live = self.scope.clone();
        let outer_defs = std::mem::take(&mut self.defs);
        let pending = self.pending.clone();
        let mark = self.b.mark();
        self.b.open();
        self.trials += 1;
        self.frame.loops += 1;
        let flow = self.stmts(body);
        self.frame.loops -= 1;
        self.trials -= 1;
        flow?;
        let after = std::mem::replace(&mut self.scope, live.clone());
        let defs = std::mem::replace(&mut self.defs, outer_defs);
        self.pending = pending;
        let mut carried = Vec::new();
        for (name, before) in live.iter() {
            if target == Some(&**name) {
                continue;
            }
            let Some(now) = after.get(name) else { continue };
            if !defs.contains(name) && now.flattened() == before.flattened() {
                continue;
            }
            if matches!((before, now), (Val::Const(_), Val::Const(_))) {
                continue;
            }
            if !now.same_type(before) {
                let message = format!(
                    "`{name}` changes its type in a loop: {} before, {} after the first iteration",
                    before.describe(),
                    now.describe()
                );
                return Err(self.type_error(span, message));
            }
            if now.flattened() != before.flattened() {
                let mut parts = Vec::new();
                before.changed_parts(now, &mut parts);
                carried.push(Carried { name: name.clone(), before: before.clone(), parts });
            }
        }
        self.b.discard(mark);
        Ok(carried)
    }

    /// Fresh region arguments for carried names, bound to them.
    fn carry_in(&mut self, carried: &[Carried<'a>]) -> Vec<Value> {
        let mut args = Vec::new();
        for c in carried {
            let fresh: Vec<Value> = c.types().into_iter().map(|ty| self.b.value(ty)).collect();
            args.extend(&fresh);
            let value = c.before.replace(&c.parts, &mut fresh.into_iter());
            self.bind(&c.name, value);
        }
        args
    }

    /// The current values of carried names.
    fn carry_out(&self, carried: &[Carried<'a>]) -> Vec<Value> {
        let values = carried.iter().filter_map(|c| Some(self.scope.get(&c.name)?.pick(&c.parts)));
        values.flatten().map(|t| t.value).collect()
    }

    /// Binds carried names to the results of their loop.
    fn carried_results(&mut self, carried: &[Carried<'a>], results: Vec<Value>) {
        let mut results = results.into_iter();
        for c in carried {
            let value = c.before.replace(&c.parts, &mut results);
            self.bind(&c.name, value);
        }
    }

    /// Lowers a loop body unless an enclosing trial will throw it away.
    fn loop_body(&mut self, body: &'a [Stmt]) -> Result<()> {
        if self.trials > 0 {
            return Ok(());
        }
        self.frame.loops += 1;
        let flow = self.stmts(body);
        self.frame.loops -= 1;
        flow.map(|_| ())
    }

    pub(super) fn for_loop(&mut self, span: Span, target: &'a Expr, iter: &'a Expr, body: &'a [Stmt]) -> Result<Flow<'a>> {
        let Some(name) = target.as_name() else {
            return Err(self.rejected(target.span, "a loop over something other than one name"));
        };
        let ExprKind::Call { func, args, keywords } = &iter.kind else {
            return Err(self.rejected(iter.span, "a loop over something other than range, tl.range or tl.static_range"));
        };
        let is_static = match self.expr(func)? {
            Val::Builtin(builtin) if builtin.name == "range" => false,
            Val::Builtin(builtin) if builtin.name == "static_range" => true,
            other => {
                let message = format!("a loop over {}; only range, tl.range and tl.static_range are allowed", other.describe());
                return Err(self.rejected(iter.span, message));
            }
        };
        let bounds = self.range_bounds(iter.span, args, keywords)?;
        if is_static {
            let mut ints = [0i64; 3];
            for (slot, (value, span)) in ints.iter_mut().zip(&bounds) {
                let known = match value {
                    Val::Const(constant) => constant.as_int(),
                    _ => None,
                };
                *slot = known.ok_or_else(|| self.rejected(*span, "tl.static_range needs compile-time bounds"))?;
            }
            return self.static_loop(span, name, ints, body);
        }
        self.dynamic_loop(span, name, &bounds, body)?;
        Ok(Flow::Next)
    }

    /// Lower bound, upper bound and step, with their places.
    fn range_bounds(&mut self, span: Span, args: &'a [Expr], keywords: &'a [Keyword]) -> Result<[(Val<'a>, Span); 3]> {
        let mut given: [Option<(Val<'a>, Span)>; 3] = [None, None, None];
        if args.len() > 3 {
            return Err(self.rejected(span, "range takes at most three positional arguments"));
        }
        for (slot, arg) in given.iter_mut().zip(args) {
            *slot = Some((self.expr(arg)?, arg.span));
        }
        for keyword in keywords {
            let value = self.expr(&keyword.value)?;
            match keyword.name.as_deref() {
                Some("step") => given[2] = Some((value, keyword.span)),
                Some("arg2") => given[1] = Some((value, keyword.span)),
                // Hints to the compiler's pipeliner; they do not change values.
                Some(
                    "num_stages"
                    | "loop_unroll_factor"
                    | "disallow_acc_multi_buffer"
                    | "flatten"
                    | "warp_specialize"
                    | "disable_licm",
                ) => {}
                _ => return Err(self.rejected(keyword.span, "an unknown argument of range")),
            }
        }
        let [first, second, step] = given;
        let Some(first) = first else { return Err(self.rejected(span, "range needs a bound")) };
        let (lower, upper) = match second {
            Some(second) => (first, second),
            None => ((Val::int(0), span), first),
        };
        Ok([lower, upper, step.unwrap_or((Val::int(1), span))])
    }

    fn static_loop(&mut self, span: Span, name: &str, [start, end, step]: [i64; 3], body: &'a [Stmt]) -> Result<Flow<'a>> {
        if step == 0 {
            return Err(self.rejected(span, "a step of zero"));
        }
        let mut i = start;
        while (step > 0 && i < end) || (step < 0 && i > end) {
            self.scope.set(name, Val::int(i));
            if let Flow::Return(value) = self.stmts(body)? {
                return Ok(Flow::Return(value));
            }
            if self.b.values.len() > MAX_VALUES {
                return Err(self.unsupported(span, format!("a kernel of more than {MAX_VALUES} values; unroll less")));
            }
            let Some(next) = i.checked_add(step) else { break };
            i = next;
        }
        Ok(Flow::Next)
    }

    fn dynamic_loop(&mut self, span: Span, name: &str, bounds: &[(Val<'a>, Span); 3], body: &'a [Stmt]) -> Result<()> {
        let mut bounds = bounds.clone();
        // scf.for counts upwards: a negative compile-time step runs the mirrored loop.
        let mut mirrored = false;
        if let Val::Const(Constant::Int(step)) = bounds[2].0 {
            if step == 0 {
                return Err(self.rejected(bounds[2].1, "a step of zero"));
            }
            if step < 0 {
                bounds[2].0 = Val::int(-step);
                bounds.swap(0, 1);
                mirrored = true;
            }
        }
        let mut scalars = Vec::with_capacity(3);
        for (value, at) in &bounds {
            self.b.span = *at;
            let tensor = self.tensor_of(*at, value)?;
            if tensor.ty.is_block() || !tensor.ty.scalar.is_int() {
                return Err(self.type_error(*at, format!("a bound of a loop must be a scalar integer, not {}", tensor.ty)));
            }
            scalars.push(tensor);
        }
        let dtype = |tensor: &Tensor| match tensor.ty.scalar {
            Scalar::Num(dtype) => dtype,
            Scalar::Ptr(_) => DType::I64,
        };
        let counter = promote_integers(promote_integers(dtype(&scalars[0]), dtype(&scalars[1])), dtype(&scalars[2]));
        self.b.span = span;
        let mut cast = Vec::with_capacity(3);
        for tensor in &scalars {
            cast.push(self.cast(span, tensor, Scalar::Num(counter))?);
        }
        let [lower, upper, step] = [cast[0].value, cast[1].value, cast[2].value];
        let counter_ty = Ty::num(counter);

        // A stand-in for the counter while the body is tried; the counter itself afterwards.
        let i = self.b.value(counter_ty.ir());
        self.b.name(i, name);
        let counter_val = Val::Tensor(Tensor { value: i, ty: counter_ty.clone() });
        self.bind(name, counter_val.clone());
        let carried = self.carried(span, Some(name), body)?;
        let init = initial(&carried);

        let live = self.scope.clone();
        let outer_defs = std::mem::take(&mut self.defs);
        let pending = self.pending.clone();
        self.b.open();
        if mirrored {
            let down = self.b.inst(InstKind::Int(IntBinary::Sub, upper, i), counter_ty.ir());
            let down = self.b.inst(InstKind::Int(IntBinary::Add, down, lower), counter_ty.ir());
            self.bind(name, Val::Tensor(Tensor { value: down, ty: counter_ty }));
        }
        let mut args = vec![i];
        args.extend(self.carry_in(&carried));
        self.loop_body(body)?;
        let yields = self.carry_out(&carried);
        let region = self.b.close(args, yields);
        self.defs = outer_defs;
        self.pending = pending;
        self.scope = live;
        // The counter means nothing behind the loop.
        self.scope.remove(name);
        self.b.span = span;
        let types: Vec<Type> = carried.iter().flat_map(Carried::types).collect();
        let results = self.b.insts_with(InstKind::For { lower, upper, step, init, body: region }, &types);
        self.carried_results(&carried, results);
        Ok(())
    }

    pub(super) fn while_loop(&mut self, span: Span, test: &'a Expr, body: &'a [Stmt]) -> Result<()> {
        let carried = self.carried(span, None, body)?;
        let init = initial(&carried);
        let types: Vec<Type> = carried.iter().flat_map(Carried::types).collect();
        let live = self.scope.clone();
        let outer_defs = std::mem::take(&mut self.defs);
        let pending = self.pending.clone();

        self.b.open();
        let args = self.carry_in(&carried);
        let condition = self.expr(test)?;
        self.b.span = test.span;
        let condition = match condition {
            Val::Tensor(_) => match self.condition_of(test.span, &condition)? {
                Condition::Runtime(condition) => condition,
                Condition::Known(_) => return Err(self.rejected(test.span, "a `while` with a compile-time condition")),
            },
            other => {
                return Err(self.rejected(
                    test.span,
                    format!("a `while` over {}; its condition must be a run-time value", other.describe()),
                ));
            }
        };
        let mut yields = vec![condition.value];
        yields.extend(&args);
        let before = self.b.close(args, yields);

        self.b.open();
        self.scope = live.clone();
        let args = self.carry_in(&carried);
        self.loop_body(body)?;
        let yields = self.carry_out(&carried);
        let after = self.b.close(args, yields);

        self.scope = live;
        self.defs = outer_defs;
        self.pending = pending;
        self.b.span = span;
        let results = self.b.insts_with(InstKind::While { init, before, after }, &types);
        self.carried_results(&carried, results);
        Ok(())
    }
}
