//! The independent truth: operators of a graph evaluated one by one, without any kernel.
//!
//! Contractions go through candle, in f64 or f32; what candle lacks or gets wrong (asymmetric pads,
//! axes that differ, NaN in maxima, integers, `Map`) is an exact loop here. One file an operator.
//! With [`Math::F64`] float results keep f64 and nothing is rounded but explicit casts to a narrower
//! type; with the others each operation is rounded to f32, as a careful fp32 program would, which
//! is exact on the small integers of the structure pass.
//!
//! Not caught here: a wrong lowering in `import`. Candle appears nowhere outside this folder.

mod access;
mod batch_norm;
mod bridge;
mod conv;
mod conv_transpose;
mod lrn;
mod magnitude;
mod map;
mod matmul;
mod norm;
mod plain;
mod pool;
mod reduce;
mod scan;
pub mod seeded;
pub mod signal;
mod softmax;
mod spatial;
pub mod statistics;
mod thin;
mod view;

use std::collections::HashMap;
use std::sync::Arc;

use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::graph::{Graph, NodeId, Op, ValueId};
use crate::tensor::Tensor;

pub use access::Reader;
pub use bridge::floats;
use magnitude::terms_of;
pub use magnitude::{magnitude, terms};
pub use map::{BLOCK, Lanes, registers};
pub use norm::spread;
pub use pool::bins;

/// In which arithmetic float operators are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Math {
    /// Float results are `DType::F64` tensors.
    F64,
    /// Float results have the graph's dtype; chains inside one node are computed in fp32.
    F32,
    /// As F32, but f32 operands of contractions lose all but 10 fraction bits, as in tensor cores.
    Tf32,
    /// As F32, but results of narrower types are kept in fp32: what a fused kernel that rounds only
    /// its store may compute. Explicit casts round.
    Unrounded,
}

impl Math {
    /// The dtype of the tensor that holds a value of the graph's `dtype`.
    pub fn holds(self, dtype: DType) -> DType {
        match self {
            Math::F64 if dtype.is_float() => DType::F64,
            Math::Unrounded => dtype.computed_in(),
            Math::F64 | Math::F32 | Math::Tf32 => dtype,
        }
    }

    /// Whether values of a dtype are computed in fp32.
    fn is_single(self, dtype: DType) -> bool {
        self != Math::F64 && dtype != DType::F64
    }
}

/// Elements of values, by identity. Inputs may have the graph's dtype or `F64`.
#[derive(Clone, Debug, Default)]
pub struct Env {
    values: HashMap<ValueId, Arc<Tensor>>,
}

impl Env {
    pub fn new() -> Env {
        Env::default()
    }

    pub fn set(&mut self, value: ValueId, tensor: impl Into<Arc<Tensor>>) {
        self.values.insert(value, tensor.into());
    }

    pub fn get(&self, value: ValueId) -> Option<&Arc<Tensor>> {
        self.values.get(&value)
    }

    pub fn remove(&mut self, value: ValueId) -> Option<Arc<Tensor>> {
        self.values.remove(&value)
    }
}

/// Evaluates nodes in the given order (operands first) and adds their outputs to `env`.
///
/// Fails when an operand has no elements, has another shape than the graph says, or when an operator
/// is not defined on its dtype.
pub fn evaluate(graph: &Graph, nodes: &[NodeId], env: &mut Env, math: Math) -> Result<()> {
    for &id in nodes {
        let result = evaluate_node(graph, id, env, math)?;
        let output = graph.node(id).outputs[0];
        debug_assert_eq!(result.shape(), graph.shape(output), "invariant: inferred shapes are those computed");
        env.set(output, result);
    }
    Ok(())
}

/// The operands of a node, checked against the graph's shapes. An absent optional operand is `None`.
pub fn operands<'e>(graph: &Graph, id: NodeId, env: &'e Env) -> Result<Vec<Option<&'e Arc<Tensor>>>> {
    let node = graph.node(id);
    let operand = |value: Option<ValueId>| {
        let Some(value) = value else { return Ok(None) };
        let name = &graph.value(value).name;
        let tensor = env.get(value).ok_or_else(|| {
            let message = format!("operand `{name}` has no elements when it is read");
            fault(graph, id, Diagnostic::new(&codes::INTERNAL, message))
        })?;
        if tensor.shape() != graph.shape(value) {
            let message = format!(
                "operand `{name}` is {}, the graph says {}",
                crate::shape::display(tensor.shape()),
                crate::shape::display(graph.shape(value))
            );
            return Err(fault(graph, id, Diagnostic::new(&codes::MODEL_SHAPES, message)));
        }
        Ok(Some(tensor))
    };
    node.inputs.iter().map(|&value| operand(value)).collect()
}

/// Names the node in a message.
pub fn fault(graph: &Graph, id: NodeId, diagnostic: Diagnostic) -> Box<Diagnostic> {
    let node = graph.node(id);
    let name = node.sources.first().map_or_else(|| format!("#{} {}", id.index(), node.op.name()), |s| s.node.clone());
    Box::new(diagnostic.at_node(graph.file.clone(), name))
}

fn evaluate_node(graph: &Graph, id: NodeId, env: &Env, math: Math) -> Result<Tensor> {
    let node = graph.node(id);
    let dtype = graph.dtype(node.outputs[0]);
    let operands: Vec<_> = operands(graph, id, env)?.into_iter().map(|o| o.map(Arc::as_ref)).collect();
    apply(&node.op, &operands, dtype, math).map_err(|diagnostic| fault(graph, id, *diagnostic))
}

/// One operator on given elements; `dtype` is the graph's dtype of the result.
pub fn apply(op: &Op, operands: &[Option<&Tensor>], dtype: DType, math: Math) -> Result<Tensor> {
    let arg =
        |i: usize| {
            operands.get(i).copied().flatten().ok_or_else(|| {
                Box::new(Diagnostic::new(&codes::GRAPH_INVALID, format!("operand {i} of {} is missing", op.name())))
            })
        };
    match op {
        Op::Map(map) => map::evaluate(map, operands, math),
        Op::Conv(conv) => conv::evaluate(conv, arg(0)?, arg(1)?, arg(2).ok(), dtype, math),
        Op::Pool(pool) => pool::evaluate(pool, arg(0)?, dtype, math),
        Op::BatchNorm { epsilon } => batch_norm::evaluate(*epsilon, [arg(0)?, arg(1)?, arg(2)?, arg(3)?, arg(4)?], dtype, math),
        Op::MatMul => matmul::evaluate(arg(0)?, arg(1)?, dtype, math),
        Op::ConvTranspose(conv) => conv_transpose::evaluate(conv, arg(0)?, arg(1)?, arg(2).ok(), dtype, math),
        Op::Norm(norm) => norm::evaluate(norm, arg(0)?, arg(1).ok(), arg(2).ok(), dtype, math),
        Op::Softmax { axis, log } => softmax::evaluate(*axis, *log, arg(0)?, dtype, math),
        Op::Reduce(reduce) => reduce::evaluate(reduce, arg(0)?, dtype, math),
        Op::ArgReduce(arg_reduce) => Ok(reduce::positions(arg_reduce, arg(0)?)),
        Op::Scan(scan) => Ok(scan::evaluate(scan, arg(0)?, dtype, math)),
        Op::Lrn(lrn) => lrn::evaluate(lrn, arg(0)?, dtype, math),
        Op::View(view) => Ok(view::evaluate(view, arg(0)?)),
    }
}

#[cfg(test)]
mod line_tests;
#[cfg(test)]
mod tests;
