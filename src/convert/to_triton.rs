//! From the emulator dialect to Triton: imports, decorators, constexprs, `tl.load(ptr, offsets)`.
//!
//! A parameter that decides a block's shape becomes `tl.constexpr`; a constant of the module that kernels read becomes
//! one, too, and host code reads its `.value`. `np.array([offset])` is its element.

use std::collections::BTreeSet;

use super::{Work, host, launches, scan};
use crate::kernel::lower::dialect::{is_common, is_launcher, unwrapped};
use crate::lint::flow;
use crate::lint::subject::{Call, Function, calls, exprs, stmts};
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, StmtKind};
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

pub fn convert(work: &mut Work<'_, '_>) {
    imports(work);
    let subject = work.subject;
    for function in &subject.functions {
        work.edits.insert(start_of(work, function), "@triton.jit\n");
        parameters(work, function);
        for call in calls(function) {
            memory(work, function, &call);
            let path = subject.imports.path(call.func);
            if let Some(item) = unwrapped(path.as_deref(), call.args) {
                work.drop(Span { start: call.span.start, end: item.span.start });
                work.drop(Span { start: item.span.end, end: call.span.end });
            } else if path.as_deref().is_some_and(|path| path.starts_with("numpy")) {
                let name = work.text(call.func.span).to_owned();
                work.refuse(call.span, format!("`{name}` in a kernel"), "kernels have functions of `tl` alone");
            }
        }
    }
    constants(work);
    // Grids move with the edits that are inside of them.
    host::to_triton(work);
    launches::to_triton(work);
}

/// Where `def` stands.
fn start_of(work: &Work<'_, '_>, function: &Function<'_>) -> u32 {
    let text = work.subject.module.file.text();
    text[..function.def.name_span.start as usize].rfind("def").unwrap_or(0) as u32
}

/// `from common import …` becomes Triton's imports; other names of the library have no counterpart.
fn imports(work: &mut Work<'_, '_>) {
    let subject = work.subject;
    let text = subject.module.file.text();
    let mut done = false;
    for stmt in &subject.module.body {
        let StmtKind::ImportFrom { module, names, level: _ } = &stmt.kind else { continue };
        if !is_common(module) {
            continue;
        }
        match names.iter().find(|(name, _)| name == "tl").filter(|_| !done) {
            Some((_, alias)) => {
                let alias = alias.as_deref().unwrap_or("tl");
                work.edits.replace(stmt.span, format!("import triton\nimport triton.language as {alias}"));
                done = true;
            }
            None => work.drop(scan::lines(text, stmt.span)),
        }
        for (name, alias) in names.iter().filter(|(name, _)| !matches!(name.as_str(), "tl" | "EmulatorError")) {
            let local = alias.as_ref().unwrap_or(name);
            if name.starts_with("launch_kernel_") {
                continue;
            }
            for used in uses(work, local) {
                work.refuse(
                    used,
                    format!("`{local}` of the emulator's library"),
                    "Triton has no such function: write it out, or take the part away",
                );
            }
        }
    }
}

/// Every place where host or device code reads a name.
fn uses(work: &Work<'_, '_>, name: &str) -> Vec<Span> {
    let mut found = Vec::new();
    each_stmt(&work.subject.module.body, &mut |stmt| {
        for expr in own_exprs(stmt) {
            each_expr(expr, &mut |e| found.extend((e.as_name() == Some(name)).then_some(e.span)));
        }
    });
    found
}

/// Parameters that must be known when the kernel is compiled.
fn parameters(work: &mut Work<'_, '_>, function: &Function<'_>) {
    let tl = tl(work);
    for param in &function.def.params {
        let name = param.name.as_str();
        if function.constexprs.contains(name) || !must_be_constexpr(work, function, name) {
            continue;
        }
        match &param.annotation {
            Some(annotation) => work.edits.replace(annotation.span, format!("{tl}.constexpr")),
            None => work.edits.insert(param.span.start + name.len() as u32, format!(": {tl}.constexpr")),
        }
    }
}

fn must_be_constexpr(work: &Work<'_, '_>, function: &Function<'_>, name: &str) -> bool {
    let by_name = |call: &Call<'_>| {
        let decided = call.keywords.iter().filter(|k| matches!(k.name.as_deref(), Some("dtype" | "axis")));
        decided.into_iter().any(|k| k.value.as_name() == Some(name))
    };
    flow::is_size(work.subject, function, name) || calls(function).iter().any(by_name)
}

/// What `triton.language` is called in the file.
fn tl(work: &Work<'_, '_>) -> String {
    let alias = work.subject.module.body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::ImportFrom { module, names, level: _ } if is_common(module) => {
            names.iter().find(|(name, _)| name == "tl").map(|(name, alias)| alias.as_ref().unwrap_or(name).clone())
        }
        _ => None,
    });
    alias.unwrap_or_else(|| "tl".to_owned())
}

/// `tl.load(ptr, offsets, …)` becomes `tl.load(ptr + offsets, …)`.
fn memory(work: &mut Work<'_, '_>, function: &Function<'_>, call: &Call<'_>) {
    let subject = work.subject;
    let Some(what) = flow::memory(subject, call) else { return };
    let values = match what {
        "load" => 0,
        "atomic_cas" => 2,
        _ => 1,
    };
    if call.args.len() < 2 + values {
        return;
    }
    let (base, offsets) = (&call.args[0], &call.args[1]);
    match subject.ranks.get(base) {
        Some(0) if !is_mask(function, &call.args[1 + values], 0) => {}
        // Triton's own form.
        Some(_) => return,
        None => {
            let help = "write a parameter, or a parameter plus an offset, as the first argument";
            return work.refuse(
                base.span,
                format!("`tl.{what}` whose first argument may be a base or a block of pointers"),
                help,
            );
        }
    }
    let text = subject.module.file.text();
    let inside = Span { start: call.func.span.end + 1, end: call.span.end - 1 };
    let base = scan::outer(text, base.span, inside);
    let around = scan::outer(text, offsets.span, Span { start: base.end, end: inside.end });
    let Some(comma) = scan::find(text, base.end, around.start, ',') else { return };
    let spaced = text[comma as usize + 1..].starts_with(char::is_whitespace);
    work.edits.replace(Span { start: comma, end: comma + 1 }, if spaced { " +" } else { " + " });
    if around == offsets.span && binds_weaker(work, offsets) {
        work.edits.insert(offsets.span.start, "(");
        work.edits.insert(offsets.span.end, ")");
    }
}

/// Whether an expression needs parentheses behind a `+`.
fn binds_weaker(work: &Work<'_, '_>, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary(op, _, _) => {
            !matches!(op, BinaryOp::Mul | BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::Pow | BinaryOp::MatMul)
        }
        ExprKind::Compare { .. } | ExprKind::Logical(..) | ExprKind::Conditional { .. } | ExprKind::Lambda { .. } => true,
        ExprKind::Call { func, args, .. } => {
            let path = work.subject.imports.path(func);
            unwrapped(path.as_deref(), args).is_some_and(|item| binds_weaker(work, item))
        }
        _ => false,
    }
}

/// Whether an expression is a comparison, or made of some.
fn is_mask(function: &Function<'_>, expr: &Expr, depth: usize) -> bool {
    let of = |e: &Expr| depth < 8 && is_mask(function, e, depth + 1);
    match &expr.kind {
        ExprKind::Compare { .. } | ExprKind::Logical(..) => true,
        ExprKind::Binary(BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor, a, b) => of(a) || of(b),
        ExprKind::Unary(_, a) => of(a),
        ExprKind::Subscript { value, index: _ } => of(value),
        ExprKind::Name(name) => stmts(function).into_iter().any(|stmt| match &stmt.kind {
            StmtKind::Assign { targets, value } => targets.iter().any(|t| t.as_name() == Some(name)) && of(value),
            _ => false,
        }),
        _ => false,
    }
}

/// Constants of the module that device code reads.
fn constants(work: &mut Work<'_, '_>) {
    let subject = work.subject;
    let tl = tl(work);
    let mut read: BTreeSet<&str> = BTreeSet::new();
    for function in &subject.functions {
        let own: BTreeSet<&str> = function.def.params.iter().map(|p| p.name.as_str()).collect();
        read.extend(exprs(function).into_iter().filter_map(Expr::as_name).filter(|name| !own.contains(name)));
    }
    let mut wrapped: BTreeSet<&str> = BTreeSet::new();
    for stmt in &subject.module.body {
        let StmtKind::Assign { targets, value } = &stmt.kind else { continue };
        let [target] = targets.as_slice() else { continue };
        let Some(name) = target.as_name().filter(|name| read.contains(name) && subject.constants.contains_key(*name)) else {
            continue;
        };
        if matches!(&value.kind, ExprKind::Call { func, .. } if subject.imports.triton(func).as_deref() == Some("constexpr")) {
            continue;
        }
        wrapped.insert(name);
        work.edits.insert(value.span.start, format!("{tl}.constexpr("));
        work.edits.insert(value.span.end, ")");
    }
    let device: Vec<Span> = subject.functions.iter().flat_map(|f| exprs(f).into_iter().map(|e| e.span)).collect();
    for name in wrapped {
        for span in uses(work, name) {
            let is_target = subject
                .module
                .body
                .iter()
                .any(|s| matches!(&s.kind, StmtKind::Assign { targets, .. } if targets.iter().any(|t| t.span == span)));
            let of_launch = subject.launches.iter().any(|l| l.span.start <= span.start && span.end <= l.span.end);
            // A launch takes constexprs as they are; its grid does not.
            let in_grid = subject.launches.iter().any(|l| l.grid_span.start <= span.start && span.end <= l.grid_span.end);
            if !device.contains(&span) && !is_target && (!of_launch || in_grid) {
                work.edits.insert(span.end, ".value");
            }
        }
    }
}

/// Whether a function of the file launches kernels.
pub fn launches_kernels(def: &crate::syntax::ast::FunctionDef) -> bool {
    let mut found = false;
    each_stmt(&def.body, &mut |stmt| {
        for expr in own_exprs(stmt) {
            each_expr(expr, &mut |e| {
                if let ExprKind::Call { func, .. } = &e.kind {
                    found |=
                        is_launcher(func) || matches!(&func.kind, ExprKind::Subscript { value, .. } if value.as_name().is_some());
                }
            });
        }
    });
    found
}
