//! Messages: what went wrong, where, why, and what to do about it.
//!
//! Every message carries a [`Code`] from one flat table ([`codes`]); the code fixes the outcome
//! class and with it the exit status. A place is a span of a text file, a node of a model, or
//! neither. Rendering (with a caret under the span) lives in [`render`].

pub mod codes;
mod number;
pub mod render;

use std::fmt;
use std::sync::Arc;

use crate::source::{SourceFile, Span};

pub use codes::Code;
pub use number::number;

/// How a piece of work ended badly. The four outcomes of work are never mixed; `Usage` is for the
/// command line and for files that cannot be read as what they claim to be, before work starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The command line is wrong, or a file is unreadable or invalid. Exit status 2.
    Usage,
    /// The kernel, wrapper or model is wrong. Exit status 1.
    Bug,
    /// We cannot do this yet; says what and where. Exit status 3.
    Unsupported,
    /// Fuel, memory or time ran out. Exit status 4.
    Limit,
    /// Our fault. Exit status 70.
    Internal,
}

/// How much a message matters to the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Severity {
    /// What could be better: a figure, no fault. Decides nothing.
    Advice,
    /// What is wrong elsewhere than where it was asked about. Decides nothing.
    Warning,
    /// Counts: the exit status follows from its class.
    #[default]
    Error,
}

/// Where a message points.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// A span of a text; rendered with the line and a caret.
    Text { file: Arc<SourceFile>, span: Span },
    /// A node of a model file, by its own name (or `#12 Conv` when it has none).
    Node { file: String, node: String },
    /// A file as a whole.
    File { file: String },
}

impl Place {
    /// A span of a text; one of joined files is told as one of the file it comes from.
    pub fn text(file: &Arc<SourceFile>, span: Span) -> Place {
        let (file, span) = file.origin(span);
        Place::Text { file, span }
    }
}

/// One message.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    pub code: &'static Code,
    pub severity: Severity,
    /// One sentence without a full stop: what is wrong, with the values that make it wrong.
    pub message: String,
    pub place: Option<Place>,
    /// Further places with a short label each (the other line of a race, an outer call).
    pub related: Vec<(Place, String)>,
    /// Facts that help to see the cause, one a line: `tensor: x`, `index: 4096 of 4096`.
    pub notes: Vec<String>,
    /// The remedy, as an instruction.
    pub help: Option<String>,
}

impl Diagnostic {
    pub fn new(code: &'static Code, message: impl Into<String>) -> Diagnostic {
        let severity = Severity::Error;
        Diagnostic { code, severity, message: message.into(), place: None, related: Vec::new(), notes: Vec::new(), help: None }
    }

    pub fn at(mut self, file: &Arc<SourceFile>, span: Span) -> Diagnostic {
        self.place = Some(Place::text(file, span));
        self
    }

    pub fn at_node(mut self, file: impl Into<String>, node: impl Into<String>) -> Diagnostic {
        self.place = Some(Place::Node { file: file.into(), node: node.into() });
        self
    }

    pub fn in_file(mut self, file: impl Into<String>) -> Diagnostic {
        self.place = Some(Place::File { file: file.into() });
        self
    }

    pub fn related(mut self, place: Place, label: impl Into<String>) -> Diagnostic {
        self.related.push((place, label.into()));
        self
    }

    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    pub fn severity(mut self, severity: Severity) -> Diagnostic {
        self.severity = severity;
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    pub fn class(&self) -> Class {
        self.code.class
    }
}

/// The message on one line, without its place: `E-code: message`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.code.id, self.message)
    }
}

impl std::error::Error for Diagnostic {}

/// Boxed, because a diagnostic is large and rare.
pub type Result<T> = std::result::Result<T, Box<Diagnostic>>;
