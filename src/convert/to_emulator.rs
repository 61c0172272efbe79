//! From Triton to the emulator dialect: imports, decorators, and addresses as base and offset.
//!
//! Decorators that tune or compute constexprs, block pointers and descriptors, members of `triton.language` by another
//! import, and pointers that are handed to helpers with an offset have no counterpart and are refused.

use super::{Work, host, launches, pointers, scan};
use crate::lint::subject::{Function, calls};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, StmtKind};
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

/// Members of `triton.language` that the dialect's way of addressing excludes.
const POINTERS: &[&str] = &[
    "make_block_ptr",
    "advance",
    "make_tensor_descriptor",
    "load_tensor_descriptor",
    "store_tensor_descriptor",
    "experimental_descriptor_load",
    "experimental_descriptor_store",
];

pub fn convert(work: &mut Work<'_, '_>) {
    imports(work);
    let subject = work.subject;
    for function in &subject.functions {
        decorators(work, function);
        for call in calls(function) {
            match subject.imports.path(call.func).as_deref() {
                Some("triton.cdiv") => work.edits.replace(call.func.span, "tl.cdiv"),
                Some(path) if path.starts_with("triton.") && !path.starts_with("triton.language.") => {
                    let name = work.text(call.func.span).to_owned();
                    work.refuse(call.span, format!("`{name}` in a kernel"), "hand the number over as a constexpr");
                }
                _ => {}
            }
            if let Some(member) = subject.builtin(call.func).filter(|m| POINTERS.contains(&m.as_str())) {
                work.refuse(call.span, format!("`tl.{member}`"), "address by a base and offsets: `tl.load(ptr + offsets, …)`");
            }
        }
        pointers::convert(work, function);
    }
    constants(work);
    // Grids move with the edits that are inside of them.
    host::to_emulator(work);
    launches::to_emulator(work);
}

/// Triton's imports become one of the emulator's library.
fn imports(work: &mut Work<'_, '_>) {
    let subject = work.subject;
    let text = subject.module.file.text();
    let mut spans: Vec<(Span, Option<String>)> = Vec::new();
    for stmt in &subject.module.body {
        match &stmt.kind {
            StmtKind::Import(list) if list.iter().any(|(path, _)| path.split('.').next() == Some("triton")) => {
                for (path, alias) in list {
                    match path.as_str() {
                        "triton" if list.len() == 1 && alias.is_none() => spans.push((stmt.span, None)),
                        "triton.language" if list.len() == 1 => spans.push((stmt.span, alias.clone())),
                        _ => work.refuse(
                            stmt.span,
                            format!("`{}`", work_text(text, stmt.span)),
                            "import `triton` and `triton.language as tl` in lines of their own",
                        ),
                    }
                }
            }
            StmtKind::ImportFrom { module, names, level: 0 } if module.split('.').next() == Some("triton") => {
                match names.as_slice() {
                    [(name, alias)] if module == "triton" && name == "language" => {
                        spans.push((stmt.span, Some(alias.as_ref().unwrap_or(name).clone())));
                    }
                    _ => work.refuse(
                        stmt.span,
                        format!("`{}`", work_text(text, stmt.span)),
                        "call members of `triton.language` as `tl.…`",
                    ),
                }
            }
            _ => {}
        }
    }
    let Some(tl) = spans.iter().find_map(|(_, alias)| alias.clone()) else {
        return work.refuse(
            Span::new(0, 0),
            "the file does not import `triton.language`",
            "write `import triton.language as tl`",
        );
    };
    let mut names = vec![if tl == "tl" { tl } else { format!("tl as {tl}") }];
    names.extend(launches::needed(work));
    let mut first = true;
    for (span, _) in spans {
        if first {
            work.edits.replace(span, format!("from common import {}", names.join(", ")));
        } else {
            work.drop(scan::lines(text, span));
        }
        first = false;
    }
}

/// Constants of the module need no `tl.constexpr`, and have no `.value`.
fn constants(work: &mut Work<'_, '_>) {
    let subject = work.subject;
    let mut plain = Vec::new();
    for stmt in &subject.module.body {
        let StmtKind::Assign { targets, value } = &stmt.kind else { continue };
        let ExprKind::Call { func, args, keywords: _ } = &value.kind else { continue };
        let [inner] = args.as_slice() else { continue };
        if subject.imports.triton(func).as_deref() == Some("constexpr") {
            work.drop(Span { start: value.span.start, end: inner.span.start });
            work.drop(Span { start: inner.span.end, end: value.span.end });
            plain.extend(targets.iter().filter_map(Expr::as_name));
        }
    }
    each_stmt(&subject.module.body, &mut |stmt| {
        for expr in own_exprs(stmt) {
            each_expr(expr, &mut |e| {
                if let ExprKind::Attribute { value, name } = &e.kind
                    && name == "value"
                    && value.as_name().is_some_and(|name| plain.contains(&name))
                {
                    work.drop(Span { start: value.span.end, end: e.span.end });
                }
            });
        }
    });
}

fn work_text(text: &str, span: Span) -> String {
    text.get(span.start as usize..span.end as usize).unwrap_or_default().to_owned()
}

/// `@triton.jit` goes with its line.
fn decorators(work: &mut Work<'_, '_>, function: &Function<'_>) {
    let subject = work.subject;
    for decorator in &function.def.decorators {
        let callee: &Expr = if let ExprKind::Call { func, .. } = &decorator.kind { func } else { decorator };
        match subject.imports.path(callee).as_deref() {
            Some("triton.jit") => work.drop(scan::lines(subject.module.file.text(), decorator.span)),
            _ => {
                let name = work.text(callee.span).to_owned();
                work.refuse(decorator.span, format!("the decorator `{name}`"), "give the constexprs in the launch");
            }
        }
    }
}
