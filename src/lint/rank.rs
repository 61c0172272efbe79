//! How many axes the values of device functions have, as far as the text alone says it.
//!
//! A forward pass over each function, repeated until nothing changes: `tl.arange` has one axis, `x[:, None]`
//! has as many as its index has parts, arithmetic has the larger of its operands', a load has its pointer's.
//! Parameters of an entry have none (pointers, numbers); those of a helper have what its calls give, when all
//! agree. What is not known stays unknown, and rules that need a rank say nothing of it.

use std::collections::BTreeMap;

use super::subject::{Call, Function, Subject, calls, stmts};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, StmtKind};

/// `None` is "not known".
type Rank = Option<u8>;

#[derive(Default)]
pub struct Ranks<'a> {
    /// By function and variable; variables with different ranks are absent.
    variables: BTreeMap<(&'a str, &'a str), Rank>,
    returns: BTreeMap<&'a str, Rank>,
    expressions: BTreeMap<Span, Rank>,
}

/// Functions of `triton.language` whose result has the shape of their first argument.
const LIKE_FIRST: &[&str] = &[
    "abs",
    "cast",
    "ceil",
    "clamp",
    "cos",
    "cumprod",
    "cumsum",
    "erf",
    "exp",
    "exp2",
    "flip",
    "floor",
    "log",
    "log2",
    "multiple_of",
    "max_contiguous",
    "rsqrt",
    "sigmoid",
    "sin",
    "softmax",
    "sort",
    "sqrt",
    "sqrt_rn",
    "zeros_like",
    "associative_scan",
    "debug_barrier",
];

/// Functions of which every argument is broadcast.
const BROADCASTING: &[&str] = &["where", "maximum", "minimum", "fma", "div_rn", "fdiv", "umulhi"];

/// Reductions: one axis less.
pub const REDUCTIONS: &[&str] = &["sum", "max", "min", "xor_sum"];

impl<'a> Ranks<'a> {
    pub fn of(subject: &Subject<'a>) -> Ranks<'a> {
        let mut ranks = Ranks::default();
        for function in &subject.functions {
            for param in &function.def.params {
                let number = function.entry || function.constexprs.contains(param.name.as_str());
                if number {
                    ranks.variables.insert((&function.def.name, &param.name), Some(0));
                }
            }
        }
        // Each round carries ranks one call or one loop further; what is unknown after these stays so.
        for _ in 0..6 {
            for function in &subject.functions {
                ranks.walk(subject, function);
            }
        }
        for function in &subject.functions {
            ranks.forget(subject, function);
        }
        for function in &subject.functions {
            for expr in super::subject::exprs(function) {
                let rank = ranks.expr(subject, function, expr);
                ranks.expressions.insert(expr.span, rank);
            }
        }
        ranks
    }

    /// The rank of an expression inside a device function.
    pub fn get(&self, expr: &Expr) -> Rank {
        self.expressions.get(&expr.span).copied().flatten()
    }

    /// A variable that has two ranks has none that is known.
    fn bind(&mut self, function: &'a str, name: &'a str, rank: Rank) {
        let Some(rank) = rank else { return };
        self.variables
            .entry((function, name))
            .and_modify(|known| {
                // A scalar that accumulates blocks becomes a block.
                if let Some(old) = *known {
                    *known = Some(old.max(rank));
                }
            })
            .or_insert(Some(rank));
    }

    /// A variable that is assigned a value of unknown rank somewhere has none that is known.
    fn forget(&mut self, subject: &Subject<'a>, function: &Function<'a>) {
        for stmt in stmts(function) {
            let StmtKind::Assign { targets, value } = &stmt.kind else { continue };
            let unknown = self.expr(subject, function, value).is_none();
            for variable in targets.iter().filter_map(Expr::as_name).filter(|_| unknown) {
                self.variables.insert((&function.def.name, variable), None);
            }
        }
    }

    fn walk(&mut self, subject: &Subject<'a>, function: &Function<'a>) {
        let name = function.def.name.as_str();
        for stmt in stmts(function) {
            match &stmt.kind {
                StmtKind::Assign { targets, value } => {
                    let rank = self.expr(subject, function, value);
                    for target in targets {
                        match (&target.kind, &value.kind) {
                            (ExprKind::Name(variable), _) => self.bind(name, variable, rank),
                            (ExprKind::Tuple(targets), ExprKind::Tuple(values)) if targets.len() == values.len() => {
                                for (target, value) in targets.iter().zip(values) {
                                    let rank = self.expr(subject, function, value);
                                    if let Some(variable) = target.as_name() {
                                        self.bind(name, variable, rank);
                                    }
                                }
                            }
                            _ => {}
                        }
                    }
                }
                StmtKind::AugAssign { target, op: _, value } => {
                    let rank = join(self.expr(subject, function, target), self.expr(subject, function, value));
                    if let Some(variable) = target.as_name() {
                        self.bind(name, variable, rank);
                    }
                }
                StmtKind::AnnAssign { target, annotation: _, value: Some(value) } => {
                    let rank = self.expr(subject, function, value);
                    if let Some(variable) = target.as_name() {
                        self.bind(name, variable, rank);
                    }
                }
                StmtKind::For { target, iter: _, body: _, orelse: _ } => {
                    if let Some(variable) = target.as_name() {
                        self.bind(name, variable, Some(0));
                    }
                }
                StmtKind::Return(Some(value)) => {
                    let rank = self.expr(subject, function, value);
                    if rank.is_some() {
                        self.returns.insert(name, rank);
                    }
                }
                _ => {}
            }
        }
        for call in calls(function) {
            let Some(helper) = call.func.as_name().and_then(|name| subject.function(name)) else { continue };
            for (i, param) in helper.def.params.iter().enumerate() {
                if let Some(value) = call.argument(&param.name, i) {
                    let rank = self.expr(subject, function, value);
                    self.bind(&helper.def.name, &param.name, rank);
                }
            }
        }
    }

    fn expr(&self, subject: &Subject<'a>, function: &Function<'a>, expr: &'a Expr) -> Rank {
        let of = |e: &'a Expr| self.expr(subject, function, e);
        match &expr.kind {
            ExprKind::Int(_) | ExprKind::BigInt(_) | ExprKind::Float(_) | ExprKind::Bool(_) => Some(0),
            ExprKind::Name(name) => match self.variables.get(&(function.def.name.as_str(), name.as_str())) {
                Some(rank) => *rank,
                None => subject.constants.contains_key(name).then_some(0),
            },
            ExprKind::Unary(_, a) => of(a),
            ExprKind::Binary(_, a, b) => join(of(a), of(b)),
            ExprKind::Compare { left, rest } => rest.iter().fold(of(left), |rank, (_, e)| join(rank, of(e))),
            ExprKind::Logical(_, items) => items.iter().map(of).reduce(join).flatten(),
            ExprKind::Conditional { test: _, then, other } => join(of(then), of(other)),
            ExprKind::Subscript { value: _, index } => match &index.kind {
                ExprKind::Tuple(parts) => u8::try_from(parts.len()).ok(),
                ExprKind::Slice { .. } => Some(1),
                _ => None,
            },
            ExprKind::Call { func, args, keywords } => {
                let call = Call { span: expr.span, func, args, keywords };
                self.call(subject, function, call)
            }
            _ => None,
        }
    }

    fn call(&self, subject: &Subject<'a>, function: &Function<'a>, call: Call<'a>) -> Rank {
        let of = |e: &'a Expr| self.expr(subject, function, e);
        if let Some(name) = call.func.as_name() {
            return match name {
                "min" | "max" => call.args.iter().map(of).reduce(join).flatten(),
                "len" | "int" | "float" | "range" => Some(0),
                _ => self.returns.get(name).copied().flatten(),
            };
        }
        let (member, arguments): (String, Vec<&'a Expr>) = match (subject.builtin(call.func), &call.func.kind) {
            (Some(member), _) => (member, call.args.iter().collect()),
            (None, ExprKind::Attribute { value, name }) => (name.clone(), [&**value].into_iter().chain(call.args).collect()),
            (None, _) => return None,
        };
        let member = member.rsplit('.').next().unwrap_or(&member);
        let first = || arguments.first().copied().and_then(of);
        let named = |name: &str| call.keywords.iter().find(|k| k.name.as_deref() == Some(name)).map(|k| &k.value);
        match member {
            "program_id" | "num_programs" | "cdiv" => Some(0),
            "arange" => Some(1),
            "zeros" | "full" => match arguments.first().copied().or_else(|| named("shape")).map(|e| &e.kind) {
                Some(ExprKind::Tuple(items) | ExprKind::List(items)) => u8::try_from(items.len()).ok(),
                _ => None,
            },
            "load" => match subject.dialect {
                true => join(first(), arguments.get(1).copied().map_or(Some(0), of)),
                false => first(),
            },
            "to" => first(),
            "dot" => Some(2),
            "trans" | "T" => first(),
            "expand_dims" => first().map(|rank| rank + 1),
            "ravel" => Some(1),
            _ if LIKE_FIRST.contains(&member) => first(),
            _ if BROADCASTING.contains(&member) => arguments.iter().copied().map(of).reduce(join).flatten(),
            _ if REDUCTIONS.contains(&member) || matches!(member, "argmax" | "argmin" | "reduce") => {
                let axis = named("axis").or_else(|| arguments.get(1).copied());
                match (axis.map(|e| &e.kind), named("keep_dims")) {
                    (_, Some(_)) => None,
                    (None | Some(ExprKind::None), None) => Some(0),
                    (Some(_), None) => first().map(|rank| rank.saturating_sub(1)),
                }
            }
            _ => None,
        }
    }
}

/// The rank of a broadcast.
fn join(a: Rank, b: Rank) -> Rank {
    Some(a?.max(b?))
}
