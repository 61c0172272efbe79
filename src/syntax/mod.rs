//! Python text → [`ast`], over ruff's parser; the only place that knows ruff.
//!
//! Also serves YAML expressions (`expression`) and host code. Spans are byte offsets into the
//! [`SourceFile`](crate::source::SourceFile).

pub mod ast;
