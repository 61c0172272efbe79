//! Graphs as text: what a suite's manifest keeps and what tests read.
//!
//! ```text
//! graph    = "graph" STRING line*
//! line     = "input" value | "weight" value "=" elements | node | "output" NAME
//! value    = NAME ":" DTYPE "[" sizes "]" role?
//! role     = "weight(" fan-in ")" | "index(" size ")" | "bias" | "scale" | "mean" | "variance" | "divisor" | "probability" | "mask" | "exact"
//! elements = "filled" NUMBER | "missing" | "stored" | "data [" numbers "]"
//! node     = value ("," value)* "=" operator "(" (NAME | "_"),* ")" attribute*   then indented lines:
//!            "read" OPERAND "[" indices "]" ("fill" NUMBER)?     one an access of a map
//!            "body" EXPRESSION                                   of a map
//!            "from" OPERATOR STRING ("in" STRING)?               one a source
//! ```
//!
//! A name that is not made of letters, digits and `_./:-` alone is written as a JSON string. Index and
//! body expressions are those of [`expr::print`](crate::expr::print). Nodes stand in topological
//! order. Elements of weights with more than [`SPELLED`] of them are not in the text: they are
//! `stored` elsewhere, and reading gives a `missing` one; else printing what was read gives the same
//! text. Not kept: node ids, `covers`, values of removed nodes.

mod parse;
mod print;

pub use parse::parse;

/// The most elements of a weight that the text spells out.
pub const SPELLED: usize = 64;

#[cfg(test)]
mod tests;
