//! Fusion by its results: which nodes are left, which clusters they form, and equal values.

mod compose;
mod fold;
mod scale;
mod small;
mod values;

use std::collections::BTreeMap;
use std::path::Path;

use expect_test::expect;
use smallvec::{SmallVec, smallvec};

use super::*;
use crate::dtype::DType;
use crate::expr::parse::parse;
use crate::graph::op::{Conv, Map, View};
use crate::graph::{Cluster, Graph, NodeId, Op, Role, Source, TensorType, ValueId, Weight};
use crate::import::{Binding, onnx};

/// Every operator with loops takes epilogues.
struct All;

impl Capabilities for All {
    fn takes_epilogues(&self, graph: &Graph, anchor: NodeId) -> bool {
        pattern::is_heavy(&graph.node(anchor).op)
    }
}

/// No template has an anchor.
struct Nothing;

impl Capabilities for Nothing {
    fn takes_epilogues(&self, _: &Graph, _: NodeId) -> bool {
        false
    }
}

/// Builds graphs by hand: a node's source is named like its output.
struct Build(Graph);

impl Build {
    fn new() -> Build {
        Build(Graph::new("hand"))
    }

    fn ty(shape: &[usize]) -> TensorType {
        TensorType { dtype: DType::F32, shape: SmallVec::from_slice(shape) }
    }

    fn input(&mut self, name: &str, shape: &[usize]) -> ValueId {
        self.0.add_input(name, Build::ty(shape), Role::Activation).unwrap()
    }

    fn weight(&mut self, name: &str, shape: &[usize], role: Role) -> ValueId {
        self.0.add_weight(name, Build::ty(shape), role, Weight::Missing).unwrap()
    }

    fn node(&mut self, name: &str, op: Op, inputs: &[ValueId]) -> ValueId {
        let types: Vec<TensorType> = inputs.iter().map(|&v| self.0.ty(v).clone()).collect();
        let ty = crate::graph::infer::infer(&op, &types.iter().map(Some).collect::<Vec<_>>()).unwrap().remove(0);
        let inputs: Vec<Option<ValueId>> = inputs.iter().copied().map(Some).collect();
        let source = Source { operator: op.name().to_owned(), node: name.to_owned(), module: None };
        let id = self.0.add_node(op, &inputs, vec![(name.to_owned(), ty)], vec![source]);
        self.0.node(id).outputs[0]
    }

    /// A pointwise Map; operands broadcast to the first one's shape.
    fn map(&mut self, name: &str, body: &str, inputs: &[ValueId]) -> ValueId {
        let dims = self.0.shape(inputs[0]).to_vec();
        let shapes: Vec<Vec<usize>> = inputs.iter().map(|&v| self.0.shape(v).to_vec()).collect();
        let body = parse(body, &vec![DType::F32; inputs.len()]).unwrap();
        let map = Map::pointwise(name, &dims, &shapes.iter().map(Vec::as_slice).collect::<Vec<_>>(), body);
        self.node(name, Op::Map(map), inputs)
    }

    fn relu(&mut self, name: &str, x: ValueId) -> ValueId {
        self.map(name, "select(lt(r0, 0.0), 0.0, r0)", &[x])
    }

    /// 1×1, stride 1, with as many output channels as input channels.
    fn conv(&mut self, name: &str, x: ValueId, bias: bool) -> ValueId {
        let channels = self.0.shape(x)[1];
        let mut inputs =
            vec![x, self.weight(&format!("{name}.w"), &[channels, channels, 1, 1], Role::Weight { fan_in: channels })];
        if bias {
            inputs.push(self.weight(&format!("{name}.b"), &[channels], Role::Bias));
        }
        let op = Op::Conv(Conv {
            strides: smallvec![1, 1],
            dilations: smallvec![1, 1],
            pads_begin: smallvec![0, 0],
            pads_end: smallvec![0, 0],
            groups: 1,
        });
        self.node(name, op, &inputs)
    }

    fn norm(&mut self, name: &str, x: ValueId) -> ValueId {
        let channels = self.0.shape(x)[1];
        let mut inputs = vec![x];
        for (parameter, role) in [("g", Role::Scale), ("b", Role::Bias), ("m", Role::Mean), ("v", Role::Variance)] {
            inputs.push(self.weight(&format!("{name}.{parameter}"), &[channels], role));
        }
        self.node(name, Op::BatchNorm { epsilon: 1e-5 }, &inputs)
    }

    fn done(mut self, outputs: &[ValueId]) -> Graph {
        self.0.set_outputs(outputs.to_vec());
        self.0
    }
}

/// One line a cluster: anchor and epilogues by operator, inputs and output by name.
fn lines(graph: &Graph, clusters: &[Cluster]) -> String {
    let line = |cluster: &Cluster| {
        let operators: Vec<&str> = cluster.nodes().iter().map(|&n| graph.node(n).op.name()).collect();
        let inputs: Vec<&str> = cluster.inputs(graph).iter().map(|&v| graph.value(v).name.as_str()).collect();
        format!("{}: {} -> {}\n", operators.join(" + "), inputs.join(" "), graph.value(cluster.output(graph)).name)
    };
    clusters.iter().map(line).collect()
}

/// How often each combination of operators occurs.
fn census(graph: &Graph, clusters: &[Cluster]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for cluster in clusters {
        let names: Vec<&str> = cluster.nodes().iter().map(|&n| graph.node(n).op.name()).collect();
        *counts.entry(names.join(" + ")).or_default() += 1;
    }
    counts.into_iter().map(|(names, count)| format!("{count} {names}\n")).collect()
}

fn fused(graph: &Graph) -> String {
    let graph = rewrite(graph, Level::Basic).unwrap();
    lines(&graph, &cluster(&graph, Level::Basic, &All).unwrap())
}

fn resnet50() -> Graph {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/resnet50.onnx");
    onnx::load(&path, &Binding::default()).expect("ResNet-50 imports").graph
}

#[test]
fn levels_have_names() {
    for level in [Level::None, Level::Basic] {
        assert_eq!(Level::from_name(level.name()).unwrap(), level);
    }
    assert_eq!(Level::from_name("full").unwrap_err().code.id, "U006");
    assert_eq!(Level::from_name("most").unwrap_err().code.id, "U001");
}

#[test]
fn resnet50_unfused_has_a_launch_for_each_operator() {
    let graph = resnet50();
    let same = rewrite(&graph, Level::None).unwrap();
    assert_eq!(same.node_count(), graph.node_count());
    let clusters = cluster(&graph, Level::None, &All).unwrap();
    expect![[r#"
        1 adaptive_average_pool
        17 add
        53 batch_norm
        53 conv
        1 matmul
        1 max_pool
        49 relu
    "#]]
    .assert_eq(&census(&graph, &clusters));
}

#[test]
fn resnet50_fused_has_56_launches() {
    let graph = resnet50();
    let fused = rewrite(&graph, Level::Basic).unwrap();
    let clusters = cluster(&fused, Level::Basic, &All).unwrap();
    assert_eq!(clusters.len(), 56);
    expect![[r#"
        1 adaptive_average_pool
        4 conv
        16 conv + add_relu
        33 conv + relu
        1 matmul + add
        1 max_pool
    "#]]
    .assert_eq(&census(&fused, &clusters));

    // Every imported node that computes is covered exactly once.
    let mut covered: Vec<NodeId> = clusters.iter().flat_map(|c| c.nodes()).flat_map(|n| fused.node(n).covers.clone()).collect();
    covered.sort_unstable();
    let computing: Vec<NodeId> = graph.node_ids().filter(|&n| !matches!(graph.node(n).op, Op::View(_))).collect();
    assert_eq!(covered, computing);
}

#[test]
fn clusters_are_in_an_order_that_runs() {
    for level in [Level::None, Level::Basic] {
        let graph = rewrite(&resnet50(), level).unwrap();
        let mut ready: Vec<ValueId> = Vec::new();
        for cluster in cluster(&graph, level, &All).unwrap() {
            for mut input in cluster.inputs(&graph) {
                while let Some(node) = pattern::producer(&graph, input)
                    && let Op::View(View::Reshape(_) | View::Transpose(_) | View::Broadcast(_)) = &graph.node(node).op
                {
                    input = graph.node(node).inputs[0].unwrap();
                }
                let made = graph.is_prepared(input) || graph.inputs().contains(&input) || ready.contains(&input);
                assert!(made, "{} is not there yet", graph.value(input).name);
            }
            ready.push(cluster.output(&graph));
        }
    }
}
