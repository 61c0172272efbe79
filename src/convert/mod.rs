//! A kernel file from Triton to the emulator dialect and back.
//!
//! The dialect (see [`crate::kernel::lower::dialect`]) says `from common import tl`, has no decorators, addresses memory
//! by a base and an offset, and launches by `launch_kernel_1d(kernel, …, grid_size=N)`, `launch_kernel_2d` and `_3d`
//! with `grid=(N, M)`. Both forms compute the same values.
//!
//! Everything is an edit of the text by span, so that comments and layout stay. A file is converted whole or
//! refused: each thing that has no counterpart is named with its line (V001), and nothing is written.
//!
//! * `to_triton`, `to_emulator` — imports, decorators, memory; `pointers` — pointer variables as offsets
//! * `launches` — launches; `host` — the arrays of functions that launch: numpy and torch
//! * `scan` — what stands between two expressions
//!
//! Does not catch: an offset that wraps in 32 bits where a pointer does not; arrays that other functions of the file
//! hand to those that launch (a note names them).

mod host;
mod launches;
mod pointers;
mod scan;
#[cfg(test)]
mod tests;
mod to_emulator;
mod to_triton;

use crate::diag::{Diagnostic, Severity, codes};
use crate::lint::subject::Subject;
use crate::source::Span;
use crate::syntax::ast::Module;
use crate::syntax::edit::Edits;

/// The two forms of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Triton,
    Emulator,
}

/// A converted file.
#[derive(Clone, Debug)]
pub struct Converted {
    pub text: String,
    /// What a person should look at (advice).
    pub notes: Vec<Diagnostic>,
}

/// The module in the other form; in its own form already, it is refused.
///
/// # Errors
/// V001, one for each thing that cannot be converted.
pub fn convert(module: &Module, to: Form) -> Result<Converted, Vec<Diagnostic>> {
    let subject = Subject::of(module);
    let mut work = Work { subject: &subject, edits: Edits::default(), refused: Vec::new(), notes: Vec::new() };
    match (to, subject.dialect) {
        (Form::Triton, true) => to_triton::convert(&mut work),
        (Form::Emulator, false) => to_emulator::convert(&mut work),
        (Form::Triton, false) => {
            let message = "the file is not in the emulator dialect: it has no `from common import tl`";
            return Err(vec![Diagnostic::new(&codes::NOT_CONVERTIBLE, message).in_file(module.file.name())]);
        }
        (Form::Emulator, true) => {
            let message = "the file is in the emulator dialect already";
            return Err(vec![Diagnostic::new(&codes::NOT_CONVERTIBLE, message).in_file(module.file.name())]);
        }
    }
    if !work.refused.is_empty() {
        work.refused.sort_by_key(place);
        return Err(work.refused);
    }
    Ok(Converted { text: work.edits.apply_all(module.file.text()), notes: work.notes })
}

fn place(diagnostic: &Diagnostic) -> u32 {
    match &diagnostic.place {
        Some(crate::diag::Place::Text { file: _, span }) => span.start,
        Some(crate::diag::Place::Node { .. } | crate::diag::Place::File { .. }) | None => 0,
    }
}

/// A conversion in progress.
struct Work<'s, 'a> {
    subject: &'s Subject<'a>,
    edits: Edits,
    refused: Vec<Diagnostic>,
    notes: Vec<Diagnostic>,
}

impl Work<'_, '_> {
    fn text(&self, span: Span) -> &str {
        self.subject.module.file.slice(span)
    }

    fn refuse(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        let diagnostic = Diagnostic::new(&codes::NOT_CONVERTIBLE, message).at(&self.subject.module.file, span).help(help);
        self.refused.push(diagnostic);
    }

    fn note(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        let diagnostic = Diagnostic::new(&codes::NOT_CONVERTIBLE, message).at(&self.subject.module.file, span).help(help);
        self.notes.push(diagnostic.severity(Severity::Advice));
    }

    fn drop(&mut self, span: Span) {
        self.edits.replace(span, "");
    }
}
