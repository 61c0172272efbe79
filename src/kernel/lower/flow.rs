//! Statements: assignments, `if`, `for`, `while`, `return`, and the SSA values they merge.
//!
//! * A compile-time `if` lowers one branch; a run-time one becomes `scf.if` over the names whose
//!   values differ. In the kernel itself, an `if` that contains a `return` becomes `cf.cond_br`
//!   between top-level blocks. In a helper it becomes an `scf.if` that yields the returned values,
//!   with the statements that follow lowered into each branch that does not return.
//! * A loop body is lowered on trial first to find which names it changes. Inside a trial, loops
//!   nested in it are tried but not lowered again, so that the cost is depth + 1 visits and not
//!   2^depth.
//! * A name first bound inside a loop, or in one branch only, is gone afterwards, as in Triton.

use std::sync::Arc;

use super::types::{Scalar, Ty, number_type, promote_integers};
use super::value::{Scope, Tensor, Val};
use super::{Lower, shape_text};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{BlockId, InstKind, IntBinary, Region, Terminator, Type, Value};
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Keyword, Stmt, StmtKind};

/// Whether control goes on behind a list of statements.
pub enum Flow<'a> {
    Next,
    /// Every path has returned.
    Return(Val<'a>),
}

/// Statements still to be lowered: a list, then what follows it.
struct Rest<'a, 'r> {
    stmts: &'a [Stmt],
    next: Option<&'r Rest<'a, 'r>>,
}

/// A branch that has been lowered: the names after it.
struct Branch<'a> {
    scope: Scope<'a>,
    defs: Vec<Arc<str>>,
}

/// A name that two branches leave with different values.
struct Merged<'a> {
    name: Arc<str>,
    then: Val<'a>,
    other: Val<'a>,
}

impl<'a> Lower<'a, '_> {
    /// The body of the kernel, in top-level blocks.
    pub fn entry_body(&mut self, function: &'a FunctionDef) -> Result<()> {
        if let Flow::Return(value) = self.stmts(&function.body)?
            && !value.is_none()
        {
            return Err(self.rejected(function.name_span, "a kernel returns nothing"));
        }
        self.b.terminate(Terminator::Return);
        Ok(())
    }

    /// The body of an inlined helper; the value it returns.
    pub fn helper_body(&mut self, function: &'a FunctionDef) -> Result<Val<'a>> {
        match self.run(&Rest { stmts: &function.body, next: None })? {
            Flow::Return(value) => Ok(value),
            Flow::Next => Ok(Val::Const(Constant::None)),
        }
    }

    /// Lowers statements and then what follows them, in a helper.
    fn run(&mut self, rest: &Rest<'a, '_>) -> Result<Flow<'a>> {
        for (i, stmt) in rest.stmts.iter().enumerate() {
            let after = Rest { stmts: &rest.stmts[i + 1..], next: rest.next };
            match &stmt.kind {
                StmtKind::If { test, body, orelse } if returns(body) || returns(orelse) => {
                    let known = match self.condition(test)? {
                        Condition::Known(known) => known,
                        Condition::Runtime(condition) => {
                            let body = Rest { stmts: body, next: Some(&after) };
                            let orelse = Rest { stmts: orelse, next: Some(&after) };
                            return self.returning_if(stmt.span, &condition, &body, &orelse);
                        }
                    };
                    let taken = Rest { stmts: if known { body } else { orelse }, next: None };
                    if let Flow::Return(value) = self.run(&taken)? {
                        return Ok(Flow::Return(self.with_unreached(stmt.span, value, &after)?));
                    }
                }
                _ => {
                    if let Flow::Return(value) = self.stmt(stmt)? {
                        return Ok(Flow::Return(value));
                    }
                }
            }
        }
        match rest.next {
            Some(next) => self.run(next),
            None => Ok(Flow::Next),
        }
    }

    /// A value returned under a compile-time condition, checked against what is behind it: Triton
    /// compiles that too, and all returns of a function must agree.
    fn with_unreached(&mut self, span: Span, value: Val<'a>, after: &Rest<'a, '_>) -> Result<Val<'a>> {
        let mark = self.b.mark();
        let scope = self.scope.clone();
        self.b.open();
        self.trials += 1;
        let flow = self.run(after);
        self.trials -= 1;
        self.b.discard(mark);
        self.scope = scope;
        // A body that ends without `return` counts only where nothing else is behind it.
        let Flow::Return(other) = flow? else { return Ok(value) };
        if value.same_type(&other) {
            return Ok(value);
        }
        let value = self.materialise(span, &value)?;
        if !same_return(&value, &other) {
            let message =
                format!("the returns of a helper differ in type: {} and {} behind it", value.describe(), other.describe());
            return Err(self.type_error(span, message));
        }
        Ok(value)
    }

    /// An `scf.if` in a helper whose branches run to the end of the function.
    fn returning_if(&mut self, span: Span, condition: &Tensor, body: &Rest<'a, '_>, orelse: &Rest<'a, '_>) -> Result<Flow<'a>> {
        if self.frame.loops > 0 {
            return Err(self.rejected(span, "`return` inside a loop"));
        }
        if self.b.depth() > MAX_DEPTH {
            return Err(self.unsupported(span, format!("branches nested more than {MAX_DEPTH} deep")));
        }
        let live = self.scope.clone();
        let branch = |lower: &mut Self, rest: &Rest<'a, '_>| -> Result<(Val<'a>, Region)> {
            lower.scope = live.clone();
            lower.b.open();
            let value = match lower.run(rest)? {
                Flow::Return(value) => value,
                Flow::Next => Val::Const(Constant::None),
            };
            // Numbers are returned as run-time constants when the branches' numbers differ.
            Ok((value, lower.b.close(Vec::new(), Vec::new())))
        };
        let (then_value, mut then) = branch(self, body)?;
        let (other_value, mut otherwise) = branch(self, orelse)?;
        let (then_value, other_value) = if then_value.same_type(&other_value) {
            (then_value, other_value)
        } else {
            (
                self.in_region(&mut then, |l| l.materialise(span, &then_value))?,
                self.in_region(&mut otherwise, |l| l.materialise(span, &other_value))?,
            )
        };
        if !then_value.same_type(&other_value) {
            let message =
                format!("the returns of a helper differ in type: {} and {}", then_value.describe(), other_value.describe());
            return Err(self.type_error(span, message));
        }
        then.yields = then_value.flattened().iter().map(|t| t.value).collect();
        otherwise.yields = other_value.flattened().iter().map(|t| t.value).collect();
        let types: Vec<Type> = then_value.flattened().iter().map(|t| t.ty.ir()).collect();
        self.b.span = span;
        let results = self.b.insts_with(InstKind::If { condition: condition.value, then, otherwise }, &types);
        self.scope = live;
        Ok(Flow::Return(then_value.rebuild(&mut results.into_iter())))
    }

    /// Appends more instructions to a closed region.
    fn in_region<T>(&mut self, region: &mut Region, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.b.open();
        let result = work(self);
        let more = self.b.close(Vec::new(), Vec::new());
        region.insts.extend(more.insts);
        result
    }

    /// Python numbers, also inside tuples, as run-time constants.
    fn materialise(&mut self, span: Span, value: &Val<'a>) -> Result<Val<'a>> {
        match value {
            Val::Tuple(items) => Ok(Val::Tuple(items.iter().map(|item| self.materialise(span, item)).collect::<Result<_>>()?)),
            Val::Const(Constant::Int(_) | Constant::Float(_) | Constant::Bool(_)) => {
                self.b.span = span;
                Ok(Val::Tensor(self.to_tensor(span, value)?))
            }
            other => Ok(other.clone()),
        }
    }

    pub fn stmts(&mut self, stmts: &'a [Stmt]) -> Result<Flow<'a>> {
        for stmt in stmts {
            if let Flow::Return(value) = self.stmt(stmt)? {
                return Ok(Flow::Return(value));
            }
        }
        Ok(Flow::Next)
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> Result<Flow<'a>> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign { targets, value } => {
                let [target] = targets.as_slice() else {
                    return Err(self.rejected(span, "an assignment to several targets; assign one after the other"));
                };
                let value = self.expr(value)?;
                self.assign(target, value, span)?;
            }
            StmtKind::AnnAssign { target, annotation, value } => self.annotated(target, annotation, value.as_ref(), span)?,
            StmtKind::AugAssign { target, op, value } => {
                if target.as_name().is_none() {
                    return Err(self.rejected(target.span, "an assignment to something other than a name"));
                }
                let left = self.expr(target)?;
                let right = self.expr(value)?;
                self.b.span = span;
                let result = self.binary(span, *op, &left, &right)?;
                self.assign(target, result, span)?;
            }
            StmtKind::Expr(expr) => {
                // A docstring is the one bare string that is allowed.
                if !matches!(expr.kind, ExprKind::Str(_)) {
                    self.expr(expr)?;
                }
            }
            StmtKind::If { test, body, orelse } => match self.condition(test)? {
                Condition::Known(true) => return self.stmts(body),
                Condition::Known(false) => return self.stmts(orelse),
                Condition::Runtime(condition) => {
                    if returns(body) || returns(orelse) {
                        if self.frame.loops > 0 || !self.frame.entry || self.b.in_region() {
                            return Err(self.rejected(span, "`return` inside a loop or a nested branch"));
                        }
                        return self.top_level_if(span, &condition, body, orelse);
                    }
                    self.structured_if(span, &condition, body, orelse)?;
                }
            },
            StmtKind::For { target, iter, body, orelse } => {
                if let Some(first) = orelse.first() {
                    return Err(self.rejected(first.span, "`else` behind a loop"));
                }
                return self.for_loop(span, target, iter, body);
            }
            StmtKind::While { test, body, orelse } => {
                if let Some(first) = orelse.first() {
                    return Err(self.rejected(first.span, "`else` behind a loop"));
                }
                self.while_loop(span, test, body)?;
            }
            StmtKind::Return(value) => {
                if self.frame.loops > 0 {
                    return Err(self.rejected(span, "`return` inside a loop"));
                }
                let value = match value {
                    Some(value) => self.expr(value)?,
                    None => Val::Const(Constant::None),
                };
                return Ok(Flow::Return(value));
            }
            StmtKind::Assert { test, message } => {
                let condition = self.expr(test)?;
                let message = match message {
                    Some(message) => self.expr(message)?.to_constant().and_then(|c| c.as_str().map(str::to_owned)),
                    None => None,
                };
                self.b.span = span;
                self.device_assert(span, &condition, message.as_deref().unwrap_or(""))?;
            }
            StmtKind::Pass => {}
            StmtKind::Break => return Err(self.rejected(span, "`break`; put the condition into a `while` or a mask")),
            StmtKind::Continue => return Err(self.rejected(span, "`continue`; put the rest of the body under an `if`")),
            StmtKind::Function(function) => {
                return Err(self.rejected(function.name_span, "a function inside a kernel; move it to module level"));
            }
            StmtKind::Import(_) | StmtKind::ImportFrom { .. } => {
                return Err(self.rejected(span, "an import inside a kernel; move it to module level"));
            }
            StmtKind::Class { .. } => return Err(self.rejected(span, "a class inside a kernel")),
            StmtKind::Raise(_) => return Err(self.rejected(span, "`raise`; use tl.device_assert or tl.static_assert")),
            StmtKind::Other(what) => return Err(self.rejected(span, format!("`{what}` in a kernel"))),
        }
        Ok(Flow::Next)
    }

    fn annotated(&mut self, target: &'a Expr, annotation: &'a Expr, value: Option<&'a Expr>, span: Span) -> Result<()> {
        let Some(name) = target.as_name() else {
            return Err(self.rejected(target.span, "an annotated assignment to something other than a name"));
        };
        let constexpr = self.names.is_constexpr(annotation);
        let Some(value) = value else {
            if constexpr {
                self.pending.push(name.to_owned());
            }
            return Ok(());
        };
        let value = self.expr(value)?;
        if !constexpr {
            return self.assign(target, value, span);
        }
        if self.scope.get(name).is_some() {
            return Err(self.rejected(target.span, format!("`{name}` is already defined; a constexpr cannot be assigned again")));
        }
        self.bind(name, value);
        Ok(())
    }

    pub fn bind(&mut self, name: &str, value: Val<'a>) {
        for tensor in value.flattened() {
            self.b.name(tensor.value, name);
        }
        self.scope.set(name, value);
        if !self.defs.iter().any(|known| &**known == name) {
            self.defs.push(Arc::from(name));
        }
    }

    fn assign(&mut self, target: &'a Expr, value: Val<'a>, span: Span) -> Result<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                if let Some(at) = self.pending.iter().position(|p| p == name) {
                    self.pending.remove(at);
                    self.bind(name, value);
                    return Ok(());
                }
                let value = self.storable(span, value)?;
                self.bind(name, value);
                Ok(())
            }
            ExprKind::Tuple(targets) | ExprKind::List(targets) => {
                let Val::Tuple(values) = value else {
                    return Err(self.type_error(span, format!("cannot unpack {}", value.describe())));
                };
                if let Some(starred) = targets.iter().find(|t| matches!(t.kind, ExprKind::Starred(_))) {
                    return Err(self.rejected(starred.span, "a starred target"));
                }
                if values.len() != targets.len() {
                    let message = format!("{} values for {} targets", values.len(), targets.len());
                    return Err(self.type_error(span, message));
                }
                for (target, value) in targets.iter().zip(values) {
                    self.assign(target, value, span)?;
                }
                Ok(())
            }
            ExprKind::Subscript { .. } => {
                Err(self.rejected(target.span, "an assignment to an element of a block; use tl.where or tl.store"))
            }
            _ => Err(self.rejected(target.span, "an assignment to something other than a name")),
        }
    }

    /// What an assignment binds: a Python number becomes a run-time constant.
    fn storable(&mut self, span: Span, value: Val<'a>) -> Result<Val<'a>> {
        match value {
            Val::Const(Constant::Int(_) | Constant::Float(_) | Constant::Bool(_)) => {
                self.b.span = span;
                Ok(Val::Tensor(self.to_tensor(span, &value)?))
            }
            Val::Tuple(items) => Ok(Val::Tuple(items.into_iter().map(|item| self.storable(span, item)).collect::<Result<_>>()?)),
            Val::Const(Constant::None) | Val::Tensor(_) | Val::Type(_) => Ok(value),
            other => {
                let message = format!("{} cannot be assigned to a variable; annotate it as tl.constexpr", other.describe());
                Err(self.rejected(span, message))
            }
        }
    }

    /// The condition of an `if`, `while` or conditional expression.
    pub fn condition(&mut self, test: &'a Expr) -> Result<Condition> {
        let value = self.expr(test)?;
        self.b.span = test.span;
        self.condition_of(test.span, &value)
    }

    fn condition_of(&mut self, span: Span, value: &Val<'a>) -> Result<Condition> {
        match value {
            Val::Tensor(tensor) => {
                if tensor.ty.is_block() {
                    let shape = shape_text(&tensor.ty.shape);
                    return Err(self.type_error(span, format!("a block of {shape} as a condition; reduce it to a scalar first")));
                }
                Ok(Condition::Runtime(self.cast(span, tensor, Scalar::Num(DType::Bool))?))
            }
            Val::Const(constant @ (Constant::Bool(_) | Constant::Int(_) | Constant::None)) => {
                Ok(Condition::Known(constant.truthy()))
            }
            other => {
                let message = format!("{} as a condition; only bool, int and None are allowed", other.describe());
                Err(self.rejected(span, message))
            }
        }
    }

    /// Lowers a branch into an open region, starting from given names.
    fn branch(&mut self, live: &Scope<'a>, stmts: &'a [Stmt]) -> Result<(Branch<'a>, Flow<'a>)> {
        self.scope = live.clone();
        let outer = std::mem::take(&mut self.defs);
        let pending = self.pending.clone();
        let flow = self.stmts(stmts)?;
        self.pending = pending;
        let defs = std::mem::replace(&mut self.defs, outer);
        Ok((Branch { scope: std::mem::take(&mut self.scope), defs }, flow))
    }

    /// The names that two branches leave with different values, or both define.
    fn merge(&self, span: Span, live: &Scope<'a>, then: &Branch<'a>, other: &Branch<'a>) -> Result<Vec<Merged<'a>>> {
        let mut merged: Vec<Merged<'a>> = Vec::new();
        let mismatch = |name: &str, a: &Val<'a>, b: &Val<'a>| {
            let message = format!("`{name}` changes its type across an `if`: {} and {}", a.describe(), b.describe());
            self.type_error(span, message)
        };
        for (name, before) in live.iter() {
            let (Some(a), Some(b)) = (then.scope.get(name), other.scope.get(name)) else { continue };
            let constants = matches!((a, b), (Val::Const(_), Val::Const(_)));
            if a.flattened() == b.flattened() && (constants || a.same_type(b)) {
                continue;
            }
            let both = then.defs.contains(name) && other.defs.contains(name);
            // A name that was None may become a value in both branches alike.
            for value in [a, b] {
                if !value.same_type(before) && !(before.is_none() && both && a.same_type(b)) {
                    return Err(mismatch(name, before, value));
                }
            }
            merged.push(Merged { name: name.clone(), then: a.clone(), other: b.clone() });
        }
        let mut both: Vec<&Arc<str>> = then.defs.iter().filter(|name| other.defs.contains(name)).collect();
        both.sort();
        for name in both {
            if live.get(name).is_some() {
                continue;
            }
            let (Some(a), Some(b)) = (then.scope.get(name), other.scope.get(name)) else { continue };
            if !a.same_type(b) {
                return Err(mismatch(name, a, b));
            }
            merged.push(Merged { name: name.clone(), then: a.clone(), other: b.clone() });
        }
        Ok(merged)
    }

    /// The scope behind two branches that were merged into values.
    fn rebind(&mut self, live: Scope<'a>, merged: &[Merged<'a>], values: Vec<Value>) {
        self.scope = live;
        let mut values = values.into_iter();
        for m in merged {
            let value = m.then.rebuild(&mut values);
            self.bind(&m.name, value);
        }
    }

    fn structured_if(&mut self, span: Span, condition: &Tensor, body: &'a [Stmt], orelse: &'a [Stmt]) -> Result<()> {
        let live = self.scope.clone();
        self.b.open();
        let (then, _) = self.branch(&live, body)?;
        let mut then_region = self.b.close(Vec::new(), Vec::new());
        self.b.open();
        let (other, _) = self.branch(&live, orelse)?;
        let mut other_region = self.b.close(Vec::new(), Vec::new());
        let merged = self.merge(span, &live, &then, &other)?;
        then_region.yields = merged.iter().flat_map(|m| m.then.flattened()).map(|t| t.value).collect();
        other_region.yields = merged.iter().flat_map(|m| m.other.flattened()).map(|t| t.value).collect();
        let types: Vec<Type> = merged.iter().flat_map(|m| m.then.flattened()).map(|t| t.ty.ir()).collect();
        self.b.span = span;
        let kind = InstKind::If { condition: condition.value, then: then_region, otherwise: other_region };
        let results = self.b.insts_with(kind, &types);
        self.rebind(live, &merged, results);
        Ok(())
    }

    fn top_level_if(&mut self, span: Span, condition: &Tensor, body: &'a [Stmt], orelse: &'a [Stmt]) -> Result<Flow<'a>> {
        let live = self.scope.clone();
        let (then_block, other_block) = (self.b.new_block(), self.b.new_block());
        self.b.span = span;
        self.b.terminate(Terminator::CondBranch {
            condition: condition.value,
            then: (then_block, Vec::new()),
            otherwise: (other_block, Vec::new()),
        });
        self.b.go_to(then_block);
        let (then, then_flow) = self.branch(&live, body)?;
        let then_end = self.b.current_block();
        self.b.go_to(other_block);
        let (other, other_flow) = self.branch(&live, orelse)?;
        let other_end = self.b.current_block();
        for flow in [&then_flow, &other_flow] {
            if let Flow::Return(value) = flow
                && !value.is_none()
            {
                return Err(self.rejected(span, "a kernel returns nothing"));
            }
        }
        let (gone, goes_on, branch) = match (then_flow, other_flow) {
            (Flow::Return(value), Flow::Return(_)) => {
                for block in [then_end, other_end].into_iter().flatten() {
                    self.b.go_to(block);
                    self.b.terminate(Terminator::Return);
                }
                self.scope = live;
                // What follows is never reached; it is not lowered.
                return Ok(Flow::Return(value));
            }
            (Flow::Next, Flow::Next) => {
                self.join(span, live, [(then, then_end), (other, other_end)])?;
                return Ok(Flow::Next);
            }
            (Flow::Return(_), Flow::Next) => (then_end, other_end, other),
            (Flow::Next, Flow::Return(_)) => (other_end, then_end, then),
        };
        if let Some(gone) = gone {
            self.b.go_to(gone);
            self.b.terminate(Terminator::Return);
        }
        if let Some(goes_on) = goes_on {
            self.b.go_to(goes_on);
        }
        // The branch that goes on keeps its values; names first bound in it are gone all the same, as
        // Triton demands a definition in both.
        self.scope = Scope::default();
        for (name, before) in live.iter() {
            let now = branch.scope.get(name).unwrap_or(before);
            if !now.same_type(before) && !before.is_none() {
                let message = format!("`{name}` changes its type across an `if`: {} and {}", before.describe(), now.describe());
                return Err(self.type_error(span, message));
            }
            self.scope.set(name, now.clone());
        }
        Ok(Flow::Next)
    }

    /// A block behind two branches, which takes what they leave different.
    fn join(&mut self, span: Span, live: Scope<'a>, branches: [(Branch<'a>, Option<BlockId>); 2]) -> Result<()> {
        let [(then, then_end), (other, other_end)] = branches;
        let merged = self.merge(span, &live, &then, &other)?;
        let join = self.b.new_block();
        let types: Vec<Type> = merged.iter().flat_map(|m| m.then.flattened()).map(|t| t.ty.ir()).collect();
        let values: Vec<Value> = types.into_iter().map(|ty| self.b.block_arg(join, ty)).collect();
        for (end, pick_then) in [(then_end, true), (other_end, false)] {
            let args = merged.iter().flat_map(|m| if pick_then { m.then.flattened() } else { m.other.flattened() });
            let args = args.map(|t| t.value).collect();
            if let Some(end) = end {
                self.b.go_to(end);
                self.b.terminate(Terminator::Branch { to: join, args });
            }
        }
        self.b.go_to(join);
        self.rebind(live, &merged, values);
        Ok(())
    }

    /// The names that a loop body changes, with their values before it, found by a trial.
    fn carried(&mut self, span: Span, target: Option<&str>, body: &'a [Stmt]) -> Result<Vec<(Arc<str>, Val<'a>)>> {
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
                carried.push((name.clone(), before.clone()));
            }
        }
        self.b.discard(mark);
        Ok(carried)
    }

    /// Fresh region arguments for carried names, bound to them.
    fn carry_in(&mut self, carried: &[(Arc<str>, Val<'a>)]) -> Vec<Value> {
        let mut args = Vec::new();
        for (name, before) in carried {
            let fresh: Vec<Value> = before.flattened().iter().map(|t| self.b.value(t.ty.ir())).collect();
            args.extend(&fresh);
            let value = before.rebuild(&mut fresh.into_iter());
            self.bind(name, value);
        }
        args
    }

    /// The current values of carried names.
    fn carry_out(&self, carried: &[(Arc<str>, Val<'a>)]) -> Vec<Value> {
        let values = carried.iter().filter_map(|(name, _)| self.scope.get(name));
        values.flat_map(|value| value.flattened()).map(|t| t.value).collect()
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

    fn for_loop(&mut self, span: Span, target: &'a Expr, iter: &'a Expr, body: &'a [Stmt]) -> Result<Flow<'a>> {
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
            let tensor = self.to_tensor(*at, value)?;
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
        let init = carried.iter().flat_map(|(_, before)| before.flattened()).map(|t| t.value).collect();

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
        let types: Vec<Type> = carried.iter().flat_map(|(_, before)| before.flattened()).map(|t| t.ty.ir()).collect();
        let results = self.b.insts_with(InstKind::For { lower, upper, step, init, body: region }, &types);
        let mut results = results.into_iter();
        for (name, before) in &carried {
            let value = before.rebuild(&mut results);
            self.bind(name, value);
        }
        Ok(())
    }

    fn while_loop(&mut self, span: Span, test: &'a Expr, body: &'a [Stmt]) -> Result<()> {
        let carried = self.carried(span, None, body)?;
        let init = carried.iter().flat_map(|(_, before)| before.flattened()).map(|t| t.value).collect();
        let types: Vec<Type> = carried.iter().flat_map(|(_, before)| before.flattened()).map(|t| t.ty.ir()).collect();
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
        let mut results = results.into_iter();
        for (name, before) in &carried {
            let value = before.rebuild(&mut results);
            self.bind(name, value);
        }
        Ok(())
    }
}

/// A condition that is known, or a run-time i1.
pub enum Condition {
    Known(bool),
    Runtime(Tensor),
}

/// Whether two returned values have one type once their numbers are run-time constants.
fn same_return(a: &Val<'_>, b: &Val<'_>) -> bool {
    let scalar = |value: &Val<'_>| match value {
        Val::Tensor(tensor) => Some(tensor.ty.clone()),
        Val::Const(constant) => number_type(constant).map(Ty::num),
        _ => None,
    };
    match (a, b) {
        (Val::Tuple(a), Val::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_return(a, b)),
        _ => match (scalar(a), scalar(b)) {
            (Some(a), Some(b)) => a == b,
            (None, None) => a.is_none() && b.is_none(),
            _ => false,
        },
    }
}

/// Branches that run to the end of a helper nest; deeper than this is refused.
const MAX_DEPTH: usize = 90;

/// Unrolled loops stop here.
const MAX_VALUES: usize = 1 << 20;

/// Whether statements contain a `return`, at any depth.
fn returns(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) => true,
        StmtKind::If { body, orelse, .. } | StmtKind::For { body, orelse, .. } | StmtKind::While { body, orelse, .. } => {
            returns(body) || returns(orelse)
        }
        StmtKind::Import(_)
        | StmtKind::ImportFrom { .. }
        | StmtKind::Function(_)
        | StmtKind::Class { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AnnAssign { .. }
        | StmtKind::AugAssign { .. }
        | StmtKind::Expr(_)
        | StmtKind::Raise(_)
        | StmtKind::Assert { .. }
        | StmtKind::Pass
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Other(_) => false,
    })
}
