//! Statistics of a normalisation belong to the weights that they were taken with.
//!
//! A mean and a variance describe the activations that one set of weights makes. Where the weights
//! before a normalisation are generated, the file's own statistics describe a signal that is not
//! there: a channel that was dead in training has a variance near 0, and dividing by its root blows the
//! generated signal up until whatever follows saturates. Such statistics are forgotten, and so
//! generated like the weights before them. Scale and shift describe no signal and stay.
//!
//! Not seen: statistics that a model spells out with arithmetic of its own (a division by a constant).

use std::collections::BTreeSet;

use super::seeded;
use crate::graph::{Graph, Op, Producer, ValueId, Weight};

/// Forgets the elements of means and variances of normalisations behind generated weights; gives
/// how many tensors.
///
/// The graph must have no cycle; one that has is left as it is.
pub fn forget_stale(graph: &mut Graph) -> usize {
    let Ok(order) = graph.topological() else { return 0 };
    let weights = graph.values().filter(|(_, value)| match &value.producer {
        Producer::Weight(Weight::Filled(_) | Weight::Missing) => {
            value.ty.dtype.is_float() && seeded::law(value.role, value.ty.dtype).is_some()
        }
        Producer::Weight(Weight::Data(_)) | Producer::Input(_) | Producer::Node { .. } => false,
    });
    let mut generated: BTreeSet<ValueId> = weights.map(|(id, _)| id).collect();
    let mut forgotten = 0;
    for id in order {
        let node = graph.node(id);
        let (inputs, output) = (node.inputs.clone(), node.outputs[0]);
        if matches!(node.op, Op::BatchNorm { .. }) && inputs[0].is_some_and(|x| generated.contains(&x)) {
            let statistics: Vec<ValueId> = inputs[3..].iter().flatten().filter_map(|&value| stored(graph, value)).collect();
            for value in statistics {
                graph.set_weight(value, Weight::Missing);
                generated.insert(value);
                forgotten += 1;
            }
        }
        if inputs.iter().flatten().any(|value| generated.contains(value)) {
            generated.insert(output);
        }
    }
    forgotten
}

/// The weight with elements of its own that a value is or is a view of.
fn stored(graph: &Graph, mut value: ValueId) -> Option<ValueId> {
    loop {
        match &graph.value(value).producer {
            Producer::Weight(Weight::Data(_)) => return Some(value),
            Producer::Weight(Weight::Filled(_) | Weight::Missing) | Producer::Input(_) => return None,
            Producer::Node { node, .. } => match (&graph.node(*node).op, graph.node(*node).inputs.first()) {
                (Op::View(_), Some(&Some(source))) => value = source,
                _ => return None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use smallvec::smallvec;

    use super::*;
    use crate::dtype::DType;
    use crate::graph::op::Conv;
    use crate::graph::{Role, TensorType};
    use crate::shape::Shape;
    use crate::tensor::Tensor;

    fn ty(shape: &[usize]) -> TensorType {
        TensorType { dtype: DType::F32, shape: Shape::from_slice(shape) }
    }

    fn data(len: usize) -> Weight {
        Weight::Data(Arc::new(Tensor::from_f32([len].as_slice(), vec![1.0; len])))
    }

    /// conv → normalisation, twice; the weights of the convolutions as given, all statistics in the file.
    fn net(first: Weight, second: Weight) -> Graph {
        let mut graph = Graph::new("m");
        let mut value = graph.add_input("x", ty(&[1, 2, 4, 4]), Role::Activation).unwrap();
        for (layer, weight) in [first, second].into_iter().enumerate() {
            let name = |what: &str| format!("{what}{layer}");
            let w = graph.add_weight(name("w"), ty(&[2, 2, 1, 1]), Role::Weight { fan_in: 2 }, weight).unwrap();
            let conv = Conv {
                strides: smallvec![1, 1],
                dilations: smallvec![1, 1],
                pads_begin: smallvec![0, 0],
                pads_end: smallvec![0, 0],
                groups: 1,
            };
            let output = vec![(name("y"), ty(&[1, 2, 4, 4]))];
            let node = graph.add_node(Op::Conv(conv), &[Some(value), Some(w)], output, vec![]);
            let mut inputs = vec![Some(graph.node(node).outputs[0])];
            let roles = [("scale", Role::Scale), ("bias", Role::Bias), ("mean", Role::Mean), ("variance", Role::Variance)];
            for (what, role) in roles {
                inputs.push(graph.add_weight(name(what), ty(&[2]), role, data(2)).ok());
            }
            let output = vec![(name("n"), ty(&[1, 2, 4, 4]))];
            let node = graph.add_node(Op::BatchNorm { epsilon: 1e-5 }, &inputs, output, vec![]);
            value = graph.node(node).outputs[0];
        }
        graph
    }

    fn missing(graph: &Graph) -> Vec<&str> {
        let is_missing = |producer: &Producer| matches!(producer, Producer::Weight(Weight::Missing));
        graph.values().filter(|(_, value)| is_missing(&value.producer)).map(|(_, value)| value.name.as_str()).collect()
    }

    #[test]
    fn statistics_behind_generated_weights_are_forgotten() {
        let mut graph = net(Weight::Filled(0.02), data(4));
        assert_eq!(forget_stale(&mut graph), 4);
        assert_eq!(missing(&graph), ["mean0", "variance0", "mean1", "variance1"]);
        let mut graph = net(data(4), Weight::Filled(0.02));
        assert_eq!(forget_stale(&mut graph), 2);
        assert_eq!(missing(&graph), ["mean1", "variance1"]);
    }

    #[test]
    fn statistics_of_the_files_own_weights_stay() {
        let mut graph = net(data(4), data(4));
        assert_eq!(forget_stale(&mut graph), 0);
        assert_eq!(missing(&graph), Vec::<&str>::new());
    }
}
