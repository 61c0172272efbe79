//! What a rule is: a code, the targets under which it speaks and how loudly, and the function that looks.
//!
//! A rule reads the text alone ([`Check::Text`]), one specialisation in the kernel IR ([`Check::Lowered`]), or a
//! launch whose grid is known ([`Check::Launch`]). It says what it finds through [`Found`]; code, severity and
//! file are added there, so that a rule cannot give itself another weight than its row in the table says.

use std::sync::Arc;

use super::specialise::Lowered;
use super::subject::{Launch, Subject};
use crate::diag::{Code, Diagnostic, Severity};
use crate::source::{SourceFile, Span};
use crate::target::{Target, Vendor};

/// Under which targets a rule speaks, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applies {
    /// An error on Ascend, a warning everywhere else: the coding rules that kernels of ours keep for every target.
    Portable,
    /// On every target, and without one.
    Always(Severity),
    Ascend(Severity),
    /// On NVIDIA and AMD.
    Gpu(Severity),
}

impl Applies {
    /// For a table: where, and how loudly.
    pub fn describe(self) -> &'static str {
        match self {
            Applies::Portable => "warning; error on Ascend",
            Applies::Always(Severity::Error) => "error",
            Applies::Always(Severity::Warning) => "warning",
            Applies::Always(Severity::Advice) => "advice",
            Applies::Ascend(Severity::Error) => "Ascend: error",
            Applies::Ascend(Severity::Warning) => "Ascend: warning",
            Applies::Ascend(Severity::Advice) => "Ascend: advice",
            Applies::Gpu(Severity::Error) => "GPUs: error",
            Applies::Gpu(Severity::Warning) => "GPUs: warning",
            Applies::Gpu(Severity::Advice) => "GPUs: advice",
        }
    }

    /// `None`: the rule says nothing under this target.
    pub fn severity(self, target: Option<&Target>) -> Option<Severity> {
        let vendor = target.map(|t| t.vendor);
        match self {
            Applies::Portable if vendor == Some(Vendor::Ascend) => Some(Severity::Error),
            Applies::Portable => Some(Severity::Warning),
            Applies::Always(severity) => Some(severity),
            Applies::Ascend(severity) => (vendor == Some(Vendor::Ascend)).then_some(severity),
            Applies::Gpu(severity) => matches!(vendor, Some(Vendor::Nvidia | Vendor::Amd)).then_some(severity),
        }
    }
}

/// How a rule looks.
#[derive(Clone, Copy)]
pub enum Check {
    Text(fn(&Subject<'_>, &mut Found<'_>)),
    /// Only under a target: figures of hardware.
    Lowered(fn(&Lowered<'_>, &Target, &mut Found<'_>)),
    Launch(fn(&Launch<'_>, &Target, &mut Found<'_>)),
}

impl Check {
    /// For a table: what a rule must know.
    pub fn needs(self) -> &'static str {
        match self {
            Check::Text(_) => "text",
            Check::Lowered(_) => "block sizes",
            Check::Launch(_) => "a constant grid",
        }
    }
}

#[derive(Clone, Copy)]
pub struct Rule {
    pub code: &'static Code,
    pub applies: Applies,
    pub check: Check,
}

/// A finding with the edits that mend it, where mending is mechanical.
#[derive(Clone, Debug)]
pub struct Finding {
    pub diagnostic: Diagnostic,
    /// Replacements by span; empty when a person must decide.
    pub fix: Vec<(Span, String)>,
}

/// Where one rule puts what it finds.
pub struct Found<'a> {
    pub(super) file: &'a Arc<SourceFile>,
    pub(super) code: &'static Code,
    pub(super) severity: Severity,
    pub(super) list: &'a mut Vec<Finding>,
}

impl Found<'_> {
    /// Reports at a place; the returned finding takes notes, help and a fix.
    pub fn at(&mut self, span: Span, message: impl Into<String>) -> &mut Finding {
        let diagnostic = Diagnostic::new(self.code, message).severity(self.severity).at(self.file, span);
        self.list.push(Finding { diagnostic, fix: Vec::new() });
        let last = self.list.len() - 1;
        &mut self.list[last]
    }

    pub fn file(&self) -> &SourceFile {
        self.file
    }
}

impl Finding {
    pub fn help(&mut self, help: impl Into<String>) -> &mut Finding {
        self.diagnostic.help = Some(help.into());
        self
    }

    pub fn note(&mut self, note: impl Into<String>) -> &mut Finding {
        self.diagnostic.notes.push(note.into());
        self
    }

    pub fn fix(&mut self, edits: Vec<(Span, String)>) -> &mut Finding {
        self.fix = edits;
        self
    }
}
