//! A node's arguments by the names of its operator's signature, defaults filled in.

use crate::dtype::DType;
use crate::import::build::Operand;

use super::schema::Kind;

/// One argument, once the names in it are looked up.
#[derive(Clone, Debug)]
pub enum Arg {
    None,
    Tensor(TensorArg),
    Tensors(Vec<Option<TensorArg>>),
    Int(i64),
    Ints(Vec<i64>),
    Float(f64),
    Floats(Vec<f64>),
    Bool(bool),
    Bools(Vec<bool>),
    Text(String),
    /// A type, or the name of one that is not offered.
    Dtype(Result<DType, String>),
    /// Where and how elements lie.
    Placement,
}

/// A tensor and what the program calls it.
#[derive(Clone, Debug)]
pub struct TensorArg {
    pub name: String,
    pub operand: Operand,
}

impl Arg {
    /// The argument as a parameter of this kind takes it: one number for a list, an integer for a float.
    pub fn fitted(self, kind: Kind, length: Option<usize>) -> Option<Arg> {
        let fits = match (&self, kind) {
            (Arg::None, _)
            | (Arg::Tensor(_), Kind::Tensor | Kind::Scalar)
            | (Arg::Tensors(_), Kind::Tensors)
            | (Arg::Int(_), Kind::Int | Kind::Scalar | Kind::Tensor)
            | (Arg::Float(_), Kind::Float | Kind::Scalar | Kind::Tensor)
            | (Arg::Bool(_), Kind::Bool | Kind::Scalar | Kind::Tensor)
            | (Arg::Floats(_), Kind::Floats)
            | (Arg::Bools(_), Kind::Bools)
            | (Arg::Text(_), Kind::Text)
            | (Arg::Dtype(_), Kind::Dtype)
            | (Arg::Placement | Arg::Int(_), Kind::Placement) => true,
            (Arg::Ints(ints), Kind::Ints) if length.is_none_or(|n| n == 1 || ints.len() == n || ints.is_empty()) => true,
            _ => false,
        };
        if fits {
            return Some(self);
        }
        match (self, kind) {
            (Arg::Int(i), Kind::Ints) => Some(Arg::Ints(vec![i; length.unwrap_or(1)])),
            (Arg::Ints(ints), Kind::Ints) if ints.len() == 1 => Some(Arg::Ints(vec![ints[0]; length.unwrap_or(1)])),
            (Arg::Int(i), Kind::Float) => Some(Arg::Float(i as f64)),
            (Arg::Ints(ints), Kind::Floats) => Some(Arg::Floats(ints.into_iter().map(|i| i as f64).collect())),
            (Arg::Ints(ints), Kind::Tensors) if ints.is_empty() => Some(Arg::Tensors(Vec::new())),
            _ => None,
        }
    }
}

/// Numbers and lists of them are compared; a tensor is equal to nothing.
impl PartialEq for Arg {
    fn eq(&self, other: &Arg) -> bool {
        match (self, other) {
            (Arg::None, Arg::None) | (Arg::Placement, Arg::Placement) => true,
            (Arg::Int(a), Arg::Int(b)) => a == b,
            (Arg::Ints(a), Arg::Ints(b)) => a == b,
            (Arg::Float(a), Arg::Float(b)) => a == b,
            (Arg::Floats(a), Arg::Floats(b)) => a == b,
            (Arg::Bool(a), Arg::Bool(b)) => a == b,
            (Arg::Bools(a), Arg::Bools(b)) => a == b,
            (Arg::Text(a), Arg::Text(b)) => a == b,
            (Arg::Dtype(a), Arg::Dtype(b)) => a == b,
            (
                Arg::None
                | Arg::Tensor(_)
                | Arg::Tensors(_)
                | Arg::Int(_)
                | Arg::Ints(_)
                | Arg::Float(_)
                | Arg::Floats(_)
                | Arg::Bool(_)
                | Arg::Bools(_)
                | Arg::Text(_)
                | Arg::Dtype(_)
                | Arg::Placement,
                _,
            ) => false,
        }
    }
}
