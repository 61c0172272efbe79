//! What `run.py` hands over wrongly is wrong at its call, wherever it comes to light: in the wrapper that
//! refuses it, in the kernel that reads what nothing has written, or in the manifest's next launch.
//!
//! Kernels and wrappers were verified alone before the chain runs, so that what they refuse there is not
//! theirs. Calls through helpers of `run.py` are named at the outermost one. Buffers are the manifest's, in its
//! order ([`buffers_as_planned`]): launches are compared by a buffer's number.
//!
//! Not caught: a wrong line before the call, of which the call's argument is made, is not named itself; what
//! `forward` allocates beyond the manifest's buffers.

use crate::conform::diagnose::functions;
use crate::conform::subject::{Launch, Subject, module_name};
use crate::diag::{Diagnostic, Place, Result, codes};
use crate::host::{Event, KernelLaunch, Trace};
use crate::source::Span;
use crate::syntax::ast::StmtKind;
use crate::syntax::walk::each_stmt;

/// `forward` launches another kernel than the manifest has, or none; `called`: where it calls it.
pub fn differs(subject: &Subject, launched: &str, planned: &str, called: Option<Span>) -> Box<Diagnostic> {
    let what = format!("forward launches {launched} where the manifest has {planned}");
    let diagnostic = Diagnostic::new(&codes::HOST_EDITED, what).help("undo the edit, or decompose again");
    match called {
        Some(span) => at_call(subject, Box::new(diagnostic), span),
        None => Box::new(at_return(subject, "forward", diagnostic)),
    }
}

/// A message at the last `return` of a function of `run.py`: where something is missing before it, or wrong in what it
/// returns. At the file as a whole where there is none.
pub fn at_return(subject: &Subject, function: &str, diagnostic: Diagnostic) -> Diagnostic {
    let module = subject.modules.ast("run");
    let own = module.and_then(|module| {
        let mut found = None;
        let function = functions(module).find(|f| f.name == function)?;
        each_stmt(&function.body, &mut |stmt| {
            if matches!(stmt.kind, StmtKind::Return(_)) {
                found = Some(stmt.span);
            }
        });
        Some((&module.file, found?))
    });
    match own {
        Some((file, span)) => diagnostic.at(file, span),
        None => diagnostic.in_file(format!("{}/run.py", subject.name)),
    }
}

/// Whether a place of `forward` itself holds an allocation; others may be those of a helper's file.
fn in_forward(subject: &Subject, span: Span) -> bool {
    let Some(module) = subject.modules.ast("run") else { return false };
    let forward = module.body.iter().find(|stmt| matches!(&stmt.kind, StmtKind::Function(f) if f.name == "forward"));
    let inside = forward.is_some_and(|stmt| stmt.span.start <= span.start && span.end <= stmt.span.end);
    inside && module.file.slice(span).starts_with("torch.")
}

/// A message at a call in `forward`; a place in a text that it has becomes the second one.
pub fn at_call(subject: &Subject, error: Box<Diagnostic>, called: Span) -> Box<Diagnostic> {
    let Some(module) = subject.modules.ast("run") else { return error };
    let mut error = *error;
    let call = Place::Text { file: module.file.clone(), span: called };
    if let Some(place @ Place::Text { .. }) = error.place.replace(call) {
        error.related.insert(0, (place, "the fault came to light here".to_owned()));
    }
    Box::new(error)
}

/// A load of what nothing has written is none of the kernel's doing.
pub fn unwritten(subject: &Subject, fault: Box<Diagnostic>, kernel: &KernelLaunch) -> Box<Diagnostic> {
    if fault.code == &codes::UNINITIALISED_READ { at_call(subject, fault, kernel.called) } else { fault }
}

/// What a wrapper refuses, at the call in `run.py` that led there.
pub fn refused(subject: &Subject, error: Box<Diagnostic>) -> Box<Diagnostic> {
    let Some(module) = subject.modules.ast("run") else { return error };
    let inside = |place: &Place| match place {
        Place::Text { file, span: _ } => file.name() == module.file.name(),
        Place::Node { .. } | Place::File { .. } => false,
    };
    let outermost = error.related.iter().rposition(|(place, _)| inside(place));
    let Some(at) = outermost.filter(|_| !error.place.as_ref().is_some_and(inside)) else { return error };
    let mut error = *error;
    let (call, _) = error.related.remove(at);
    if let Some(refusal) = error.place.replace(call) {
        error.related.insert(0, (refusal, "refused here".to_owned()));
    }
    Box::new(error)
}

/// Whether a message has a place in the file of a launch's kernel.
pub fn leads_to(subject: &Subject, launch: &Launch, found: &Diagnostic) -> bool {
    let own = subject.modules.ast(&module_name(&subject.manifest.kernels[launch.kernel].file)).map(|module| module.file.name());
    let inside = |place: &Place| match place {
        Place::Text { file, span: _ } => Some(file.name()) == own,
        Place::Node { .. } | Place::File { .. } => false,
    };
    found.place.iter().chain(found.related.iter().map(|(place, _)| place)).any(inside)
}

/// `forward` allocates the manifest's buffers first, in their order.
pub fn buffers_as_planned(subject: &Subject, trace: &Trace) -> Result<()> {
    let mut allocated = trace.events.iter().filter_map(|event| match event {
        Event::Alloc { dtype, len, span, .. } => Some((dtype.name(), *len, *span)),
        Event::Launch(_) => None,
    });
    for (i, planned) in subject.manifest.buffers.iter().enumerate() {
        let found = allocated.next();
        if found.map(|(dtype, len, _)| (dtype, len)) != Some((planned.dtype.as_str(), planned.len)) {
            let text = found.map_or("none".to_owned(), |(dtype, len, _)| format!("{len} elements of {dtype}"));
            let what = format!("forward's buffer {i} is {text}, the manifest's has {} of {}", planned.len, planned.dtype);
            let diagnostic = Diagnostic::new(&codes::HOST_EDITED, what).help("undo the edit, or decompose again");
            return Err(match found.map(|(_, _, span)| span).filter(|&span| in_forward(subject, span)) {
                Some(span) => at_call(subject, Box::new(diagnostic), span),
                None => Box::new(at_return(subject, "forward", diagnostic)),
            });
        }
    }
    Ok(())
}
