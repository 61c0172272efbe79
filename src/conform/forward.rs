//! What `run.py` hands over wrongly is wrong at its call, wherever it comes to light: in the wrapper that
//! refuses it, in the kernel that reads what nothing has written, or in the manifest's next launch.
//!
//! Kernels and wrappers were verified alone before the chain runs, so that what they refuse there is not
//! theirs. Calls through helpers of `run.py` are named at the outermost one. Buffers are the manifest's, in its
//! order ([`buffers_as_planned`]): launches are compared by a buffer's number.
//!
//! Not caught: a wrong line before the call, of which the call's argument is made, is not named itself; what
//! `forward` allocates beyond the manifest's buffers.

use crate::conform::subject::{Launch, Subject, module_name};
use crate::diag::{Diagnostic, Place, Result, codes};
use crate::host::{Event, KernelLaunch, Trace};
use crate::source::Span;

/// `forward` launches another kernel than the manifest has, or none; `called`: where it calls it.
pub fn differs(subject: &Subject, launched: &str, planned: &str, called: Option<Span>) -> Box<Diagnostic> {
    let what = format!("forward launches {launched} where the manifest has {planned}");
    let diagnostic = Diagnostic::new(&codes::HOST_EDITED, what).help("undo the edit, or decompose again");
    let diagnostic = Box::new(diagnostic.in_file(format!("{}/run.py", subject.name)));
    match called {
        Some(span) => at_call(subject, diagnostic, span),
        None => diagnostic,
    }
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
        Event::Alloc { dtype, len, .. } => Some((dtype.name(), *len)),
        Event::Launch(_) => None,
    });
    for (i, planned) in subject.manifest.buffers.iter().enumerate() {
        let found = allocated.next();
        if found != Some((planned.dtype.as_str(), planned.len)) {
            let found = found.map_or("none".to_owned(), |(dtype, len)| format!("{len} elements of {dtype}"));
            let what = format!("forward's buffer {i} is {found}, the manifest's has {} of {}", planned.len, planned.dtype);
            let diagnostic = Diagnostic::new(&codes::HOST_EDITED, what).in_file(format!("{}/run.py", subject.name));
            return Err(Box::new(diagnostic.help("undo the edit, or decompose again")));
        }
    }
    Ok(())
}
