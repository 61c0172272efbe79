//! `__init__` of `ModelNew`: the task's own statements, so that the same modules are created in the same order, behind
//! the seed; then weights are checked, prepared and held.

use std::collections::{BTreeMap, BTreeSet};

use super::{Form, State, constant, prepare};
use crate::diag::{self, Diagnostic, codes};
use crate::dtype::DType;
use crate::emit::python::{Names, call, dtype, statement, string, tuple};
use crate::graph::ValueId;
use crate::import::task::Task;
use crate::import::task::source::{attributes_of_self, is_forward, is_super_init};
use crate::select::plan::Plan;
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{ExprKind, FunctionDef, Stmt, StmtKind};
use crate::syntax::edit::Edits;
use crate::syntax::same::dedented;
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

/// The methods `__init__` and those that it calls.
pub fn text(plan: &Plan, task: &Task, form: &Form, state: &State) -> diag::Result<String> {
    let seed = form.init_seed.map(|seed| format!("        torch.manual_seed({seed})\n")).unwrap_or_default();
    let mut text = match task.source.init() {
        Some(init) => {
            calls_no_forward(task, init)?;
            let (docstring, body) = match init.body.as_slice() {
                [first, rest @ ..] if first.is_text() => (Some(first), rest),
                all => (None, all),
            };
            let mut text = format!("    def __init__{}:\n", task.source.text(init.params_span));
            text += &docstring.map(|stmt| indented(task, stmt.span, 8, &Edits::default())).unwrap_or_default();
            text += &seed;
            if let ([first, ..], [.., last]) = (body, body) {
                let mut edits = Edits::default();
                body.iter().filter(|stmt| is_super_init(stmt)).for_each(|stmt| edits.replace(stmt.span, "super().__init__()"));
                text += &indented(task, first.span.to(last.span), 8, &edits);
            }
            text
        }
        None => format!("    def __init__(self):\n{seed}        super().__init__()\n"),
    };
    for (value, path) in &state.own {
        let ty = plan.graph.ty(*value);
        text += &call(8, "check", &[vec![string(path), format!("self.{path}"), tuple(&ty.shape), dtype(ty.dtype)]]);
    }
    text += &held(plan, task, state)?;
    for helper in task.source.helpers() {
        text += &format!("\n{}", indented(task, helper.span, 4, &Edits::default()));
    }
    Ok(text)
}

/// Constants, and what is prepared of weights, as buffers that are no part of the state.
fn held(plan: &Plan, task: &Task, state: &State) -> diag::Result<String> {
    let mut text = String::new();
    for (_, attribute, elements) in &state.constants {
        text += &register(attribute, &halves(constant(elements), elements.dtype()));
    }
    let wanted: Vec<ValueId> = state.prepared.iter().map(|(value, _)| *value).collect();
    let nodes = prepare::nodes_for(plan, &wanted);
    let mut names = Names::new(&["torch", "nn", "self"]);
    for name in task.source.init().map(locals).unwrap_or_default() {
        names.fresh(&name);
    }
    let weight = |&value: &ValueId| match state.own.get(&value) {
        Some(path) => (value, format!("self.{path}.detach()")),
        None => (value, state.named(plan, value)),
    };
    let mut values: BTreeMap<ValueId, String> = prepare::weights_of(&plan.graph, &nodes).iter().map(weight).collect();
    for line in prepare::statements(&plan.graph, &nodes, &mut names, &mut values)? {
        text += &statement(8, &line);
    }
    for (value, attribute) in &state.prepared {
        text += &register(attribute, &halves(values[value].clone(), plan.graph.dtype(*value)));
    }
    Ok(text)
}

fn register(attribute: &str, value: &str) -> String {
    call(8, "self.register_buffer", &[vec![string(attribute), value.to_owned(), "persistent=False".to_owned()]])
}

/// 16-bit floats as integers, which a cast of the module's floats leaves alone.
fn halves(value: String, of: DType) -> String {
    match of {
        DType::F16 | DType::BF16 => format!("{value}.view(torch.int16)"),
        _ => value,
    }
}

/// A module-level statement that the constructor needs; classes without their `forward`.
pub fn declaration(task: &Task, stmt: &Stmt) -> String {
    let mut edits = Edits::default();
    if let StmtKind::Class { body, .. } = &stmt.kind {
        let kept = body.iter().filter(|stmt| !is_forward(stmt)).count();
        for (i, forward) in body.iter().filter(|stmt| is_forward(stmt)).enumerate() {
            edits.replace(forward.span, if kept == 0 && i == 0 { "\"\"\"Without parameters.\"\"\"" } else { "" });
        }
    }
    let text = edits.apply(task.source.module.file.text(), stmt.span);
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// Names behind `self` that the task's state or constructor takes.
pub fn attributes(task: &Task) -> BTreeSet<String> {
    let roots = task.parameters.iter().map(|parameter| parameter.name.split('.').next().unwrap_or_default().to_owned());
    let mut names: BTreeSet<String> = roots.collect();
    let methods = task.source.helpers();
    let helpers = methods.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Function(def) => Some(def),
        _ => None,
    });
    for def in task.source.init().into_iter().chain(helpers) {
        names.extend(attributes_of_self(&def.body));
    }
    names
}

/// Names that a constructor uses.
fn locals(init: &FunctionDef) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = init.params.iter().map(|param| param.name.clone()).collect();
    each_stmt(&init.body, &mut |stmt| {
        for e in own_exprs(stmt) {
            each_expr(e, &mut |e| names.extend(e.as_name().map(str::to_owned)));
        }
    });
    names
}

/// A constructor that computes with its modules needs their `forward`, which this file does not have.
fn calls_no_forward(task: &Task, init: &FunctionDef) -> diag::Result<()> {
    let mut found = None;
    each_stmt(&init.body, &mut |stmt| {
        for e in own_exprs(stmt) {
            each_expr(e, &mut |e| {
                let ExprKind::Call { func, .. } = &e.kind else { return };
                if matches!(func.as_dotted().as_deref(), Some("self" | "self.forward" | "self.__call__")) {
                    found.get_or_insert(e.span);
                }
            });
        }
    });
    let Some(span) = found else { return Ok(()) };
    let message = "a constructor that runs the module itself";
    Err(Box::new(Diagnostic::new(&codes::NOT_OFFERED, message).at(&task.source.module.file, span)))
}

/// Statements at an indent, edited.
fn indented(task: &Task, span: Span, indent: usize, edits: &Edits) -> String {
    let file = &task.source.module.file;
    let text = edits.apply(file.text(), span);
    // Edits replace within a line: the columns of the first line, and so the blanks to take, stay as they are.
    let edited = SourceFile::new(file.name(), " ".repeat(file.position(span.start).column - 1) + &text);
    let whole = Span::new(edited.text().len() - text.len(), edited.text().len());
    let pad = " ".repeat(indent);
    dedented(&edited, whole).lines().map(|line| format!("{pad}{line}").trim_end().to_owned() + "\n").collect()
}
