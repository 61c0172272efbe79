//! What following forward has met: the material of the rules.

use std::collections::BTreeSet;

use super::file::File;
use crate::source::Span;

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A function of torch, by its full name.
    Torch(String),
    Functional(String),
    /// A method of a tensor, or an attribute that computes.
    Method(String),
    Operator(String),
    Module,
    Index,
    Bypass(String),
    /// What is not read, and why.
    Unread(String),
    /// A method that copies a tensor whose strides were permuted.
    Copy(String),
}

#[derive(Clone, Debug)]
pub struct Event<'a> {
    pub span: Span,
    pub kind: Kind,
    /// Functions entered on the way from forward.
    pub way: Vec<&'a str>,
}

pub struct Walked<'a> {
    pub file: File<'a>,
    pub events: Vec<Event<'a>>,
    /// Kernels launched on the way.
    pub launched: BTreeSet<&'a str>,
    pub has_forward: bool,
}
