//! Python text → [`ast`], over ruff's parser; the only place that knows ruff.
//!
//! `parse` reads text; `constant` is Python's arithmetic on compile-time values; `eval` computes an
//! expression to a [`Constant`]; `imports` resolves dotted names; `edit` changes a text by span; `walk` visits
//! statements and expressions; `yaml` reads YAML with positions (its strings may be expressions); `reopen` reads what
//! the tree keeps as `Other` once more, for those who can use it; `same` compares statements.
//! Spans are byte offsets into the [`SourceFile`](crate::source::SourceFile).

pub mod ast;
pub mod constant;
pub mod edit;
pub mod eval;
pub mod imports;
mod parse;
pub mod python;
pub mod reopen;
pub mod same;
pub mod walk;
pub mod yaml;

pub use ast::is_identifier;
pub use constant::Constant;
pub use parse::{parse_expression, parse_expression_at, parse_joined, parse_module};
