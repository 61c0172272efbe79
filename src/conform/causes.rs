//! From what was found to the lines to look at, in the kernel's file: for wrong values the suspects, for a
//! fault the lines behind it, and for both the arguments of the launch that are not the plan's.
//!
//! The manifest holds the numbers that each kernel was planned to be launched with. A launch that
//! gives others is no fault by itself (a person may choose another block); where the result is wrong
//! it is the first place to look. Nothing else of the original is known here.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::conform::counterfactual::Evidence;
use crate::conform::diagnose::{self, Clue, Finding, SUSPECTS, Suspect};
use crate::conform::planned;
use crate::conform::subject::{Launch, Operand, Subject, module_name};
use crate::diag::{Class, Diagnostic, Place};
use crate::emit::manifest::KernelLaunchEntry;
use crate::host::{self, HostArg, KernelLaunch};
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Module, Stmt, StmtKind};
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

/// A finding with the kernel's file and the lines to look at first.
pub fn located(subject: &Subject, launch: &Launch, finding: Finding, pass: &str, evidence: Option<&Evidence>) -> Diagnostic {
    let kernel = &subject.manifest.kernels[launch.kernel];
    let module = subject.modules.ast(&module_name(&kernel.file));
    let mut diagnostic = finding.diagnostic;
    if let (Some(module), Some(last)) = (module, kernel.launches.last()) {
        let pointers = pointers(last);
        let seen = diagnose::Seen { clue: finding.clue, evidence, pointers: &pointers, grid: Some(last.grid) };
        let mut suspects = unplanned(subject, launch, module);
        suspects.extend(diagnose::rank(module, &last.function, seen, SUSPECTS));
        diagnostic = with_suspects(diagnostic, module, suspects);
    }
    if let Some(help) = remedy(evidence, finding.clue != Clue::Anything) {
        diagnostic = diagnostic.help(help);
    }
    let place = diagnostic.place.clone().or(Some(Place::File { file: format!("{}/{}", subject.name, kernel.file) }));
    let evidence = evidence.map(Evidence::notes).unwrap_or_default();
    let diagnostic = evidence.into_iter().fold(diagnostic, Diagnostic::note);
    Diagnostic { place, ..diagnostic.note(format!("pass: {pass}")).note(format!("layer: {}", launch.layer)) }
}

/// Where to look, from what the further runs showed; `known`: the values alone say so already.
fn remedy(evidence: Option<&Evidence>, known: bool) -> Option<&'static str> {
    const CHOICE: &str = "look at what chooses between values: a comparison, `tl.where`, a minimum or maximum, and its constants";
    const VALUE: &str = "look at what is computed of each element: operators, their order, constants, a step that is left out";
    const PLACES: &str = "look at strides, offsets, ranges and the decoding of program ids";
    let evidence = evidence?;
    let chooses = evidence.operands.iter().any(|operand| operand.wrong_on.is_some());
    let misread = evidence.displaced || evidence.operands.iter().any(|operand| evidence.is_misread(operand));
    match (chooses, misread) {
        (true, _) => Some(CHOICE),
        _ if known => None,
        (false, true) => Some(PLACES),
        (false, false) if evidence.with_elements() => Some(VALUE),
        (false, false) => Some("look at what is computed, the ranges of loops, and masks"),
    }
}

/// A fault of a run with the lines behind it.
///
/// `gaps`: the axes of the output along which elements are missing, of one that nothing wrote in full.
pub fn behind(subject: &Subject, launch: &Launch, fault: Box<Diagnostic>, gaps: Option<&[usize]>) -> Box<Diagnostic> {
    let kernel = &subject.manifest.kernels[launch.kernel];
    let (Some(module), Some(last)) = (subject.modules.ast(&module_name(&kernel.file)), kernel.launches.last()) else {
        return fault;
    };
    let rejected = fault.code.id.starts_with('K') && fault.class() == Class::Bug;
    if !rejected && !fault.code.id.starts_with('A') {
        return fault;
    }
    let place = match &fault.place {
        Some(Place::Text { file, span }) if file.name() == module.file.name() => Some(*span),
        Some(Place::Text { .. }) => return fault,
        Some(Place::Node { .. } | Place::File { .. }) | None => None,
    };
    let mut suspects = unplanned(subject, launch, module);
    let gaps = gaps.map(|axes| (output(launch), axes));
    suspects.extend(diagnose::behind(module, (&last.function, Some(last.grid)), place, gaps));
    let mut fault = *fault;
    // A line that contradicts the plan or a helper's own names explains the fault: it is shown first, and
    // where the fault came to light second.
    if let Some(at) = suspects.iter().position(|s| s.certain) {
        let cause = suspects.remove(at);
        let shown = Place::Text { file: module.file.clone(), span: cause.span };
        fault.notes.push(format!("cause: this line {}", cause.why));
        if let Some(place) = fault.place.replace(shown) {
            fault.related.insert(0, (place, "the fault came to light here".to_owned()));
        }
    }
    Box::new(with_suspects(fault, module, suspects))
}

/// The output's name and how many axes it has.
fn output(launch: &Launch) -> (&str, usize) {
    launch.operands.iter().find(|o| o.written()).map_or(("", 0), |o| (o.entry.name.as_str(), o.entry.shape.len()))
}

/// The message with at most [`SUSPECTS`] lines to look at, each once.
pub fn with_suspects(diagnostic: Diagnostic, module: &Module, suspects: Vec<Suspect>) -> Diagnostic {
    let mut kept: Vec<Suspect> = Vec::new();
    for suspect in suspects {
        if kept.len() < SUSPECTS && kept.iter().all(|s| s.span != suspect.span) {
            kept.push(suspect);
        }
    }
    kept.into_iter().enumerate().fold(diagnostic, |diagnostic, (i, suspect)| {
        let place = Place::Text { file: module.file.clone(), span: suspect.span };
        diagnostic.related(place, format!("suspect {}: {}", i + 1, suspect.why))
    })
}

/// Operands by the kernel's pointer parameters.
fn pointers(entry: &KernelLaunchEntry) -> BTreeMap<String, String> {
    let pointer =
        |(param, value): (&String, &Value)| param.ends_with("_ptr").then(|| Some((param.clone(), value.as_str()?.to_owned())))?;
    entry.args.iter().filter_map(pointer).collect()
}

/// Lines of the wrapper that give a launch other numbers than the plan has.
fn unplanned(subject: &Subject, launch: &Launch, module: &Module) -> Vec<Suspect> {
    let kernel = &subject.manifest.kernels[launch.kernel];
    let args: Vec<HostArg> = launch.operands.iter().map(Operand::host_arg).collect();
    let Ok(trace) = host::trace_launch(&subject.modules, &module_name(&kernel.file), "launch", &args) else { return Vec::new() };
    let wrapper = module.body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Function(f) if f.name == "launch" => Some(f),
        _ => None,
    });
    let Some(wrapper) = wrapper else { return Vec::new() };
    let mut found: Vec<Suspect> = Vec::new();
    for (launched, entry) in trace.launches().zip(&kernel.launches) {
        let grid = launched.grid.map(i64::from);
        let mut differing: Vec<String> = Vec::new();
        for (param, value) in &launched.args {
            let wanted = entry.args.get(param);
            if wanted.is_some_and(|wanted| !planned::same(kernel, wanted, value)) {
                differing.push(param.clone());
            }
        }
        let Some(stmt) = statement(wrapper, launched) else { continue };
        let mut definitions: Vec<Suspect> = Vec::new();
        for param in &differing {
            let planned = entry.args.get(param).map(Value::to_string).unwrap_or_default();
            let arg = argument(stmt, launched, param);
            let misplaced = arg.and_then(Expr::as_name).filter(|name| {
                let given = launched.args.iter().find(|(known, _)| known == param);
                given.zip(entry.args.get(*name)).is_some_and(|((_, value), own)| planned::same(kernel, own, value))
            });
            let (span, why) = match (misplaced, arg.and_then(|arg| definition(wrapper, arg))) {
                // The name's own number is the planned one: it only stands in the wrong place.
                (Some(name), _) => (stmt.span, format!("passes `{name}` for `{param}`")),
                (None, Some(definition)) => {
                    (definition.span, format!("gives `{param}` another number than the plan's {planned}"))
                }
                (None, None) => (stmt.span, format!("gives `{param}` another number than the plan's {planned}")),
            };
            definitions.push(Suspect { span, why, certain: true });
        }
        if grid != entry.grid {
            let why = format!("launches {:?} programs, the plan {:?}", grid, entry.grid);
            definitions.push(Suspect { span: stmt.span, why, certain: true });
        }
        found.extend(definitions);
    }
    found
}

/// The wrapper's statement that holds a launch.
fn statement<'m>(wrapper: &'m FunctionDef, launch: &KernelLaunch) -> Option<&'m Stmt> {
    let mut found = None;
    each_stmt(&wrapper.body, &mut |stmt| {
        if stmt.span.start <= launch.span.start && launch.span.end <= stmt.span.end {
            found = Some(stmt);
        }
    });
    found
}

/// The expression that a launch passes for a parameter.
fn argument<'m>(stmt: &'m Stmt, launch: &KernelLaunch, param: &str) -> Option<&'m Expr> {
    let position = launch.args.iter().position(|(name, _)| name == param)?;
    let mut found = None;
    for expr in own_exprs(stmt) {
        each_expr(expr, &mut |e| {
            if let ExprKind::Call { func, args, keywords } = &e.kind
                && matches!(func.kind, ExprKind::Subscript { .. })
            {
                let named = keywords.iter().find(|k| k.name.as_deref() == Some(param)).map(|k| &k.value);
                found = found.or(named).or(args.get(position));
            }
        });
    }
    found
}

/// The statement that an argument's number comes from, when it is a name of the wrapper.
fn definition<'m>(wrapper: &'m FunctionDef, arg: &Expr) -> Option<&'m Stmt> {
    let name = arg.as_name()?;
    let mut found = None;
    each_stmt(&wrapper.body, &mut |stmt| {
        if let StmtKind::Assign { targets, value: _ } = &stmt.kind
            && targets.iter().any(|t| t.as_name() == Some(name))
        {
            found = Some(stmt);
        }
    });
    found
}
