//! What is computed around a template's own work: prologues, epilogues, a Map's body.
//!
//! Each is a Map: a scalar expression over the value at hand and over further operands.

use super::bound::Layout;
use super::expression::Expression;
use super::names::Names;
use super::problem::Problem;
use crate::diag::Result;
use crate::dtype::DType;
use crate::expr::Expr;
use crate::expr::formula::Formula;
use crate::expr::index::Index;
use crate::graph::op::{Map, Op, OutOfBounds, Role};
use crate::graph::{Cluster, Graph, ValueId};

/// A further operand of a kernel.
#[derive(Clone, Debug)]
pub struct Extra {
    pub stem: String,
    pub value: ValueId,
    pub dtype: DType,
    pub layout: Layout,
    pub index: Vec<Index>,
    pub oob: OutOfBounds,
}

#[derive(Clone, Debug)]
pub enum StepRead {
    /// The value that the step is applied to.
    Previous,
    Extra(Box<Extra>),
}

#[derive(Clone, Debug)]
pub struct Step {
    /// The suffix of its result's name.
    pub label: String,
    pub body: Expr,
    /// One a read of the body.
    pub reads: Vec<StepRead>,
}

/// Finds a Map's further operands.
pub struct StepMaker<'a> {
    pub graph: &'a Graph,
    pub layout_of: &'a dyn Fn(ValueId) -> Layout,
    pub names: &'a mut Names,
}

impl StepMaker<'_> {
    /// A Map node; `previous` is the operand position of the value at hand, whose every read is it.
    pub fn map(&mut self, map: &Map, inputs: &[Option<ValueId>], previous: Option<usize>) -> Step {
        let mut reads = Vec::with_capacity(map.reads.len());
        let extras = map.reads.iter().filter(|r| Some(r.input) != previous).count();
        let mut nth = 0;
        for access in &map.reads {
            let Some(value) = inputs[access.input].filter(|_| Some(access.input) != previous) else {
                reads.push(StepRead::Previous);
                continue;
            };
            let base = match previous {
                Some(_) => self.role_stem(map, value),
                None if extras == 1 => "x".to_owned(),
                None if nth < 23 => char::from(b'a' + nth).to_string(),
                None => "x".to_owned(),
            };
            nth = nth.saturating_add(1);
            let extra = self.extra(&base, value, access.index.clone(), access.oob);
            reads.push(StepRead::Extra(Box::new(extra)));
        }
        Step { label: super::names::identifier(&map.label), body: map.body.clone(), reads }
    }

    /// What a person would call the operand.
    fn role_stem(&self, map: &Map, value: ValueId) -> String {
        let data = self.graph.value(value);
        match data.role {
            Role::Bias => "bias",
            Role::Scale => "scale",
            Role::Mean => "mean",
            Role::Variance => "var",
            Role::Mask => "mask",
            Role::Probability => "probability",
            Role::IndexBelow(_) => "index",
            Role::Divisor => "divisor",
            Role::Weight { fan_in: _ } => "weight",
            Role::Activation | Role::Exact if data.ty.shape == map.dims && map.label.contains("add") => "residual",
            Role::Activation | Role::Exact => "other",
        }
        .to_owned()
    }

    fn extra(&mut self, base: &str, value: ValueId, index: Vec<Index>, oob: OutOfBounds) -> Extra {
        let layout = (self.layout_of)(value);
        Extra { stem: self.names.stem(base), value, dtype: self.graph.dtype(value), layout, index, oob }
    }

    /// The optional operands that a node has, and the cluster's epilogues, in order.
    pub fn epilogues(&mut self, problem: &Problem, cluster: &Cluster) -> Result<Vec<Step>> {
        let manifest = &problem.template.manifest;
        let node = self.graph.node(cluster.anchor);
        let mut steps = Vec::new();
        for (i, spec) in manifest.optional.iter().enumerate() {
            let Some(value) = node.inputs.get(manifest.inputs().len() + i).copied().flatten() else { continue };
            let output = problem.output();
            let dims = spec.access.iter().filter_map(|axis| output.range_of(axis)).flat_map(Clone::clone);
            let own = self.graph.shape(value);
            // Along what it lacks, an operand of the output's axes has one element.
            let at = |(dim, &size): (usize, &usize)| match size {
                1 if output.shape[dim] != 1 => Index::Constant(0),
                _ => Index::Dim(dim),
            };
            let index = dims.zip(own).map(at).collect();
            let stem = spec.name.to_ascii_lowercase();
            let dtype = self.graph.dtype(node.outputs[0]);
            let extra = self.extra(&stem, value, index, OutOfBounds::InBounds);
            let names = [("value", dtype), (spec.name.as_str(), extra.dtype)];
            let body = scalar(&spec.value, &names)?;
            steps.push(Step { label: stem, body, reads: vec![StepRead::Previous, StepRead::Extra(Box::new(extra))] });
        }
        let mut previous = node.outputs[0];
        for &epilogue in &cluster.epilogues {
            let node = self.graph.node(epilogue);
            let Op::Map(map) = &node.op else { continue };
            let at = node.inputs.iter().position(|&i| i == Some(previous));
            steps.push(self.map(map, &node.inputs, at));
            previous = node.outputs[0];
        }
        Ok(steps)
    }
}

/// An expression of a template over named reads.
pub fn scalar(expression: &Expression, names: &[(&str, DType)]) -> Result<Expr> {
    Formula::new(&expression.file, &expression.ast).over(names)
}
