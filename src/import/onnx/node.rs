//! What the lowering of one node sees: its operands and attributes, and the [`Site`] where nodes of the graph
//! are added.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use tract_onnx::pb::{NodeProto, TensorProto};

use super::attributes::Attributes;
use super::lower::Scope;
use super::tensor;
use crate::diag::{Class, codes};
use crate::graph::{Op, Role, TensorType, Weight};
use crate::import::Absorbed;
pub(super) use crate::import::build::{Failure, Known, Operand};
use crate::import::build::{Site, limits};
use crate::shape::{Shape, display};
use crate::tensor::Tensor;

/// Lowers one node: emits nodes of the graph and binds every output that is used.
pub(super) type Lower = fn(&mut Context) -> Result<(), Failure>;

pub(super) struct Context<'a, 'm> {
    pub scope: &'a mut Scope<'m>,
    pub site: Site<'a>,
    pub node: &'m NodeProto,
    pub attributes: Attributes<'m>,
    /// A wrong shape of output 0 that other tools declare, and that is passed over.
    pub misdeclared: Option<Shape>,
}

impl<'a> Deref for Context<'a, '_> {
    type Target = Site<'a>;

    fn deref(&self) -> &Site<'a> {
        &self.site
    }
}

impl<'a> DerefMut for Context<'a, '_> {
    fn deref_mut(&mut self) -> &mut Site<'a> {
        &mut self.site
    }
}

impl<'m> Context<'_, 'm> {
    pub fn opset(&self) -> i64 {
        self.scope.opset
    }

    /// Input `i` if it is given; optional inputs are left out by an empty name or at the end.
    pub fn optional(&self, i: usize) -> Option<Operand> {
        let name = self.node.input.get(i).filter(|name| !name.is_empty())?;
        self.scope.operand(name)
    }

    pub fn input(&self, i: usize, name: &str) -> Result<Operand, Failure> {
        self.optional(i).ok_or_else(|| Failure::invalid(format!("input {i} ({name}) is missing")))
    }

    /// All inputs of an operator that takes any number of them.
    pub fn inputs(&self) -> Result<Vec<Operand>, Failure> {
        (0..self.node.input.len()).map(|i| self.input(i, "operand")).collect()
    }

    /// Input `i` as integers, when it is given: it must be known while importing.
    pub fn ints(&self, i: usize, name: &str) -> Result<Option<Vec<i64>>, Failure> {
        let Some(operand) = self.optional(i) else { return Ok(None) };
        let tensor = self.elements(&operand, name)?;
        let ints = tensor.as_i64().ok_or_else(|| Failure::invalid(format!("`{name}` has element type {}", tensor.dtype())))?;
        Ok(Some(ints.to_vec()))
    }

    /// Input `i` as one number, when it is given: it must be known while importing.
    pub fn scalar(&self, i: usize, name: &str) -> Result<Option<f64>, Failure> {
        let Some(operand) = self.optional(i) else { return Ok(None) };
        let tensor = self.elements(&operand, name)?;
        if tensor.len() != 1 {
            return Err(Failure::shapes(format!("`{name}` is {}, one number is expected", display(tensor.shape()))));
        }
        Ok(Some(tensor.storage().get_f64(0)))
    }

    fn elements<'o>(&self, operand: &'o Operand, name: &str) -> Result<&'o Tensor, Failure> {
        match operand {
            Operand::Known(known) => Ok(&known.tensor),
            Operand::Graph(_) => Err(Failure::unsupported(format!("`{name}` is computed while the model runs"))),
        }
    }

    /// Whether output `i` is given and something reads it.
    pub fn is_used(&self, i: usize) -> bool {
        self.node.output.get(i).is_some_and(|name| self.scope.is_used(name))
    }

    /// The elements of a tensor that is attribute `value`.
    pub fn decoded(&self, proto: &TensorProto) -> Result<Tensor, Failure> {
        tensor::tensor(proto, self.scope.external).map_err(|(code, message)| match code.class {
            Class::Unsupported => Failure::Unsupported(code, message),
            Class::Bug | Class::Limit | Class::Internal | Class::Usage => {
                Failure::Invalid(code, format!("attribute `value`: {message}"))
            }
        })
    }

    /// Adds the node that computes output 0.
    pub fn finish(&mut self, op: Op, operands: &[Operand]) -> Result<(), Failure> {
        self.finish_output(0, op, operands)
    }

    /// Adds the node that computes output `i`.
    pub fn finish_output(&mut self, i: usize, op: Op, operands: &[Operand]) -> Result<(), Failure> {
        let result = self.emit(op, operands)?;
        self.bind(i, result)
    }

    /// Makes output 0 the operand itself, or what was made of it where something needed to be.
    pub fn pass(&mut self, operand: Operand) -> Result<(), Failure> {
        if !self.made(&operand) {
            self.absorbed = Some(Absorbed::Passed);
        }
        self.bind(0, operand)
    }

    /// Makes output `i` the given operand, which gets the output's name when it was made here.
    pub fn bind(&mut self, i: usize, operand: Operand) -> Result<(), Failure> {
        let name = self.output(i)?;
        let operand = self.site.named(operand, name);
        self.scope.define(name, operand);
        Ok(())
    }

    /// Makes output 0 a tensor that is known.
    pub fn bind_known(&mut self, tensor: Tensor, exact: bool) -> Result<(), Failure> {
        let name = self.output(0)?.to_owned();
        self.bind(0, Operand::Known(Arc::new(Known { name, tensor: Arc::new(tensor), exact })))
    }

    /// Makes output 0 a weight without elements of its own.
    pub fn bind_weight(&mut self, ty: TensorType, weight: Weight) -> Result<(), Failure> {
        if let Some(message) = limits::too_large(&ty.shape) {
            return Err(Failure::Invalid(&codes::MEMORY, format!("the output {message}")));
        }
        let name = self.output(0)?;
        let value = self.builder.add_weight(name, ty, Role::Activation, weight);
        self.absorbed = Some(Absorbed::Weight);
        self.bind(0, Operand::Graph(value))
    }

    fn output(&self, i: usize) -> Result<&'m str, Failure> {
        let name = self.node.output.get(i).filter(|name| !name.is_empty());
        name.map(String::as_str).ok_or_else(|| Failure::invalid(format!("output {i} has no name")))
    }
}
