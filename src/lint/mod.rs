//! Static rules about kernels, by target: what a device or its compiler does not take, found before anything
//! runs. The coding rules for NPUs (N001 to N003) hold everywhere: a warning, an error under an Ascend target.
//!
//! * `subject` — a file as the rules see it; `rank`, `flow`, `configs` — what the text says of axes, addresses
//!   and configurations; `specialise`, `live` — the kernel IR at its block sizes, and what it holds at once
//! * `npu`, `gpu` — one rule a file, in one table ([`ALL`]); `rule` — what a rule is
//! * `facts` — what a launch costs the target, from what the emulator counted
//! * `ban` — `ModelNew.forward` computes nothing in torch; asked for apart
//! * `fix` — the mechanical ones, as edits of the text; `sarif` — findings for other tools
//!
//! A rule that needs block sizes and finds none says nothing, and the report says so. What the front end refuses
//! (K002, K003) is a finding, too. Does not catch: what only the compiler's own passes know (layouts, padding,
//! spills); `compile.py` of a suite asks them.

pub mod ban;
mod configs;
pub mod facts;
pub mod fix;
pub(crate) mod flow;
mod gpu;
pub mod live;
mod npu;
pub(crate) mod rank;
pub mod rule;
pub mod sarif;
mod specialise;
pub(crate) mod subject;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeSet;

use crate::diag::{Code, Diagnostic, Severity};
use crate::kernel::ArgSpec;
use crate::source::SourceFile;
use crate::syntax::ast::Module;
use crate::target::Target;

use rule::Found;
pub use rule::{Applies, Check, Finding, Rule};
use specialise::Lowered;
use subject::Subject;

/// Every rule, in the order of codes.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    npu::RULES.iter().chain(gpu::RULES)
}

/// What is asked about a file.
#[derive(Clone, Debug)]
pub struct Request {
    pub target: Option<&'static Target>,
    /// Types of run-time parameters and values of constexprs that the file does not give, or other ones.
    pub args: Vec<(String, ArgSpec)>,
    /// Where neither a launch nor a config says it.
    pub num_warps: i64,
    pub num_stages: i64,
    /// Codes of rules that stay silent: tests switch one off to see that it, and only it, catches its faults.
    pub off: BTreeSet<&'static str>,
}

impl Default for Request {
    /// No target, and Triton's own defaults.
    fn default() -> Request {
        Request { target: None, args: Vec::new(), num_warps: 4, num_stages: 3, off: BTreeSet::new() }
    }
}

/// Everything that is found in a parsed file, in the order of the text.
pub fn lint(module: &Module, request: &Request) -> Vec<Finding> {
    let subject = Subject::of(module);
    let mut list = Vec::new();
    run(&subject, request, &|rule| matches!(rule.check, Check::Text(_) | Check::Launch(_)), &[], &mut list);
    if request.target.is_some() {
        let (lowered, problems) = specialise::all(&subject, request);
        run(&subject, request, &|rule| matches!(rule.check, Check::Lowered(_)), &lowered, &mut list);
        list.extend(problems.into_iter().map(|diagnostic| Finding { diagnostic, fix: Vec::new() }));
    }
    list.sort_by_key(|finding| position(&finding.diagnostic));
    let mut seen = BTreeSet::new();
    list.retain(|finding| {
        seen.insert((finding.diagnostic.code.id, position(&finding.diagnostic), finding.diagnostic.message.clone()))
    });
    list
}

/// The coding rules for NPUs alone, for those who verify or emulate a file: text is enough for them.
pub fn npu_rules(module: &Module, target: Option<&'static Target>) -> Vec<Diagnostic> {
    let request = Request { target, ..Request::default() };
    let mut list = Vec::new();
    run(&Subject::of(module), &request, &|rule| rule.applies == Applies::Portable, &[], &mut list);
    list.sort_by_key(|finding| position(&finding.diagnostic));
    list.into_iter().map(|finding| finding.diagnostic).collect()
}

fn run(
    subject: &Subject<'_>,
    request: &Request,
    wanted: &dyn Fn(&Rule) -> bool,
    lowered: &[Lowered<'_>],
    list: &mut Vec<Finding>,
) {
    let file = &subject.module.file;
    for rule in all().filter(|rule| wanted(rule) && !request.off.contains(rule.code.id)) {
        let Some(severity) = rule.applies.severity(request.target) else { continue };
        match (rule.check, request.target) {
            (Check::Text(check), _) => check(subject, &mut Found { file, code: rule.code, severity, list }),
            (Check::Launch(check), Some(target)) => {
                for launch in &subject.launches {
                    check(launch, target, &mut Found { file, code: rule.code, severity, list });
                }
            }
            (Check::Lowered(check), Some(target)) => {
                for kernel in lowered {
                    let before = list.len();
                    check(kernel, target, &mut Found { file, code: rule.code, severity, list });
                    for finding in &mut list[before..] {
                        if !kernel.configuration.is_empty() {
                            finding.note(format!("configuration: {}", kernel.configuration));
                        }
                    }
                }
            }
            (Check::Launch(_) | Check::Lowered(_), None) => {}
        }
    }
}

fn position(diagnostic: &Diagnostic) -> (u32, u32) {
    match &diagnostic.place {
        Some(crate::diag::Place::Text { file: _, span }) => (span.start, span.end),
        Some(crate::diag::Place::Node { .. } | crate::diag::Place::File { .. }) | None => (0, 0),
    }
}

/// How many findings count, warn and advise.
pub fn counts<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> [usize; 3] {
    let mut counts = [0; 3];
    for diagnostic in diagnostics {
        let at = match diagnostic.severity {
            Severity::Error => 0,
            Severity::Warning => 1,
            Severity::Advice => 2,
        };
        counts[at] += 1;
    }
    counts
}

/// A row of a table of rules.
const fn text(code: &'static Code, applies: Applies, check: fn(&Subject<'_>, &mut Found<'_>)) -> Rule {
    Rule { code, applies, check: Check::Text(check) }
}

const fn lowered(code: &'static Code, applies: Applies, check: fn(&Lowered<'_>, &Target, &mut Found<'_>)) -> Rule {
    Rule { code, applies, check: Check::Lowered(check) }
}

const fn launch(code: &'static Code, applies: Applies, check: fn(&subject::Launch<'_>, &Target, &mut Found<'_>)) -> Rule {
    Rule { code, applies, check: Check::Launch(check) }
}

/// The text of a file that an edit may touch: from one offset to another.
fn between(file: &SourceFile, start: u32, end: u32) -> &str {
    file.slice(crate::source::Span { start, end })
}
