//! F014: the class is more than an `__init__`, a `forward` and methods that these call, or something else takes their place:
//! `nn.Module.__call__` would run what forward alone was read for.
//!
//! Looks at `ModelNew` and its bases in the file, at what their methods assign to `self`, and at module-level code that sets
//! attributes of classes, functions and libraries. Does not catch: what a library does when it is imported; attributes that are
//! set through other names of the object (`me = self`), by `setattr` inside functions, or in a dictionary.

use std::collections::{BTreeMap, BTreeSet};

use super::Ban;
use super::events::Walked;
use crate::host::torch_module::is_taken;
use crate::lint::rule::Found;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Stmt, StmtKind, UnaryOp};
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

/// Settings of torch that change no function.
const SETTINGS: &str = "torch.backends.";
/// Decorators that leave `forward` what it is.
const KEEPING: [&str; 3] = ["torch.no_grad", "torch.inference_mode", "typing.override"];

pub fn check(walked: &Walked<'_>, _: &Ban, found: &mut Found<'_>) {
    let body = &walked.file.module.body;
    for name in walked.file.lineage("ModelNew") {
        // Of several definitions the last one holds; the others are told as bound twice.
        let class = body.iter().rfind(|stmt| matches!(&stmt.kind, StmtKind::Class { name: own, .. } if own == name));
        let Some(stmt) = class else { continue };
        let mut look = Look { walked, found };
        look.head(stmt);
        look.body(stmt);
    }
    let mut look = Look { walked, found };
    body.iter().for_each(|stmt| look.at_module_level(stmt));
}

struct Look<'w, 'a, 'f, 'l> {
    walked: &'w Walked<'a>,
    found: &'f mut Found<'l>,
}

impl Look<'_, '_, '_, '_> {
    fn tell(&mut self, span: Span, message: String) {
        let finding = self.found.at(span, message);
        finding.help("let the class be `nn.Module` with an __init__, a forward, and methods that these call");
    }

    /// What stands before the body.
    fn head(&mut self, stmt: &Stmt) {
        let StmtKind::Class { name, decorators, bases, keywords, .. } = &stmt.kind else { return };
        for decorator in decorators {
            self.tell(decorator.span, format!("a decorator of class `{name}` may put another class in its place"));
        }
        for keyword in keywords {
            let argument = keyword.name.as_deref().unwrap_or("**");
            self.tell(keyword.span, format!("`{argument}` of class `{name}` decides what the class is"));
        }
        if bases.is_empty() {
            self.tell(first_line(stmt, self.walked), format!("class `{name}` is no `nn.Module`"));
        }
        for base in bases {
            let is_module = self.walked.file.imports.path(base).is_some_and(|path| is_nn_module(&path));
            let is_here = base.as_name().is_some_and(|base| self.walked.file.classes.contains_key(base));
            if !is_module && !is_here {
                self.tell(base.span, format!("a base of class `{name}` is neither `nn.Module` nor a class of this file"));
            }
        }
    }

    fn body(&mut self, stmt: &Stmt) {
        let StmtKind::Class { name: class, body, .. } = &stmt.kind else { return };
        let methods: Vec<&FunctionDef> = body.iter().filter_map(method).collect();
        let set = set_on_self(&methods);
        let mut bound: BTreeSet<&str> = BTreeSet::new();
        for (i, stmt) in body.iter().enumerate() {
            let (names, fits) = match &stmt.kind {
                StmtKind::Expr(_) if i == 0 && stmt.is_text() => (Vec::new(), true),
                StmtKind::Pass => (Vec::new(), true),
                StmtKind::Function(def) => (vec![(def.name.as_str(), def.name_span)], true),
                StmtKind::Assign { targets, value } => {
                    let names: Vec<(&str, Span)> = targets.iter().filter_map(|t| Some((t.as_name()?, t.span))).collect();
                    (names.clone(), names.len() == targets.len() && is_constant(value))
                }
                StmtKind::AnnAssign { target, annotation: _, value } => {
                    let name = target.as_name().map(|name| (name, target.span));
                    (name.into_iter().collect(), name.is_some() && value.as_ref().is_none_or(is_constant))
                }
                _ => (Vec::new(), false),
            };
            if !fits {
                self.tell(stmt.span, format!("this statement in the body of class `{class}` runs when the class is made"));
            }
            for (name, span) in names {
                if !bound.insert(name) {
                    self.tell(span, format!("`{name}` is bound twice in class `{class}`"));
                } else if method(stmt).is_none() && set.contains_key(name) {
                    self.tell(span, format!("`{name}` of class `{class}` hides what __init__ puts there, or is hidden by it"));
                } else if is_taken(name) && !matches!(name, "__init__" | "forward" | "extra_repr") {
                    self.tell(span, format!("`{name}` of class `{class}` takes the place of `nn.Module`'s own"));
                }
            }
        }
        for def in &methods {
            self.decorators(def);
        }
        for (name, span) in set {
            let is_method = methods.iter().any(|def| def.name == name);
            if is_method || is_taken(&name) && name != "training" {
                self.tell(span, format!("`self.{name}` takes the place of a method, or of what `nn.Module` keeps there"));
            }
        }
    }

    /// Of `__init__` and `forward`, which are called by others; those of helpers are read where they are called.
    fn decorators(&mut self, def: &FunctionDef) {
        if !matches!(def.name.as_str(), "__init__" | "forward") {
            return;
        }
        for decorator in &def.decorators {
            let called = if let ExprKind::Call { func, .. } = &decorator.kind { func } else { decorator };
            let path = self.walked.file.imports.path(called);
            if !path.is_some_and(|path| KEEPING.contains(&path.as_str())) {
                self.tell(decorator.span, format!("a decorator of `{}` may put another function in its place", def.name));
            }
        }
    }

    /// Assignments to attributes of what others look up, and calls that can make them.
    fn at_module_level(&mut self, stmt: &Stmt) {
        let targets: &[Expr] = match &stmt.kind {
            StmtKind::Assign { targets, .. } => targets,
            StmtKind::AugAssign { target, .. } | StmtKind::AnnAssign { target, .. } => std::slice::from_ref(target),
            StmtKind::Expr(e) => {
                let called = if let ExprKind::Call { func, .. } = &e.kind { func.as_name() } else { None };
                if let Some(name @ ("setattr" | "exec" | "eval" | "delattr")) = called {
                    self.tell(e.span, format!("`{name}` at module level may change anything"));
                }
                return;
            }
            _ => return,
        };
        for target in targets {
            let ExprKind::Attribute { .. } = &target.kind else { continue };
            let path = self.walked.file.imports.path(target).or_else(|| target.as_dotted()).unwrap_or_default();
            if !path.starts_with(SETTINGS) {
                self.tell(target.span, format!("`{path}` is set at module level: others look it up there"));
            }
        }
    }
}

fn is_nn_module(path: &str) -> bool {
    matches!(path, "torch.nn.Module" | "torch.nn.modules.Module" | "torch.nn.modules.module.Module")
}

fn method(stmt: &Stmt) -> Option<&FunctionDef> {
    if let StmtKind::Function(def) = &stmt.kind { Some(def) } else { None }
}

/// The line that a class begins at.
fn first_line(stmt: &Stmt, walked: &Walked<'_>) -> Span {
    let text = walked.file.module.file.slice(stmt.span);
    Span { start: stmt.span.start, end: stmt.span.start + text.lines().next().map_or(0, str::len) as u32 }
}

/// Names that methods bind behind `self.`, by assignment or registration, and where first.
fn set_on_self(methods: &[&FunctionDef]) -> BTreeMap<String, Span> {
    let mut set = BTreeMap::new();
    for def in methods {
        let Some(own) = def.params.first().map(|param| param.name.as_str()) else { continue };
        each_stmt(&def.body, &mut |stmt| {
            let targets: &[Expr] = match &stmt.kind {
                StmtKind::Assign { targets, .. } => targets,
                StmtKind::AugAssign { target, .. } | StmtKind::AnnAssign { target, .. } | StmtKind::For { target, .. } => {
                    std::slice::from_ref(target)
                }
                _ => &[],
            };
            for target in targets {
                attributes(target, own, &mut set);
            }
            for e in own_exprs(stmt) {
                each_expr(e, &mut |e| registered(e, own, &mut set));
            }
        });
    }
    set
}

fn attributes(target: &Expr, own: &str, set: &mut BTreeMap<String, Span>) {
    match &target.kind {
        ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().for_each(|item| attributes(item, own, set)),
        ExprKind::Starred(inner) => attributes(inner, own, set),
        ExprKind::Attribute { value, name } if value.as_name() == Some(own) => {
            set.entry(name.clone()).or_insert(target.span);
        }
        _ => {}
    }
}

/// `self.register_buffer("name", …)`, `self.add_module("name", …)`.
fn registered(e: &Expr, own: &str, set: &mut BTreeMap<String, Span>) {
    let ExprKind::Call { func, args, .. } = &e.kind else { return };
    let ExprKind::Attribute { value, name } = &func.kind else { return };
    let registers = matches!(name.as_str(), "register_buffer" | "register_parameter" | "register_module" | "add_module");
    if registers
        && value.as_name() == Some(own)
        && let Some(ExprKind::Str(name)) = args.first().map(|e| &e.kind)
    {
        set.entry(name.clone()).or_insert(e.span);
    }
}

/// Whether an expression is a literal, or a collection of them.
fn is_constant(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Int(_) | ExprKind::BigInt(_) | ExprKind::Float(_) | ExprKind::Str(_) | ExprKind::Bool(_) | ExprKind::None => {
            true
        }
        ExprKind::Unary(UnaryOp::Neg | UnaryOp::Pos, inner) => is_constant(inner),
        ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().all(is_constant),
        _ => false,
    }
}
