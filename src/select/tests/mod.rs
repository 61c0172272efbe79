//! Plans by what they say, with a binder that knows no templates.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use expect_test::expect;
use proptest::prelude::*;
use smallvec::smallvec;

use super::build::{Planned, build};
use super::map::{Served as By, rows};
use super::plan::{Plan, Slot};
use super::{Served, dot, json, plan, text};
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::expr::parse::parse;
use crate::fuse::{self, Capabilities, Level};
use crate::graph::op::{Map, View};
use crate::graph::{Cluster, Graph, NodeId, Op, Producer, Role, Source, TensorType, ValueId};
use crate::import::{Binding, onnx};
use crate::shape::Shape;
use crate::target::{self, Target};
use crate::template::{BindOptions, Bound, BoundKernel, Layout, Library, Operand, OperandAccess};

/// Every operator but a Map takes epilogues.
struct All;

impl Capabilities for All {
    fn takes_epilogues(&self, graph: &Graph, anchor: NodeId) -> bool {
        !matches!(graph.node(anchor).op, Op::Map(_))
    }
}

/// A kernel named by its operators, keyed by them and its shapes; `refuse` says what has no template.
fn fake(graph: &Graph, cluster: &Cluster, layout: &dyn Fn(ValueId) -> Layout, refuse: &[&str]) -> Result<Bound> {
    let names: Vec<&str> = cluster.nodes().iter().map(|&n| graph.node(n).op.name()).collect();
    let template = names.join("_");
    if refuse.contains(&template.as_str()) {
        return Err(Box::new(Diagnostic::new(&codes::TEMPLATE_NONE, format!("nothing for {template}"))));
    }
    let mut values = cluster.inputs(graph);
    values.push(cluster.output(graph));
    let operand = |(i, &v): (usize, &ValueId)| Operand {
        name: format!("p{i}"),
        dtype: graph.dtype(v),
        layout: layout(v),
        access: if i + 1 == values.len() { OperandAccess::Write } else { OperandAccess::Read },
    };
    let operands: Vec<Operand> = values.iter().enumerate().map(operand).collect();
    let key = operands.iter().map(|o| format!("{:?}{:?}", o.layout.shape, o.layout.strides)).collect::<String>();
    let key = format!("{:08x}", key.bytes().fold(7u32, |h, b| h.wrapping_mul(31).wrapping_add(b as u32)));
    Ok(Bound {
        kernel: BoundKernel { template, key, text: String::new(), operands, launches: Vec::new() },
        values,
        blocks: Vec::new(),
    })
}

fn planned(graph: Graph, level: Level, refuse: &[&str]) -> Planned {
    let rewritten = fuse::rewrite(&graph, level).unwrap();
    let clusters = fuse::cluster(&rewritten, level, &All).unwrap();
    build("hand", Arc::new(graph), &rewritten, clusters, &|g, c, l| fake(g, c, l, refuse)).unwrap()
}

fn resnet50() -> Graph {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/resnet50.onnx");
    onnx::load(&path, &Binding::default()).expect("ResNet-50 imports").graph
}

/// Runs a plan with the names of values in place of elements: whatever a launch reads must be there.
fn simulate(plan: &Plan) {
    let viewed = |mut value: ValueId| {
        while let Producer::Node { node, .. } = plan.graph.value(value).producer
            && matches!(plan.graph.node(node).op, Op::View(_))
            && !plan.graph.is_prepared(value)
        {
            value = plan.graph.node(node).inputs[0].unwrap();
        }
        value
    };
    let mut held: HashMap<usize, ValueId> = HashMap::new();
    for launch in &plan.launches {
        let operands = &plan.kernels[launch.kernel].operands;
        assert_eq!(operands.len(), launch.operands.len());
        for (operand, &(slot, value)) in operands.iter().zip(&launch.operands) {
            let value = viewed(value);
            match (slot, operand.access) {
                (Slot::Buffer(b), OperandAccess::Read) => assert_eq!(held.get(&b), Some(&value)),
                (Slot::Buffer(b), _) => {
                    assert!(!launch.operands.iter().any(|&(s, v)| s == slot && viewed(v) != value), "reads and writes b{b}");
                    assert_eq!(plan.buffers[b].dtype, operand.dtype);
                    held.insert(b, value);
                }
                (Slot::Input(_) | Slot::Weight(_), access) => assert_eq!(access, OperandAccess::Read),
            }
        }
    }
    for &output in plan.graph.outputs() {
        let (_, slot, layout) = plan.layouts.iter().find(|(v, _, _)| *v == output).expect("an output has a place");
        let Slot::Buffer(b) = slot else { panic!("an output in {slot:?}") };
        assert_eq!(held.get(b), Some(&viewed(output)));
        assert!(layout.is_contiguous());
        assert_eq!(plan.buffers[*b].live.1, plan.launches.len());
    }
    let covered = plan.launches.iter().map(|l| l.covers.len()).sum::<usize>();
    let computing = plan.imported.node_ids().filter(|&n| !matches!(plan.imported.node(n).op, Op::View(_))).count();
    assert!(covered >= computing);
}

struct Build(Graph);

impl Build {
    fn input(&mut self, name: &str, shape: &[usize]) -> ValueId {
        self.0.add_input(name, TensorType { dtype: DType::F32, shape: Shape::from_slice(shape) }, Role::Activation).unwrap()
    }

    fn node(&mut self, name: &str, op: Op, inputs: &[ValueId]) -> ValueId {
        let types: Vec<TensorType> = inputs.iter().map(|&v| self.0.ty(v).clone()).collect();
        let ty = crate::graph::infer::infer(&op, &types.iter().map(Some).collect::<Vec<_>>()).unwrap().remove(0);
        let inputs: Vec<Option<ValueId>> = inputs.iter().copied().map(Some).collect();
        let source = Source { operator: op.name().to_owned(), node: name.to_owned(), module: None };
        let id = self.0.add_node(op, &inputs, vec![(name.to_owned(), ty)], vec![source]);
        self.0.node(id).outputs[0]
    }

    fn relu(&mut self, name: &str, x: ValueId) -> ValueId {
        let shape = self.0.shape(x).to_vec();
        let body = parse("select(lt(r0, 0.0), 0.0, r0)", &[DType::F32]).unwrap();
        self.node(name, Op::Map(Map::pointwise("relu", &shape, &[&shape], body)), &[x])
    }

    fn view(&mut self, name: &str, view: View, x: ValueId) -> ValueId {
        self.node(name, Op::View(view), &[x])
    }

    fn done(mut self, outputs: &[ValueId]) -> Graph {
        self.0.set_outputs(outputs.to_vec());
        self.0
    }
}

#[test]
fn resnet50_plans() {
    for (level, launches) in [(Level::None, 175), (Level::Basic, 56)] {
        let Planned { plan, missing, apart: _, blocks: _ } = planned(resnet50(), level, &[]);
        assert!(missing.is_empty());
        assert_eq!(plan.launches.len(), launches);
        simulate(&plan);
        let again = planned(resnet50(), level, &[]).plan;
        assert_eq!(text::text(&plan), text::text(&again));
        assert_eq!(json::json(&plan)["launches"].as_array().unwrap().len(), launches);
    }
    let plan = planned(resnet50(), Level::Basic, &[]).plan;
    assert_eq!(plan.preparation.len(), 3 * 53 + 1, "three values a normalisation, and the transposed Gemm weight");
    assert!(plan.buffers.len() < 25, "{} buffers", plan.buffers.len());
}

#[test]
fn a_small_plan() {
    let mut b = Build(Graph::new("hand"));
    let x = b.input("x", &[2, 3, 4]);
    let a = b.relu("a", x);
    let t = b.view("t", View::Transpose(smallvec![1, 0, 2]), a);
    let c = b.relu("c", t);
    let r = b.view("r", View::Reshape(smallvec![6, 4]), t);
    let d = b.relu("d", r);
    let e = b.relu("e", d);
    let y = b.view("y", View::Reshape(smallvec![24]), e);
    let z = b.view("z", View::Transpose(smallvec![2, 1, 0]), c);
    let plan = planned(b.done(&[y, z]), Level::None, &[]).plan;
    simulate(&plan);
    expect![[r#"
        plan hand: 6 launches of 5 kernels
        kernel 0 relu__ca01e427 used 1: p0 f32 2×3×4, p1 f32 2×3×4 out
        kernel 1 relu__2d8eb0ea used 1: p0 f32 3×2×4, p1 f32 3×2×4 out
        kernel 2 reshape__6d6c325b used 1: p0 f32 3×2×4, p1 f32 6×4 out
        kernel 3 relu__0b4a9a29 used 2: p0 f32 6×4, p1 f32 6×4 out
        kernel 4 transpose__39c97748 used 1: p0 f32 3×2×4, p1 f32 4×2×3 out
        buffer 0: 24 x f32, launches 0 to 4
        buffer 1: 24 x f32, launches 1 to 5
        buffer 2: 24 x f32, launches 2 to 3
        buffer 3: 24 x f32, launches 4 to 6
        buffer 4: 24 x f32, launches 5 to 6
        launch 0 a: kernel 0 (x@x, a@b0)
        launch 1 c: kernel 1 (t@b0, c@b1)
        launch 2 r: kernel 2 (t@b0, r@b2)
        launch 3 d: kernel 3 (r@b2, d@b0)
        launch 4 e: kernel 3 (d@b0, e@b3)
        launch 5 z: kernel 4 (c@b1, z@b4)
        return y, z
    "#]]
    .assert_eq(&text::text(&plan));
    expect![[r#"
        digraph plan {
          rankdir=TB;
          node [shape=box, fontname=monospace];
          in0 [shape=ellipse, label="x"];
          l0 [label="a\nrelu__ca01e427"];
          in0 -> l0 [label="2×3×4"];
          l1 [label="c\nrelu__2d8eb0ea"];
          l0 -> l1 [label="3×2×4"];
          l2 [label="r\nreshape__6d6c325b"];
          l0 -> l2 [label="3×2×4"];
          l3 [label="d\nrelu__0b4a9a29"];
          l2 -> l3 [label="6×4"];
          l4 [label="e\nrelu__0b4a9a29"];
          l3 -> l4 [label="6×4"];
          l5 [label="z\ntranspose__39c97748"];
          l1 -> l5 [label="3×2×4"];
          out0 [shape=ellipse, label="y"];
          l4 -> out0;
          out1 [shape=ellipse, label="z"];
          l5 -> out1;
        }
    "#]]
    .assert_eq(&dot::dot(&plan));
    expect![[r#"[{"value":"x","in":{"input":0},"dtype":"f32","shape":[2,3,4],"strides":[12,4,1],"offset":0},{"value":"a","in":{"buffer":0},"dtype":"f32","shape":[2,3,4],"strides":[12,4,1],"offset":0},{"value":"t","in":{"buffer":0},"dtype":"f32","shape":[3,2,4],"strides":[4,12,1],"offset":0},{"value":"c","in":{"buffer":1},"dtype":"f32","shape":[3,2,4],"strides":[8,4,1],"offset":0},{"value":"r","in":{"buffer":2},"dtype":"f32","shape":[6,4],"strides":[4,1],"offset":0},{"value":"d","in":{"buffer":0},"dtype":"f32","shape":[6,4],"strides":[4,1],"offset":0},{"value":"e","in":{"buffer":3},"dtype":"f32","shape":[6,4],"strides":[4,1],"offset":0},{"value":"y","in":{"buffer":3},"dtype":"f32","shape":[24],"strides":[1],"offset":0},{"value":"z","in":{"buffer":4},"dtype":"f32","shape":[4,2,3],"strides":[6,3,1],"offset":0}]"#]].assert_eq(&serde_json::to_string(&json::json(&plan)["layouts"]).unwrap());
}

proptest! {
    /// Whatever is read is there, whatever the views and lifetimes.
    #[test]
    fn random_plans_run(steps in proptest::collection::vec((0u8..7, 0usize..5), 1..14), returned in 0usize..4) {
        let mut b = Build(Graph::new("hand"));
        let mut values = vec![b.input("x", &[2, 3, 4])];
        for (i, &(kind, from)) in steps.iter().enumerate() {
            let x = values[values.len().saturating_sub(1 + from)];
            let shape = b.0.shape(x).to_vec();
            let (name, total) = (format!("n{i}"), shape.iter().product::<usize>());
            values.push(match kind {
                0 | 1 => b.relu(&name, x),
                2 => {
                    let other = values.iter().rev().find(|&&v| *b.0.shape(v) == *shape).copied().unwrap();
                    let body = parse("add(r0, r1)", &[DType::F32; 2]).unwrap();
                    b.node(&name, Op::Map(Map::pointwise("add", &shape, &[&shape, &shape], body)), &[x, other])
                }
                3 => b.view(&name, View::Transpose((0..shape.len()).rev().collect()), x),
                4 => b.view(&name, View::Reshape(smallvec![total]), x),
                5 => b.view(&name, View::Reshape(smallvec![total / 4, 4]), x),
                _ => {
                    let mut grown = Shape::from_slice(&shape);
                    grown.insert(0, 1);
                    b.view(&name, View::Broadcast(grown), x)
                }
            });
        }
        let last = values[values.len() - 1];
        let other = values[values.len().saturating_sub(1 + returned).max(1)];
        let graph = b.done(&[last, other]);
        for level in [Level::None, Level::Basic] {
            let planned = planned(graph.clone(), level, &[]);
            prop_assert!(planned.missing.is_empty());
            simulate(&planned.plan);
        }
    }
}

#[test]
fn what_cannot_be_bound_is_taken_apart_or_named() {
    let count = |refuse: &[&str]| {
        let Planned { plan, missing, apart: _, blocks: _ } = planned(resnet50(), Level::Basic, refuse);
        (plan.launches.len(), missing.len(), plan)
    };
    let (launches, missing, plan) = count(&["conv_add_relu"]);
    assert_eq!((launches, missing), (72, 0));
    simulate(&plan);
    let (launches, missing, plan) = count(&["max_pool"]);
    assert_eq!((launches, missing), (55, 1));
    let unserved: Vec<String> = rows(&plan).into_iter().filter(|r| r.served == By::Missing).map(|r| r.operator).collect();
    assert_eq!(unserved, ["max_pool"]);
}

#[test]
fn the_map_names_a_template_for_each_source_node() {
    let plan = planned(resnet50(), Level::None, &[]).plan;
    let rows = rows(&plan);
    let gemm: Vec<(&str, &str, &By)> = rows
        .iter()
        .filter(|r| r.source.operator == "Gemm")
        .map(|r| (r.source.operator.as_str(), r.operator.as_str(), &r.served))
        .collect();
    assert_eq!(
        gemm,
        [
            ("Gemm", "transpose", &By::Prepared),
            ("Gemm", "matmul", &By::Kernel { launch: 173, template: "matmul".into() }),
            ("Gemm", "add", &By::Kernel { launch: 174, template: "add".into() }),
        ]
    );
    assert_eq!(rows.iter().filter(|r| r.served == By::View).count(), 1);
}

/// The plan of ResNet-50 with the embedded templates.
fn real(level: Level) -> Planned {
    let library = Library::embedded().unwrap();
    let target = Target::find(target::DEFAULT).unwrap();
    let graph = resnet50();
    let rewritten = fuse::rewrite(&graph, level).unwrap();
    let clusters = fuse::cluster(&rewritten, level, &Served { library: &library, target }).unwrap();
    plan("resnet50", Arc::new(graph), &rewritten, clusters, &library, target, BindOptions::default()).unwrap()
}

/// Keys change with every edit of a kernel's text, which is not a matter of planning.
fn without_keys(text: &str) -> String {
    let word = |w: &str| w.split_once("__").map_or(w, |(template, _)| template).to_owned();
    text.lines().map(|line| line.split(' ').map(word).collect::<Vec<_>>().join(" ") + "\n").collect()
}

#[test]
fn resnet50_with_the_embedded_templates() {
    for (level, file) in [(Level::None, "resnet50_none.txt"), (Level::Basic, "resnet50_basic.txt")] {
        let Planned { plan, missing, apart: _, blocks: _ } = real(level);
        assert!(missing.is_empty(), "{missing:?}");
        simulate(&plan);
        let blessed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/select").join(file);
        expect_test::expect_file![blessed].assert_eq(&without_keys(&text::text(&plan)));
    }
    assert_eq!(real(Level::Basic).plan.launches.len(), 56);
}

#[test]
fn unfused_each_source_operator_has_the_templates_of_the_mission() {
    let mut served: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in rows(&real(Level::None).plan) {
        if let By::Kernel { launch: _, template } = row.served {
            served.entry(row.source.operator).or_default().insert(template);
        }
    }
    let lines: String =
        served.iter().map(|(o, t)| format!("{o}: {}\n", t.iter().cloned().collect::<Vec<_>>().join(" "))).collect();
    expect![[r#"
        Add: add
        BatchNormalization: batchnorm2d
        Conv: conv2d_resnet
        Gemm: add matmul
        GlobalAveragePool: adaptive_avgpool2d
        MaxPool: maxpool2d
        Relu: relu
    "#]]
    .assert_eq(&lines);
}

#[test]
fn what_was_taken_apart_says_why() {
    let graph = resnet50();
    let mut why = fuse::Why::default();
    let rewritten = fuse::rewrite_why(&graph, Level::Basic, &fuse::Groups::default(), &mut why).unwrap();
    let clusters = fuse::cluster_why(&rewritten, Level::Basic, &All, &fuse::Groups::default(), &mut why).unwrap();
    let refuse = ["conv_add_relu", "conv_add"];
    let planned = build("hand", Arc::new(graph), &rewritten, clusters, &|g, c, l| fake(g, c, l, &refuse)).unwrap();
    let text = super::why::text(&planned, &why);
    let launches: Vec<&str> = text.split_inclusive('\n').collect();
    let from = launches.iter().position(|line| line.contains("layer1.0.conv3")).unwrap();
    expect![[r#"
        launch 4 layer1.0.conv3: conv computes layer1.0.bn3 (conv)
          rule fold_batchnorm at layer1.0.bn3 (conv) absorbed layer1.0.conv3 (conv)
          stops here: layer1.0.relu_2 (add_relu) is computed with what stands behind it
        launch 5 layer1.0.downsample.0: conv computes layer1.0.downsample.1 (conv)
          rule fold_batchnorm at layer1.0.downsample.1 (conv) absorbed layer1.0.downsample.0 (conv)
          lost layer1.0.relu_2 (add_relu): [T003] nothing for conv_add_relu
        launch 6 layer1.0.add: add_relu computes layer1.0.relu_2 (add_relu)
          rule compose_maps at layer1.0.relu_2 (add_relu) absorbed layer1.0.add (add)
          taken off layer1.0.downsample.1 (conv)
    "#]]
    .assert_eq(&launches[from..(from + 9).min(launches.len())].concat());
    assert_eq!(super::why::json(&planned, &why).as_array().unwrap().len(), planned.plan.launches.len());
}
