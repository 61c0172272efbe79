//! What a node reads, and why it may not be lowered.

use std::sync::Arc;

use crate::diag::{Code, codes};
use crate::graph::ValueId;
use crate::tensor::Tensor;

/// A tensor whose elements are known while importing.
#[derive(Debug)]
pub struct Known {
    /// The name it gets as a weight.
    pub name: String,
    pub tensor: Arc<Tensor>,
    /// It was computed from constants of the model's code rather than learned.
    pub exact: bool,
}

/// A value of the graph, or a tensor that is known. A node whose operands are all known is computed at once
/// ([`folding`](crate::graph::folding)) where that is small and exact; a known tensor becomes a weight only when
/// a node of the graph reads it.
#[derive(Clone, Debug)]
pub enum Operand {
    Graph(ValueId),
    Known(Arc<Known>),
}

impl Operand {
    /// The tensor, when it is known.
    pub fn known(&self) -> Option<&Tensor> {
        match self {
            Operand::Known(known) => Some(&known.tensor),
            Operand::Graph(_) => None,
        }
    }

    /// The number, when it is one and known.
    pub fn number(&self) -> Option<f64> {
        self.known().filter(|tensor| tensor.len() == 1).map(|tensor| tensor.storage().get_f64(0))
    }
}

/// Why a node cannot be lowered.
#[derive(Debug)]
pub enum Failure {
    /// The model is wrong.
    Invalid(&'static Code, String),
    /// The model asks for something that is not offered.
    Unsupported(&'static Code, String),
}

impl Failure {
    pub fn invalid(message: impl Into<String>) -> Failure {
        Failure::Invalid(&codes::MODEL_INVALID, message.into())
    }

    pub fn shapes(message: impl Into<String>) -> Failure {
        Failure::Invalid(&codes::MODEL_SHAPES, message.into())
    }

    pub fn unsupported(message: impl Into<String>) -> Failure {
        Failure::Unsupported(&codes::OP_UNSUPPORTED, message.into())
    }
}
