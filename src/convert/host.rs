//! The arrays of functions that launch: numpy in the emulator's files, torch in Triton's.
//!
//! Understood are allocations (`np.zeros(shape, dtype=np.float32)` and `torch.zeros(shape, dtype=torch.float32,
//! device=…)`; empty, ones, full and the `_like` forms), element types, and the few methods that both have under
//! other names. A torch allocation needs a device: that of the function's first array. Any other call of either library
//! in such a function is refused by name. Other functions are left as they are; where they use the library, a note
//! says so.

use super::to_triton::launches_kernels;
use super::{Work, scan};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Keyword, Stmt, StmtKind};
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

/// Functions with one name in both libraries that make an array of a shape.
const MAKERS: &[&str] = &["zeros", "empty", "ones", "full"];
/// And of another array's shape.
const LIKE: &[&str] = &["zeros_like", "empty_like", "ones_like", "full_like"];
/// Element types with one name in both.
const TYPES: &[&str] = &["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8"];

/// Functions of the file that launch, and those that only use a library.
fn functions<'a>(work: &Work<'_, 'a>) -> (Vec<&'a FunctionDef>, Vec<&'a FunctionDef>) {
    let host = work.subject.module.body.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Function(def) if work.subject.function(&def.name).is_none() => Some(def),
        _ => None,
    });
    host.partition(|def| launches_kernels(def))
}

/// Every expression of a function's body, and the annotations of its parameters.
fn exprs<'a>(def: &'a FunctionDef) -> Vec<&'a Expr> {
    let mut found = Vec::new();
    let annotations = def.params.iter().filter_map(|p| p.annotation.as_ref()).chain(&def.returns);
    annotations.for_each(|e| each_expr(e, &mut |e| found.push(e)));
    each_stmt(&def.body, &mut |stmt: &'a Stmt| {
        own_exprs(stmt).into_iter().for_each(|expr| each_expr(expr, &mut |e| found.push(e)));
    });
    found
}

/// What a library is called in the file: `np` for numpy.
fn alias(work: &Work<'_, '_>, library: &str) -> Option<(String, Span)> {
    work.subject.module.body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Import(list) => match list.as_slice() {
            [(path, alias)] if path == library => Some((alias.as_ref().unwrap_or(path).clone(), stmt.span)),
            _ => None,
        },
        _ => None,
    })
}

pub fn to_triton(work: &mut Work<'_, '_>) {
    let (launching, others) = functions(work);
    let mut uses = false;
    for def in launching {
        let array = first_array(def);
        for expr in exprs(def) {
            uses |= to_torch(work, expr, array);
        }
    }
    notes(work, &others, "numpy", "give the functions that launch torch tensors");
    swap_import(work, &others, uses, "numpy", "torch");
}

/// One expression from numpy to torch; whether torch is needed.
fn to_torch(work: &mut Work<'_, '_>, expr: &Expr, array: Option<&str>) -> bool {
    let path = work.subject.imports.path(expr);
    match (&expr.kind, path.as_deref().and_then(|p| p.strip_prefix("numpy."))) {
        (ExprKind::Call { func, args: _, keywords }, _) => {
            let path = work.subject.imports.path(func);
            let Some(name) = path.as_deref().and_then(|p| p.strip_prefix("numpy.")) else {
                return method(work, func, &[("astype", "to"), ("copy", "clone")]) || error(work, expr);
            };
            if MAKERS.contains(&name) {
                match array {
                    Some(array) => with_device(work, expr, keywords, array),
                    None => work.refuse(expr.span, "an array that no argument gives a device", "pass the output in"),
                }
                true
            } else if LIKE.contains(&name) || TYPES.contains(&name) {
                true
            } else {
                other(work, expr.span, func.span, "arrays")
            }
        }
        (ExprKind::Attribute { .. }, Some(name)) => {
            let new = match name {
                "ndarray" => "Tensor",
                "bool_" => "bool",
                _ if TYPES.contains(&name) || MAKERS.contains(&name) || LIKE.contains(&name) => name,
                _ => return false,
            };
            work.edits.replace(expr.span, format!("torch.{new}"));
            true
        }
        (ExprKind::Attribute { value, name }, None) if name == "size" => {
            work.edits.replace(Span { start: value.span.end, end: expr.span.end }, ".numel()");
            false
        }
        _ => false,
    }
}

/// Refuses a library's function that is no allocation; nothing is needed for it.
fn other(work: &mut Work<'_, '_>, call: Span, function: Span, what: &str) -> bool {
    let message = format!("`{}` in a function that launches", work.text(function));
    work.refuse(call, message, format!("prepare {what} outside of it, or with zeros, empty, ones, full"));
    false
}

/// Renames a method; says nothing of needs.
fn method(work: &mut Work<'_, '_>, func: &Expr, names: &[(&str, &str)]) -> bool {
    if let ExprKind::Attribute { value, name } = &func.kind
        && let Some((_, new)) = names.iter().find(|(old, _)| old == name)
        && work.subject.imports.path(func).is_none()
    {
        work.edits.replace(Span { start: value.span.end, end: func.span.end }, format!(".{new}"));
    }
    false
}

/// `EmulatorError(where, what)` becomes `ValueError(what)`.
fn error(work: &mut Work<'_, '_>, expr: &Expr) -> bool {
    let ExprKind::Call { func, args, keywords: _ } = &expr.kind else { return false };
    if work.subject.imports.path(func).is_some_and(|path| path.ends_with("common.EmulatorError")) {
        work.edits.replace(func.span, "ValueError");
        if let [place, _] = args.as_slice() {
            let inside = Span { start: func.span.end + 1, end: expr.span.end - 1 };
            work.drop(scan::argument(work.subject.module.file.text(), place.span, inside));
        }
    }
    false
}

fn with_device(work: &mut Work<'_, '_>, call: &Expr, keywords: &[Keyword], array: &str) {
    if keywords.iter().any(|k| k.name.as_deref() == Some("device")) {
        return;
    }
    let text = work.subject.module.file.text();
    let inside = &text[..call.span.end as usize - 1];
    let comma = inside.trim_end().ends_with(',');
    let device = if comma { format!(" device={array}.device") } else { format!(", device={array}.device") };
    work.edits.insert(inside.trim_end().len() as u32, device);
}

/// The first parameter that is used like an array.
fn first_array(def: &FunctionDef) -> Option<&str> {
    let used = exprs(def);
    let like_array = |name: &str| {
        used.iter().any(|e| matches!(&e.kind, ExprKind::Attribute { value, name: member } if value.as_name() == Some(name)
            && matches!(member.as_str(), "shape" | "ravel" | "flatten" | "size" | "ndim" | "reshape" | "dtype" | "astype" | "numel")))
    };
    let launched = |name: &str| {
        used.iter().any(|e| {
            matches!(&e.kind, ExprKind::Call { func, args, .. }
            if crate::kernel::lower::dialect::is_launcher(func) && args.iter().any(|a| a.as_name() == Some(name)))
        })
    };
    def.params
        .iter()
        .map(|p| p.name.as_str())
        .find(|name| like_array(name))
        .or_else(|| def.params.iter().map(|p| p.name.as_str()).find(|name| launched(name)))
}

pub fn to_emulator(work: &mut Work<'_, '_>) {
    let (launching, others) = functions(work);
    let mut uses = false;
    for def in launching {
        for expr in exprs(def) {
            uses |= to_numpy(work, expr);
        }
    }
    notes(work, &others, "torch", "give the functions that launch numpy arrays");
    swap_import(work, &others, uses, "torch", "numpy");
}

/// One expression from torch to numpy; whether numpy is needed.
fn to_numpy(work: &mut Work<'_, '_>, expr: &Expr) -> bool {
    let text = work.subject.module.file.text();
    let path = work.subject.imports.path(expr);
    match (&expr.kind, path.as_deref().and_then(|p| p.strip_prefix("torch."))) {
        (ExprKind::Call { func, args, keywords }, _) => {
            let path = work.subject.imports.path(func);
            let Some(name) = path.as_deref().and_then(|p| p.strip_prefix("torch.")) else {
                if let ExprKind::Attribute { value, name } = &func.kind {
                    let rest = Span { start: value.span.end, end: expr.span.end };
                    match name.as_str() {
                        "numel" => work.edits.replace(rest, ".size"),
                        "to" => {
                            method(work, func, &[("to", "astype")]);
                        }
                        "clone" => {
                            method(work, func, &[("clone", "copy")]);
                        }
                        "stride" | "contiguous" | "element_size" | "data_ptr" | "cuda" | "cpu" => {
                            work.refuse(
                                expr.span,
                                format!("`.{name}()` in a function that launches"),
                                "arrays are contiguous: compute strides from the shape",
                            );
                        }
                        _ => {}
                    }
                }
                return false;
            };
            if MAKERS.contains(&name) || LIKE.contains(&name) {
                if args.len() > 1 && name != "full" && name != "full_like" {
                    work.refuse(expr.span, format!("sizes of `torch.{name}` one by one"), "write them as a tuple");
                }
                let inside = Span { start: func.span.end + 1, end: expr.span.end - 1 };
                for keyword in keywords.iter().filter(|k| k.name.as_deref() == Some("device")) {
                    work.drop(scan::argument(text, keyword.span, inside));
                }
                true
            } else {
                other(work, expr.span, func.span, "tensors")
            }
        }
        (ExprKind::Attribute { .. }, Some(name)) => {
            let new = match name {
                "Tensor" => "ndarray",
                "bool" => "bool_",
                "float" => "float32",
                "half" => "float16",
                "int" => "int32",
                "long" => "int64",
                "bfloat16" => {
                    work.refuse(expr.span, "`torch.bfloat16`", "numpy has no bfloat16");
                    return false;
                }
                _ if TYPES.contains(&name) || MAKERS.contains(&name) || LIKE.contains(&name) => name,
                _ => return false,
            };
            work.edits.replace(expr.span, format!("np.{new}"));
            true
        }
        (ExprKind::Attribute { value, name }, None) if name == "device" && value.as_name().is_some() => false,
        _ => false,
    }
}

/// Functions that do not launch keep their library; somebody must look at what they hand over.
fn notes(work: &mut Work<'_, '_>, others: &[&FunctionDef], library: &str, help: &str) {
    for def in others {
        if uses_library(work, def, library) {
            work.note(def.name_span, format!("`{}` uses {library} and is left as it is", def.name), help);
        }
    }
}

fn uses_library(work: &Work<'_, '_>, def: &FunctionDef, library: &str) -> bool {
    exprs(def).into_iter().any(|e| work.subject.imports.path(e).is_some_and(|path| path.split('.').next() == Some(library)))
}

/// The old library's import goes where nothing needs it any more; the new one's comes where something does.
fn swap_import(work: &mut Work<'_, '_>, others: &[&FunctionDef], needed: bool, old: &str, new: &str) {
    let written = if new == "numpy" { "import numpy as np" } else { "import torch" };
    let kept = others.iter().any(|def| uses_library(work, def, old));
    let needed = needed && alias(work, new).is_none();
    let text = work.subject.module.file.text();
    match (alias(work, old), kept, needed) {
        (Some((_, span)), false, true) => work.edits.replace(span, written),
        (Some((_, span)), true, true) => work.edits.insert(span.start, format!("{written}\n")),
        (Some((_, span)), false, false) => work.drop(scan::lines(text, span)),
        (Some(_), true, false) | (None, _, false) => {}
        (None, _, true) => {
            let first = work
                .subject
                .module
                .body
                .iter()
                .find(|stmt| matches!(stmt.kind, StmtKind::Import(_) | StmtKind::ImportFrom { .. }));
            if let Some(first) = first {
                work.edits.insert(first.span.start, format!("{written}\n"));
            }
        }
    }
}
