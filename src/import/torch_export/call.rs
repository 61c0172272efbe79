//! What the lowering of one node sees: arguments by name, and the [`Site`] where nodes of the graph are added.

use std::ops::{Deref, DerefMut};

use super::alias::Step;
use super::arguments::{Arg, TensorArg};
use super::promote::Value;
use super::schema::Schema;
use crate::diag::codes;
use crate::dtype::DType;
use crate::import::build::{Failure, Operand, Site};
use crate::shape::Shape;

/// Lowers one node.
pub type Lower = fn(&mut Call) -> Result<Outs, Failure>;

/// What a node gives.
pub struct Outs {
    /// Its results, in order.
    pub outs: Vec<Out>,
    /// New elements of tensors that it writes, by what the program calls them. That an operator in place writes
    /// `self` needs no mention.
    pub writes: Vec<(String, Operand)>,
}

impl From<Vec<Out>> for Outs {
    fn from(outs: Vec<Out>) -> Outs {
        Outs { outs, writes: Vec::new() }
    }
}

pub enum Out {
    Value(Operand),
    /// It shares memory with the tensor `of`.
    View {
        operand: Operand,
        of: String,
        step: Step,
    },
    /// A number, not a tensor.
    Number(Arg),
    /// Not offered, which matters where something reads it.
    Absent(&'static str),
}

impl From<Operand> for Outs {
    fn from(operand: Operand) -> Outs {
        vec![Out::Value(operand)].into()
    }
}

pub struct Call<'a> {
    pub site: Site<'a>,
    pub schema: &'static Schema,
    /// In the order of the schema's parameters.
    pub args: Vec<Arg>,
    /// Whether something reads each result.
    pub used: Vec<bool>,
}

impl<'a> Deref for Call<'a> {
    type Target = Site<'a>;

    fn deref(&self) -> &Site<'a> {
        &self.site
    }
}

impl<'a> DerefMut for Call<'a> {
    fn deref_mut(&mut self) -> &mut Site<'a> {
        &mut self.site
    }
}

impl Call<'_> {
    /// Whether the operator has a parameter of this name.
    pub fn has(&self, name: &str) -> bool {
        self.schema.parameters.iter().any(|p| p.name == name)
    }

    fn arg(&self, name: &str) -> &Arg {
        let at = self.schema.parameters.iter().position(|p| p.name == name);
        &self.args[at.expect("invariant: a lowering asks for parameters that its operator's schema has")]
    }

    fn missing(name: &str) -> Failure {
        Failure::invalid(format!("argument `{name}` is missing or of another kind"))
    }

    pub fn tensor_arg(&self, name: &str) -> Result<TensorArg, Failure> {
        match self.arg(name) {
            Arg::Tensor(tensor) => Ok(tensor.clone()),
            _ => Err(Self::missing(name)),
        }
    }

    pub fn tensor(&self, name: &str) -> Result<Operand, Failure> {
        self.tensor_arg(name).map(|tensor| tensor.operand)
    }

    /// A tensor that may be `None`.
    pub fn optional(&self, name: &str) -> Option<Operand> {
        self.tensor(name).ok()
    }

    /// A list of tensors, none of which is `None`.
    pub fn tensors(&self, name: &str) -> Result<Vec<Operand>, Failure> {
        let all = self.optional_tensors(name)?;
        all.into_iter().map(|tensor| tensor.ok_or_else(|| Self::missing(name))).collect()
    }

    pub fn optional_tensors(&self, name: &str) -> Result<Vec<Option<Operand>>, Failure> {
        match self.arg(name) {
            Arg::Tensors(all) => Ok(all.iter().map(|t| t.as_ref().map(|t| t.operand.clone())).collect()),
            _ => Err(Self::missing(name)),
        }
    }

    pub fn int(&self, name: &str) -> Result<i64, Failure> {
        self.optional_int(name).ok_or_else(|| Self::missing(name))
    }

    pub fn optional_int(&self, name: &str) -> Option<i64> {
        if let Arg::Int(i) = self.arg(name) { Some(*i) } else { None }
    }

    /// A list of integers; empty for `None`.
    pub fn ints(&self, name: &str) -> Result<Vec<i64>, Failure> {
        match self.arg(name) {
            Arg::Ints(ints) => Ok(ints.clone()),
            Arg::None => Ok(Vec::new()),
            _ => Err(Self::missing(name)),
        }
    }

    /// A list of numbers that are not negative.
    pub fn sizes(&self, name: &str) -> Result<Shape, Failure> {
        let ints = self.ints(name)?;
        let sizes = ints.iter().map(|&i| usize::try_from(i).ok()).collect::<Option<Shape>>();
        sizes.ok_or_else(|| Failure::invalid(format!("argument `{name}` is {ints:?}: negative sizes")))
    }

    /// A number of any kind.
    pub fn number(&self, name: &str) -> Result<f64, Failure> {
        self.optional_number(name).ok_or_else(|| Self::missing(name))
    }

    pub fn optional_number(&self, name: &str) -> Option<f64> {
        match self.arg(name) {
            Arg::Int(i) => Some(*i as f64),
            Arg::Float(f) => Some(*f),
            Arg::Bool(b) => Some(f64::from(u8::from(*b))),
            Arg::Tensor(tensor) => tensor.operand.number(),
            _ => None,
        }
    }

    pub fn flag(&self, name: &str) -> Result<bool, Failure> {
        match self.arg(name) {
            Arg::Bool(b) => Ok(*b),
            _ => Err(Self::missing(name)),
        }
    }

    pub fn is_none(&self, name: &str) -> bool {
        matches!(self.arg(name), Arg::None)
    }

    pub fn text(&self, name: &str) -> Result<&str, Failure> {
        match self.arg(name) {
            Arg::Text(text) => Ok(text),
            _ => Err(Self::missing(name)),
        }
    }

    /// An element type that may be `None`.
    pub fn dtype(&self, name: &str) -> Result<Option<DType>, Failure> {
        match self.arg(name) {
            Arg::None => Ok(None),
            Arg::Dtype(Ok(dtype)) => Ok(Some(*dtype)),
            Arg::Dtype(Err(other)) => {
                let message = format!("the element type {other} is not supported");
                Err(Failure::Unsupported(&codes::DTYPE_UNSUPPORTED, message))
            }
            _ => Err(Self::missing(name)),
        }
    }

    /// An axis of a tensor of this rank; a scalar has axis 0 for torch.
    pub fn dim(&self, name: &str, rank: usize) -> Result<usize, Failure> {
        let axis = self.int(name)?;
        self.axis(axis, rank.max(1), false)
    }

    /// Axes of a tensor of this rank, sorted; all of them where the list is empty or `None`.
    pub fn dims(&self, name: &str, rank: usize) -> Result<Vec<usize>, Failure> {
        let given = match self.arg(name) {
            Arg::Int(i) => vec![*i],
            _ => self.ints(name)?,
        };
        if given.is_empty() {
            return Ok((0..rank).collect());
        }
        let mut axes: Vec<usize> = given.iter().map(|&axis| self.axis(axis, rank.max(1), false)).collect::<Result<_, _>>()?;
        axes.sort_unstable();
        if axes.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Failure::shapes(format!("axes {given:?} name one axis twice")));
        }
        axes.retain(|&axis| axis < rank);
        Ok(axes)
    }

    /// A tensor or a number.
    pub fn value(&self, name: &str) -> Result<Value, Failure> {
        match self.arg(name) {
            Arg::Tensor(tensor) => Ok(Value::Tensor(tensor.operand.clone())),
            Arg::Int(i) => Ok(Value::Int(*i)),
            Arg::Float(f) => Ok(Value::Float(*f)),
            Arg::Bool(b) => Ok(Value::Bool(*b)),
            _ => Err(Self::missing(name)),
        }
    }
}
