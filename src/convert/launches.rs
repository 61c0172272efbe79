//! Launches: `kernel[(N,)](…)` and `launch_kernel_1d(kernel, …, grid_size=N)`; two and three axes as
//! `launch_kernel_2d(kernel, …, grid=(N, M))` and `launch_kernel_3d`.
//!
//! `num_warps` and `num_stages` change no value and are dropped on the way to the emulator. A grid is a tuple, a
//! number, or a variable of the same function that holds one; a grid that is a function of META is refused.

use super::{Work, scan};
use crate::kernel::lower::dialect::is_launcher;
use crate::lint::flow;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Keyword, Stmt, StmtKind};
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

/// A call in host code.
struct HostCall<'a> {
    span: Span,
    func: &'a Expr,
    args: &'a [Expr],
    keywords: &'a [Keyword],
    /// The function that it stands in.
    within: Option<&'a FunctionDef>,
}

fn host_calls<'a>(work: &Work<'_, 'a>) -> Vec<HostCall<'a>> {
    let mut found = Vec::new();
    for stmt in &work.subject.module.body {
        let within = if let StmtKind::Function(def) = &stmt.kind { Some(def) } else { None };
        if within.is_some_and(|def| work.subject.function(&def.name).is_some()) {
            continue;
        }
        each_stmt(std::slice::from_ref(stmt), &mut |inner: &'a Stmt| {
            for expr in own_exprs(inner) {
                each_expr(expr, &mut |e| {
                    if let ExprKind::Call { func, args, keywords } = &e.kind {
                        found.push(HostCall { span: e.span, func, args, keywords, within });
                    }
                });
            }
        });
    }
    found
}

/// `triton.cdiv` and `tl.cdiv` in host code.
fn cdiv(work: &mut Work<'_, '_>, from: &str, to: &str) {
    for call in host_calls(work) {
        match work.subject.imports.path(call.func).as_deref() {
            Some(path) if path == from => work.edits.replace(call.func.span, to),
            Some(path) if path.starts_with("triton.") && !path.starts_with("triton.language.") => {
                let name = work.text(call.func.span).to_owned();
                work.refuse(call.span, format!("`{name}`"), "compute the number without it");
            }
            _ => {}
        }
    }
}

pub fn to_triton(work: &mut Work<'_, '_>) {
    cdiv(work, "triton.language.cdiv", "triton.cdiv");
    for call in host_calls(work).into_iter().filter(|call| is_launcher(call.func)) {
        let text = work.subject.module.file.text();
        let axes = axes_of(call.func);
        let grid = call.keywords.iter().find(|k| matches!(k.name.as_deref(), Some("grid_size" | "grid")));
        let (Some(kernel), Some(grid)) = (call.args.first(), grid) else {
            work.refuse(call.span, "a launch without its kernel or its grid", "write `launch_kernel_1d(kernel, …, grid_size=N)`");
            continue;
        };
        for keyword in call.keywords.iter().filter(|k| matches!(k.name.as_deref(), Some("collect_errors") | None)) {
            let name = work.text(keyword.span).to_owned();
            work.refuse(keyword.span, format!("`{name}` of a launch"), "leave it out: it is the emulator's own");
        }
        let (Some(name), inside) = (kernel.as_name(), Span { start: call.func.span.end + 1, end: call.span.end - 1 }) else {
            work.refuse(kernel.span, "a kernel that is no name", "name the kernel in the launch");
            continue;
        };
        let value = scan::outer(text, grid.value.span, Span { start: grid.value.span.start, end: inside.end });
        let moved = work.edits.apply(text, value);
        let grid_text = match &grid.value.kind {
            ExprKind::Tuple(_) if moved.starts_with('(') => moved,
            ExprKind::Tuple(_) => format!("({moved})"),
            _ if axes == 1 => format!("({moved},)"),
            _ => moved,
        };
        work.edits.replace(call.func.span, format!("{name}[{grid_text}]"));
        work.drop(scan::argument(text, kernel.span, inside));
        work.drop(scan::argument(text, grid.span, inside));
    }
}

/// The launchers that the converted file calls.
pub fn needed(work: &Work<'_, '_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for call in host_calls(work) {
        if let Some((_, index)) = launched(work, &call) {
            let axes = tuple_of(&call, index).map_or(1, <[Expr]>::len);
            let name = format!("launch_kernel_{axes}d");
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names.sort();
    names
}

pub fn to_emulator(work: &mut Work<'_, '_>) {
    cdiv(work, "triton.cdiv", "tl.cdiv");
    for call in host_calls(work) {
        let Some((kernel, index)) = launched(work, &call) else { continue };
        let text = work.subject.module.file.text();
        let inside = Span { start: call.func.span.end + 1, end: call.span.end - 1 };
        let direct = matches!(index.kind, ExprKind::Tuple(_));
        let written =
            work.edits.apply(text, scan::outer(text, index.span, Span { start: call.func.span.start, end: call.func.span.end }));
        let (axes, grid) = match tuple_of(&call, index) {
            Some([one]) if direct => (
                1,
                format!(
                    "grid_size={}",
                    work.edits
                        .apply(text, scan::outer(text, one.span, Span { start: index.span.start + 1, end: index.span.end }))
                ),
            ),
            Some([_]) => (1, format!("grid_size={written}[0]")),
            Some(axes) if (2..=3).contains(&axes.len()) => {
                let tuple = if written.starts_with('(') || !direct { written } else { format!("({written})") };
                (axes.len(), format!("grid={tuple}"))
            }
            Some(_) => {
                work.refuse(index.span, "a grid of more than three axes", "launch over one to three axes");
                continue;
            }
            None if matches!(index.kind, ExprKind::Lambda { .. }) || is_lambda(&call, index) => {
                work.refuse(
                    index.span,
                    "a grid that is a function of META",
                    "write the grid as a tuple: the constexprs are given in the launch",
                );
                continue;
            }
            None => (1, format!("grid_size={written}")),
        };
        // The callee is written anew; what stood in its brackets moved to the end.
        work.edits.replace(call.func.span, format!("launch_kernel_{axes}d"));
        let starts = call.args.iter().map(|a| a.span.start).chain(call.keywords.iter().map(|k| k.span.start));
        match starts.min() {
            Some(first) => work.edits.insert(first, format!("{kernel}, ")),
            None => work.edits.insert(inside.start, kernel),
        }
        for keyword in call.keywords {
            match keyword.name.as_deref() {
                Some("num_warps" | "num_stages" | "num_ctas") => work.drop(scan::argument(text, keyword.span, inside)),
                Some(_) => {}
                None => work.refuse(keyword.span, "`**` in a launch", "name the arguments"),
            }
        }
        let ends = call.args.iter().map(|a| a.span.end).chain(call.keywords.iter().map(|k| k.span.end));
        let last = ends.max().unwrap_or(inside.start);
        let behind = scan::outer(text, Span { start: last, end: last }, inside).end;
        let comma = scan::find(text, behind, inside.end, ',');
        match comma {
            Some(comma) if text[comma as usize + 1..inside.end as usize].contains('\n') => {
                let line = text[..last as usize].rfind('\n').map_or(0, |i| i + 1);
                let indent: String = text[line..].chars().take_while(|c| *c == ' ').collect();
                work.edits.insert(comma + 1, format!("\n{indent}{grid},"));
            }
            Some(comma) => work.edits.insert(comma + 1, format!(" {grid}")),
            None => work.edits.insert(inside.end, format!(", {grid}")),
        }
        arrays(work, kernel, &call);
    }
}

/// The emulator's arrays are flat: arguments that are bases are given as such.
fn arrays(work: &mut Work<'_, '_>, kernel: &str, call: &HostCall<'_>) {
    let subject = work.subject;
    let Some(function) = subject.function(kernel) else { return };
    let bases = flow::bases(subject, function);
    for (i, param) in function.def.params.iter().enumerate().filter(|(_, p)| bases.contains(p.name.as_str())) {
        let by_name = call.keywords.iter().find(|k| k.name.as_deref() == Some(param.name.as_str())).map(|k| &k.value);
        let Some(value) = by_name.or_else(|| call.args.get(i)) else { continue };
        match &value.kind {
            ExprKind::Name(_) => work.edits.insert(value.span.end, ".ravel()"),
            ExprKind::Call { func, .. } if matches!(&func.kind, ExprKind::Attribute { name, .. } if matches!(name.as_str(), "ravel" | "flatten")) =>
                {}
            _ => {
                let shown = work.text(value.span).to_owned();
                work.refuse(
                    value.span,
                    format!("`{shown}` as the array of `{}`", param.name),
                    "give it a name before the launch",
                );
            }
        }
    }
}

/// The kernel and the grid of a launch in Triton's form.
fn launched<'a>(work: &Work<'_, '_>, call: &HostCall<'a>) -> Option<(&'a str, &'a Expr)> {
    let ExprKind::Subscript { value, index } = &call.func.kind else { return None };
    let kernel = value.as_name().filter(|name| work.subject.function(name).is_some())?;
    Some((kernel, index))
}

/// The axes of a grid: a tuple, or a variable of the function that holds one.
fn tuple_of<'a>(call: &HostCall<'a>, index: &'a Expr) -> Option<&'a [Expr]> {
    match &index.kind {
        ExprKind::Tuple(items) => Some(items),
        ExprKind::Name(_) => match &assigned(call, index)?.kind {
            ExprKind::Tuple(items) => Some(items),
            _ => None,
        },
        _ => None,
    }
}

fn is_lambda(call: &HostCall<'_>, index: &Expr) -> bool {
    assigned(call, index).is_some_and(|value| matches!(value.kind, ExprKind::Lambda { .. }))
}

/// What a variable of the calling function is assigned.
fn assigned<'a>(call: &HostCall<'a>, variable: &Expr) -> Option<&'a Expr> {
    let name = variable.as_name()?;
    let mut found = None;
    each_stmt(&call.within?.body, &mut |stmt: &'a Stmt| {
        if let StmtKind::Assign { targets, value } = &stmt.kind
            && targets.iter().any(|t| t.as_name() == Some(name))
        {
            found = Some(value);
        }
    });
    found
}

/// How many axes a launcher's name says.
fn axes_of(func: &Expr) -> usize {
    let name = func.as_dotted().unwrap_or_default();
    if name.ends_with("_1d") {
        1
    } else if name.ends_with("_2d") {
        2
    } else {
        3
    }
}
