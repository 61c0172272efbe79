//! Numbers that are no numbers: a NaN and both infinities among a launch's activations.
//!
//! A kernel must give NaN and infinities where its operator does: `tl.maximum` drops a NaN that the
//! operator keeps, a masked lane that is multiplied by 0 makes one. Three elements of every float
//! activation are replaced, spread over it, so that most of the output stays finite and says where
//! they went; a fourth becomes 60, whose exponential is finite and whose square's is not. What enters a
//! softmax is lowered by 200: the exponential of everything is then 0, and only its maximum makes it right.
//!
//! Not caught: what only NaN in weights shows; finite results that are wrong on these inputs; what lies
//! behind an infinite bound (sums of an infinity).

use crate::dtype::DType;
use crate::graph::{Graph, NodeId, Op, Role, ValueId};
use crate::reference::Env;
use crate::tensor::Storage;

/// The pass's name in messages.
pub const NAME: &str = "special values";

/// Replaces elements of the activations among `values`.
pub fn scatter(graph: &Graph, nodes: &[NodeId], values: &[ValueId], env: &mut Env) {
    let softmax = nodes.iter().any(|&n| matches!(graph.node(n).op, Op::Softmax { .. }));
    let activations = values.iter().filter(|&&v| graph.value(v).role == Role::Activation && is_float(graph.dtype(v)));
    for (k, &value) in activations.enumerate() {
        let Some(tensor) = env.get(value) else { continue };
        let mut tensor = tensor.as_ref().clone();
        let len = tensor.len();
        // Places differ between operands, so that a sum is not NaN in one of them alone.
        let at = |part: usize| (len * part / 8 + k * 5) % len.max(1);
        let special = [(1, f64::NAN), (3, 60.0), (4, f64::INFINITY), (6, f64::NEG_INFINITY)];
        if let (true, Storage::F32(lanes)) = (softmax, tensor.storage_mut()) {
            lanes.iter_mut().for_each(|lane| *lane -= 200.0);
        }
        for (part, number) in special {
            match tensor.storage_mut() {
                Storage::F32(lanes) if len > 8 => lanes[at(part)] = number as f32,
                Storage::F64(lanes) if len > 8 => lanes[at(part)] = number,
                Storage::F32(_) | Storage::F64(_) | Storage::I64(_) | Storage::Bool(_) => {}
            }
        }
        env.set(value, tensor);
    }
}

fn is_float(dtype: DType) -> bool {
    // Formats without infinities would round them to something else.
    matches!(dtype, DType::F64 | DType::F32 | DType::F16 | DType::BF16)
}
