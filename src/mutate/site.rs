//! Where an operator works: one statement of one function, with what its names are.
//!
//! Everything here reads syntax alone: no types, no values. Operators ask for the expressions,
//! calls and operators of the statement and answer with edits.

use crate::source::{SourceFile, Span};
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, FunctionDef, Keyword, Stmt, StmtKind};
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

use super::mutation::Edit;

/// Which language a function is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A `@triton.jit` function.
    Kernel,
    /// The wrapper's `launch`.
    Wrapper,
    /// `prepare` and `forward` of `run.py`.
    Runner,
}

/// One statement to mutate.
pub struct Site<'a> {
    pub part: Part,
    pub file: &'a SourceFile,
    pub function: &'a FunctionDef,
    pub stmt: &'a Stmt,
    /// The next statement of the same block.
    pub next: Option<&'a Stmt>,
}

impl<'a> Site<'a> {
    pub fn text(&self, span: Span) -> &'a str {
        self.file.slice(span)
    }

    /// Every expression of the statement, blocks inside it excepted, parents first.
    pub fn exprs(&self) -> Vec<&'a Expr> {
        let mut found = Vec::new();
        for expr in own_exprs(self.stmt) {
            each_expr(expr, &mut |e| found.push(e));
        }
        found
    }

    /// Binary expressions: the expression, operator, operands.
    pub fn binaries(&self) -> Vec<(&'a Expr, BinaryOp, &'a Expr, &'a Expr)> {
        let binary = |e: &'a Expr| match &e.kind {
            ExprKind::Binary(op, a, b) => Some((e, *op, a.as_ref(), b.as_ref())),
            _ => None,
        };
        self.exprs().into_iter().filter_map(binary).collect()
    }

    /// Calls of a function whose dotted name ends in one of these.
    pub fn calls(&self, names: &[&str]) -> Vec<Call<'a>> {
        let call = |e: &'a Expr| match &e.kind {
            ExprKind::Call { func, args, keywords } => {
                let name = last_name(func)?;
                names.contains(&name.as_str()).then_some(Call { expr: e, func, name, args, keywords })
            }
            _ => None,
        };
        self.exprs().into_iter().filter_map(call).collect()
    }

    /// Names that the function reads or binds which fit, each once, in order of appearance.
    pub fn names(&self, fits: impl Fn(&str) -> bool) -> Vec<&'a str> {
        let mut found: Vec<&'a str> = Vec::new();
        let mut add = |name: &'a str| {
            if fits(name) && !found.contains(&name) {
                found.push(name);
            }
        };
        self.function.params.iter().for_each(|p| add(&p.name));
        each_stmt(&self.function.body, &mut |stmt| {
            for expr in own_exprs(stmt) {
                each_expr(expr, &mut |e| {
                    if let ExprKind::Name(name) = &e.kind {
                        add(name);
                    }
                });
            }
        });
        found
    }

    /// Replaces a binary operator: the operator's own characters alone.
    pub fn operator(&self, a: &Expr, b: &Expr, from: &str, to: &str) -> Option<Edit> {
        let gap = Span { start: a.span.end, end: b.span.start };
        let at = self.text(gap).find(from)?;
        let start = gap.start as usize + at;
        Some(Edit::new(Span::new(start, start + from.len()), to))
    }

    /// Replaces an expression by a part of it.
    pub fn keep(&self, whole: &Expr, part: &Expr) -> Edit {
        Edit::new(whole.span, self.grouped(part))
    }

    /// An expression's text that binds as tightly as a name.
    pub fn grouped(&self, expr: &Expr) -> String {
        let text = self.text(expr.span);
        match &expr.kind {
            ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Compare { .. }
            | ExprKind::Logical(..)
            | ExprKind::Conditional { .. }
            | ExprKind::Starred(_)
            | ExprKind::Lambda { .. } => format!("({text})"),
            ExprKind::Name(_)
            | ExprKind::Int(_)
            | ExprKind::BigInt(_)
            | ExprKind::Float(_)
            | ExprKind::Str(_)
            | ExprKind::Bool(_)
            | ExprKind::None
            | ExprKind::Ellipsis
            | ExprKind::FString(_)
            | ExprKind::Tuple(_)
            | ExprKind::List(_)
            | ExprKind::Dict(_)
            | ExprKind::Call { .. }
            | ExprKind::Attribute { .. }
            | ExprKind::Subscript { .. }
            | ExprKind::Slice { .. }
            | ExprKind::Other(_) => text.to_owned(),
        }
    }

    /// Takes arguments out of a call, with the comma behind them.
    pub fn without(&self, span: Span) -> Edit {
        let rest = &self.file.text()[span.end as usize..];
        let blanks = rest.len() - rest.trim_start().len();
        let comma = if rest.trim_start().starts_with(',') { blanks + 1 } else { 0 };
        Edit::new(Span::new(span.start as usize, span.end as usize + comma), "")
    }

    /// Exchanges two expressions that do not overlap.
    pub fn exchange(&self, a: &Expr, b: &Expr) -> Edit {
        let (a, b) = if a.span.start <= b.span.start { (a, b) } else { (b, a) };
        let between = self.text(Span { start: a.span.end, end: b.span.start });
        Edit::new(a.span.to(b.span), format!("{}{between}{}", self.text(b.span), self.text(a.span)))
    }
}

/// A call in a statement.
pub struct Call<'a> {
    pub expr: &'a Expr,
    pub func: &'a Expr,
    /// The last part of the callee's dotted name.
    pub name: String,
    pub args: &'a [Expr],
    pub keywords: &'a [Keyword],
}

impl<'a> Call<'a> {
    pub fn keyword(&self, name: &str) -> Option<&'a Keyword> {
        self.keywords.iter().find(|k| k.name.as_deref() == Some(name))
    }
}

/// `load` of `tl.load`, `to` of `x.to`.
fn last_name(func: &Expr) -> Option<String> {
    match &func.kind {
        ExprKind::Name(name) => Some(name.clone()),
        ExprKind::Attribute { value: _, name } => Some(name.clone()),
        _ => None,
    }
}

/// Whether an expression mentions a name that fits.
pub fn mentions(expr: &Expr, fits: impl Fn(&str) -> bool) -> bool {
    let mut found = false;
    each_expr(expr, &mut |e| found |= e.as_name().is_some_and(&fits));
    found
}

/// The name that a statement assigns to.
pub fn target(stmt: &Stmt) -> Option<&str> {
    match &stmt.kind {
        StmtKind::Assign { targets, value: _ } => targets.first().and_then(Expr::as_name),
        StmtKind::AugAssign { target, .. } | StmtKind::AnnAssign { target, .. } => target.as_name(),
        _ => None,
    }
}
