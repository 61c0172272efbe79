//! Run-time `if`: `scf.if` over the names whose values differ, or, for an `if` of the kernel itself that
//! contains a `return`, `cf.cond_br` between top-level blocks.

use std::sync::Arc;

use super::Flow;
use crate::diag::Result;
use crate::kernel::ir::{BlockId, InstKind, Terminator, Type, Value};
use crate::kernel::lower::Lower;
use crate::kernel::lower::value::{Scope, Tensor, Val};
use crate::source::Span;
use crate::syntax::ast::Stmt;

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
    /// Which of their run-time values differ.
    parts: Vec<bool>,
}

impl<'a> Merged<'a> {
    fn new(name: &Arc<str>, then: &Val<'a>, other: &Val<'a>) -> Merged<'a> {
        let mut parts = Vec::new();
        then.changed_parts(other, &mut parts);
        Merged { name: name.clone(), then: then.clone(), other: other.clone(), parts }
    }

    fn types(&self) -> Vec<Type> {
        self.then.pick(&self.parts).iter().map(|t| t.ty.ir()).collect()
    }
}

/// What one branch leaves in the names that are merged.
fn left<'a>(merged: &[Merged<'a>], value: impl Fn(&Merged<'a>) -> Val<'a>) -> Vec<Value> {
    merged.iter().flat_map(|m| value(m).pick(&m.parts)).map(|t| t.value).collect()
}

impl<'a> Lower<'a, '_> {
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
                let from_none = before.is_none() && both && a.same_type(b);
                if !value.same_type(before) && !from_none {
                    return Err(mismatch(name, before, value));
                }
            }
            merged.push(Merged::new(name, a, b));
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
            merged.push(Merged::new(name, a, b));
        }
        Ok(merged)
    }

    /// The scope behind two branches that were merged into values.
    fn rebind(&mut self, live: Scope<'a>, merged: &[Merged<'a>], values: Vec<Value>) {
        self.scope = live;
        let mut values = values.into_iter();
        for m in merged {
            let value = m.then.replace(&m.parts, &mut values);
            self.bind(&m.name, value);
        }
    }

    pub(super) fn structured_if(&mut self, span: Span, condition: &Tensor, body: &'a [Stmt], orelse: &'a [Stmt]) -> Result<()> {
        let live = self.scope.clone();
        self.b.open();
        let (then, _) = self.branch(&live, body)?;
        let mut then_region = self.b.close(Vec::new(), Vec::new());
        self.b.open();
        let (other, _) = self.branch(&live, orelse)?;
        let mut other_region = self.b.close(Vec::new(), Vec::new());
        let merged = self.merge(span, &live, &then, &other)?;
        then_region.yields = left(&merged, |m| m.then.clone());
        other_region.yields = left(&merged, |m| m.other.clone());
        let types: Vec<Type> = merged.iter().flat_map(Merged::types).collect();
        self.b.span = span;
        let kind = InstKind::If { condition: condition.value, then: then_region, otherwise: other_region };
        let results = self.b.insts_with(kind, &types);
        self.rebind(live, &merged, results);
        Ok(())
    }

    pub(super) fn top_level_if(
        &mut self,
        span: Span,
        condition: &Tensor,
        body: &'a [Stmt],
        orelse: &'a [Stmt],
    ) -> Result<Flow<'a>> {
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
        let types: Vec<Type> = merged.iter().flat_map(Merged::types).collect();
        let values: Vec<Value> = types.into_iter().map(|ty| self.b.block_arg(join, ty)).collect();
        for (end, pick_then) in [(then_end, true), (other_end, false)] {
            let args = left(&merged, |m| if pick_then { m.then.clone() } else { m.other.clone() });
            if let Some(end) = end {
                self.b.go_to(end);
                self.b.terminate(Terminator::Branch { to: join, args });
            }
        }
        self.b.go_to(join);
        self.rebind(live, &merged, values);
        Ok(())
    }
}
