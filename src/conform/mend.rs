//! The line with which a wrong kernel is right: small edits of its statements, each tried on the failing inputs.
//!
//! A mutation of a wrong program that makes it right is where its fault is, or as good (mutation-based fault
//! localisation: Papadakis & Le Traon 2015). Statements are tried in the order of suspicion and then of the text
//! ([`edits`]); an edit counts only where the kernel then holds in every pass, so that what is said of it was seen. A
//! large kernel is tried at the smallest shapes at which it fails, and the edit that mends it there must mend it at its
//! own.
//!
//! What the kernel is given or computes and does not read is put back first ([`unread`]). Of the emitted text nothing is
//! known but how pointers and strides are named there.
//!
//! Not found: slips that take two edits, or that left out what is written nowhere else; a line that makes up for the
//! wrong one is taken for it. Wrappers and large launches are not tried.

mod edits;
mod unread;

use std::sync::atomic::Ordering;

use crate::conform::compare::compare;
use crate::conform::diagnose::{SUSPECTS, called, functions, header};
use crate::conform::execute::Executor;
use crate::conform::inputs::Kind;
use crate::conform::kernel;
use crate::conform::run::Bench;
use crate::conform::subject::{Launch, Subject, module_name};
use crate::diag::{Diagnostic, Place, codes};
use crate::host::Modules;
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Module, Stmt, StmtKind};
use crate::syntax::parse_module;
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

use edits::{Edit, Likely, Names};

/// Elements times edits that are tried at most.
const BUDGET: usize = 1 << 22;

/// Edits that are tried: of a launch that is tried at all at least, and at most.
const TRIALS: (usize, usize) = (64, 768);

/// One in so many trials at most puts back what is not read ([`unread`]): these go first, and other slips need trials,
/// too.
const UNREAD: usize = 4;

/// Instructions that one program of a trial may execute.
const FUEL: u64 = 1 << 20;

/// A finding about wrong values with the line that mends it, where one does; `small` is the launch at other shapes, at
/// which it fails alike.
pub fn explained(
    subject: &Subject,
    executor: &Executor,
    launch: &Launch,
    small: Option<&Subject>,
    found: Diagnostic,
) -> Diagnostic {
    let values = [&codes::HAS_NAN, &codes::ALL_ZERO, &codes::VALUE_MISMATCH];
    let module = subject.modules.ast(&module_name(&subject.manifest.kernels[launch.kernel].file));
    let (true, Some(module)) = (values.contains(&found.code), module) else { return found };
    let own: usize = launch.operands.iter().map(|operand| operand.entry.storage).sum();
    let there = small.filter(|_| own * TRIALS.0 > BUDGET).and_then(|small| Some((small, small.launches.first()?)));
    let (tried, at) = there.unwrap_or((subject, launch));
    // What mends it at small shapes may be no mending at its own.
    let confirmed = |edit: &Edit| there.is_none() || holds(subject, executor, launch, &edit.apply(&module.file));
    match first(tried, executor, at, &found, &confirmed) {
        Some(mended) => told(found, module, &mended),
        None => found,
    }
}

/// A statement and the edit of it.
struct Mended {
    statement: Span,
    edit: Edit,
}

fn told(mut found: Diagnostic, module: &Module, mended: &Mended) -> Diagnostic {
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (file, span) = (&module.file, mended.statement);
    let from = joined(file.slice(mended.edit.span));
    let to = joined(&mended.edit.text);
    let line = file.position(mended.edit.span.start).line;
    let what = format!("with `{to}` for `{from}` in line {line} the output is right");
    let mut related = vec![(Place::Text { file: file.clone(), span }, format!("suspect 1: {what}"))];
    let others = found.related.drain(..).filter(|(place, _)| !matches!(place, Place::Text { span: s, .. } if *s == span));
    for (place, label) in others {
        let suspect = label.strip_prefix("suspect ").and_then(|rest| Some(rest.split_once(": ")?.1.to_owned()));
        match suspect {
            Some(why) if related.len() < SUSPECTS => {
                let label = format!("suspect {}: {why}", related.len() + 1);
                related.push((place, label));
            }
            Some(_) => {}
            None => related.push((place, label)),
        }
    }
    found.related = related;
    found.help(format!("look at line {line} first: {what}, in every pass"))
}

/// The first edit with which the launch holds.
fn first(
    subject: &Subject,
    executor: &Executor,
    launch: &Launch,
    found: &Diagnostic,
    confirmed: &dyn Fn(&Edit) -> bool,
) -> Option<Mended> {
    let kernel = &subject.manifest.kernels[launch.kernel];
    let module = subject.modules.ast(&module_name(&kernel.file))?;
    let elements: usize = launch.operands.iter().map(|operand| operand.entry.storage).sum();
    if elements * TRIALS.0 > BUDGET {
        return None;
    }
    let trials = (BUDGET / elements.max(1)).min(TRIALS.1);
    let filter = Filter::of(subject, executor, launch);
    let statements = statements(module, &kernel.launches.last()?.function);
    let names = names(&statements);
    let rank = |own: Span| {
        let at = found.related.iter().position(|(place, _)| matches!(place, Place::Text { span, .. } if *span == own));
        at.unwrap_or(usize::MAX)
    };
    let mut ordered: Vec<&&Stmt> = statements.iter().collect();
    ordered.sort_by_key(|stmt| rank(header(stmt)));
    let edits = ordered.into_iter().flat_map(|stmt| {
        let all = edits::edits(&module.file, stmt, &names).into_iter();
        all.map(move |(likely, edit)| (likely, Mended { statement: header(stmt), edit }))
    });
    let mut edits: Vec<(Likely, Mended)> = edits.collect();
    edits.sort_by_key(|(likely, _)| *likely);
    let mut unread: Vec<Mended> = reached(module, &kernel.launches.last()?.function)
        .flat_map(|function| unread::edits(&module.file, function))
        .map(|(statement, edit)| Mended { statement, edit })
        .collect();
    unread.sort_by_key(|mended| rank(mended.statement));
    unread.truncate(trials / UNREAD);
    for mended in unread.into_iter().chain(edits.into_iter().map(|(_, mended)| mended)).take(trials) {
        if executor.cancel().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return None;
        }
        let text = mended.edit.apply(&module.file);
        if filter.passes(subject, executor, launch, &text) && holds(subject, executor, launch, &text) && confirmed(&mended.edit) {
            return Some(mended);
        }
    }
    None
}

/// The kernel's file with another text, alone.
fn edited(subject: &Subject, launch: &Launch, text: &str) -> Option<Modules> {
    let file = &subject.manifest.kernels[launch.kernel].file;
    let parsed = parse_module(&SourceFile::new("trial", text)).ok()?;
    let mut modules = Modules::new();
    modules.add(&module_name(file), parsed).ok()?;
    Some(modules)
}

/// Whether the launch holds in every pass with another text.
fn holds(subject: &Subject, executor: &Executor, launch: &Launch, text: &str) -> bool {
    let Some(modules) = edited(subject, launch, text) else { return false };
    kernel::bare(subject, &executor.of(&modules, FUEL), launch).is_ok()
}

/// The pass that fails first, to pass over most edits with one run each.
struct Filter {
    failing: Option<(crate::conform::run::Elements, crate::conform::run::Expected)>,
}

impl Filter {
    fn of(subject: &Subject, executor: &Executor, launch: &Launch) -> Filter {
        let bench = Bench { subject, executor, launch };
        let failing = [Kind::Structure, Kind::Numerics].into_iter().find_map(|kind| {
            let given = bench.inputs(kind).ok()?;
            let run = bench.run(kind, &given).ok()?;
            (!run.comparison.passed()).then_some((given, run.expected))
        });
        Filter { failing }
    }

    fn passes(&self, subject: &Subject, executor: &Executor, launch: &Launch, text: &str) -> bool {
        let Some((given, expected)) = &self.failing else { return true };
        let Some(modules) = edited(subject, launch, text) else { return false };
        let executor = executor.of(&modules, FUEL);
        let got = Bench { subject, executor: &executor, launch }.output(given);
        got.is_ok_and(|got| compare(&got, &expected.tensor, &expected.derived).passed())
    }
}

/// The statements of a kernel and the helpers that it calls, in order of the text.
fn statements<'m>(module: &'m Module, entry: &str) -> Vec<&'m Stmt> {
    let mut found = Vec::new();
    for function in reached(module, entry) {
        each_stmt(&function.body, &mut |stmt| found.push(stmt));
    }
    found
}

/// A kernel and the helpers that it calls, in order of the text.
fn reached<'m>(module: &'m Module, entry: &str) -> impl Iterator<Item = &'m FunctionDef> {
    let (mut read, mut open) = (Vec::new(), vec![entry.to_owned()]);
    while let Some(name) = open.pop() {
        let Some(function) = functions(module).find(|f| f.name == name && !read.contains(&name)) else { continue };
        each_stmt(&function.body, &mut |stmt| {
            for expr in own_exprs(stmt) {
                each_expr(expr, &mut |e| {
                    if let ExprKind::Call { func, .. } = &e.kind {
                        open.extend(func.as_name().map(str::to_owned));
                    }
                });
            }
        });
        read.push(name);
    }
    functions(module).filter(move |f| read.contains(&f.name))
}

/// The names that the statements use, by kind.
fn names(statements: &[&Stmt]) -> Names {
    let mut names = Names::default();
    let mut add = |list: fn(&mut Names) -> &mut Vec<String>, name: &str| {
        let list = list(&mut names);
        if !list.iter().any(|known| known == name) {
            list.push(name.to_owned());
        }
    };
    for stmt in statements {
        if let StmtKind::Assign { targets, value } = &stmt.kind
            && let [Some(target)] = targets.iter().map(Expr::as_name).collect::<Vec<_>>()[..]
        {
            let loads = matches!(&value.kind, ExprKind::Call { func, .. } if called(func) == "load");
            add(if loads { |n| &mut n.loaded } else { |n| &mut n.bound }, target);
        }
        if let StmtKind::For { target, .. } = &stmt.kind
            && let Some(target) = target.as_name()
        {
            add(|n| &mut n.bound, target);
        }
        for expr in own_exprs(stmt) {
            each_expr(expr, &mut |e| {
                if let Some(name) = e.as_name() {
                    if name.contains("_stride_") {
                        add(|n| &mut n.strides, name);
                    } else if name.starts_with(|c: char| c.is_ascii_uppercase())
                        && !name.contains(|c: char| c.is_ascii_lowercase())
                    {
                        add(|n| &mut n.sizes, name);
                    }
                }
            });
        }
    }
    names
}
