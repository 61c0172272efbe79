//! Operators that the caller describes: each element of the one output is a formula of the operands'
//! elements, which broadcast as numpy's do.
//!
//! They stand behind the import rules of the format: a name that a rule serves keeps its meaning. What
//! a formula does not express is refused at the node: attributes, several outputs, operands that are
//! left out.

use crate::expr::formula::Formula;

/// One operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnOperator {
    /// What model files call it, with its domain: `com.example.Swoosh`; a bare type in the default one.
    pub names: Vec<String>,
    /// The label of its Map.
    pub label: String,
    /// What the formula calls the node's inputs, in their order.
    pub operands: Vec<String>,
    pub formula: Formula,
}
