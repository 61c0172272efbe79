//! One mutation in one case: the ordinary verification of the edited files, and whether what it says
//! names the edited statement.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::conform::chain;
use crate::conform::execute::Executor;
use crate::conform::kernel;
use crate::conform::subject::{Subject, module_name};
use crate::conform::verdict::Word;
use crate::diag::{Class, Diagnostic, Place, Result};
use crate::emulate;
use crate::graph::{Producer, TensorType};
use crate::host::{self, Event, HostArg, Trace};
use crate::kernel::passes;
use crate::source::SourceFile;
use crate::syntax::parse_module;

use super::cases::{Case, RUNNER};
use super::mutation::Mutation;

/// Instructions that one program may execute: cases need thousands.
const FUEL: u64 = 1 << 20;

/// Where a message names the edited statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Named {
    /// It is the message's own place.
    Exact,
    /// It is the k-th of the lines to look at, from 1.
    Ranked(usize),
    No,
}

/// What became of a mutation in one case.
#[derive(Clone, Debug)]
pub enum Trial {
    /// The specialised kernels and launches are the same, so no case with these constants can differ.
    Same,
    /// Verified, an edit of the wrapper, and the output is the same bit for bit.
    SameRun,
    /// Verified: this case does not tell.
    Passed,
    Caught {
        code: &'static str,
        named: Named,
        message: Box<Diagnostic>,
    },
    /// The front end does not read the edited text; nothing is known of it.
    Refused(Box<Diagnostic>),
    /// We panicked or said that it is our fault.
    Broken(String),
}

/// What a case computes, reduced to what an edit can change.
pub type Fingerprint = Vec<String>;

/// Reads a case's files with one of them replaced.
fn subject(case: &Case, text: Option<&str>) -> Result<Subject> {
    let read = if case.file == RUNNER { Subject::read } else { Subject::of_kernels };
    match text {
        None => read("case", &case.files),
        Some(text) => {
            let mut files = case.files.clone();
            files.insert(case.file.clone(), text.as_bytes().to_vec());
            read("case", &files)
        }
    }
}

/// The launches of a case with their kernels simplified: two texts with equal fingerprints do the
/// same, whatever the elements are.
pub fn fingerprint(case: &Case, text: Option<&str>) -> Result<Fingerprint> {
    let subject = subject(case, text)?;
    let executor = Executor::new(&subject.modules, emulate::Options::default());
    let mut out = Vec::new();
    for launch in &subject.launches {
        let file = module_name(&subject.manifest.kernels[launch.kernel].file);
        let args: Vec<HostArg> = launch.operands.iter().map(|o| o.host_arg()).collect();
        let trace = host::trace_launch(&subject.modules, &file, "launch", &args)?;
        for kernel in trace.launches() {
            let simplified = passes::simplify(executor.verified(kernel)?)?;
            out.push(nameless(&simplified));
        }
        out.extend(events(&trace));
    }
    if case.file == RUNNER {
        out.extend(forward(&subject)?);
    }
    Ok(out)
}

/// What `run.py` prepares, allocates, launches and returns.
fn forward(subject: &Subject) -> Result<Vec<String>> {
    let (graph, rewritten) = (&subject.imported, &subject.rewritten);
    let weights = graph.values().filter(|(_, data)| matches!(data.producer, Producer::Weight(_)));
    let types: Vec<(String, TensorType)> = weights.map(|(_, data)| (data.name.clone(), data.ty.clone())).collect();
    let mut out = vec![format!("{:?}", host::prepare(&subject.modules, "run", &types)?)];
    let mut args: Vec<HostArg> = graph.inputs().iter().map(|&input| HostArg::Tensor(graph.ty(input).clone())).collect();
    let prepared = subject.manifest.prepared.iter().filter_map(|name| rewritten.find(name));
    let prepared = HostArg::Tuple(prepared.map(|value| HostArg::Tensor(rewritten.ty(value).clone())).collect());
    args.extend([HostArg::Mapping(types), prepared]);
    let trace = host::trace_forward(&subject.modules, "run", &args)?;
    out.extend(events(&trace));
    out.push(format!("{:?}", trace.returned));
    Ok(out)
}

/// A trace's storages and events without their places in the text.
fn events(trace: &Trace) -> Vec<String> {
    let event = |event: &Event| match event {
        Event::Alloc { storage, dtype, len, fill, span: _ } => format!("{storage:?} {dtype} {len} {fill:?}"),
        Event::Launch(launch) => format!("{} {} {:?} {:?}", launch.module, launch.function, launch.grid, launch.args),
    };
    trace.events.iter().map(event).collect()
}

/// A kernel's text without the names of Python variables.
fn nameless(kernel: &crate::kernel::Kernel) -> String {
    let mut kernel = kernel.clone();
    kernel.values.iter_mut().for_each(|v| v.name = None);
    kernel.to_string()
}

/// Verifies a case with one edit made.
pub fn trial(case: &Case, file: &Arc<SourceFile>, original: &Fingerprint, mutation: &Mutation) -> Trial {
    let text = mutation.edit.apply(file);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        match fingerprint(case, Some(&text)) {
            Ok(edited) if edited == *original => return Trial::Same,
            Ok(_) | Err(_) => {}
        }
        match verified(case, &text) {
            Ok(None) if mutation.key.function == "launch" && same_output(case, &text).unwrap_or(false) => Trial::SameRun,
            Ok(None) => Trial::Passed,
            Ok(Some(diagnostic)) | Err(diagnostic) => found(case, mutation, diagnostic),
        }
    }));
    outcome.unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<String>().cloned();
        let text = text.or_else(|| cause.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Trial::Broken(text.unwrap_or_else(|| "a panic without a message".to_owned()))
    })
}

/// The first finding of the ordinary verification: of each kernel, or of the chain for `run.py`.
pub fn verified(case: &Case, text: &str) -> Result<Option<Box<Diagnostic>>> {
    let subject = subject(case, Some(text))?;
    let options = emulate::Options { threads: 1, fuel: FUEL, ..emulate::Options::default() };
    let executor = Executor::new(&subject.modules, options);
    if case.file != RUNNER {
        for launch in &subject.launches {
            let verdict = kernel::verify(&subject, &executor, launch);
            if verdict.word != Word::Verified {
                return Ok(verdict.diagnostics.into_iter().next().map(Box::new));
            }
        }
        return Ok(None);
    }
    let chain = chain::verify(&subject, &executor, &BTreeSet::new(), &|_| Ok(()))?;
    Ok(chain.diagnostics.into_iter().next().map(Box::new))
}

/// Whether the edited files compute the same bits as the case's on the numerics pass's random numbers.
fn same_output(case: &Case, text: &str) -> Result<bool> {
    let run = |text: Option<&str>| {
        let subject = subject(case, text)?;
        let executor =
            Executor::new(&subject.modules, emulate::Options { threads: 1, fuel: FUEL, ..emulate::Options::default() });
        subject.launches.iter().map(|launch| kernel::output(&subject, &executor, launch)).collect::<Result<Vec<_>>>()
    };
    Ok(run(None)? == run(Some(text))?)
}

fn found(case: &Case, mutation: &Mutation, diagnostic: Box<Diagnostic>) -> Trial {
    match diagnostic.class() {
        Class::Bug | Class::Usage | Class::Limit => {
            let named = named(case, mutation, &diagnostic);
            Trial::Caught { code: diagnostic.code.id, named, message: diagnostic }
        }
        Class::Unsupported => Trial::Refused(diagnostic),
        Class::Internal => Trial::Broken(diagnostic.to_string()),
    }
}

/// Whether a message's place, or one of its lines to look at, lies in the edited statement.
fn named(case: &Case, mutation: &Mutation, diagnostic: &Diagnostic) -> Named {
    let statement = mutation.statement_after();
    let here = |place: &Place| match place {
        Place::Text { file, span } => {
            file.name().ends_with(&case.file)
                && span.start < statement.end.max(statement.start + 1)
                && statement.start < span.end.max(span.start + 1)
        }
        Place::Node { .. } | Place::File { .. } => false,
    };
    if diagnostic.place.as_ref().is_some_and(here) {
        return Named::Exact;
    }
    match diagnostic.related.iter().position(|(place, _)| here(place)) {
        Some(at) => Named::Ranked(at + 1),
        None => Named::No,
    }
}

/// A file of a case as it was emitted, parsed.
pub fn parsed(case: &Case) -> Result<crate::syntax::ast::Module> {
    let bytes = case.files.get(&case.file).map_or(&[][..], Vec::as_slice);
    let text = String::from_utf8_lossy(bytes).into_owned();
    parse_module(&SourceFile::new(format!("case/{}", case.file), text))
}
