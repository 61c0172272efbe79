//! Whole models.

use std::collections::BTreeMap;

use super::*;

use crate::graph::{Op, Producer, Role, Weight, op::View, text, verify};
use crate::import::Absorbed;
use crate::source::SourceFile;

#[test]
fn resnet50_keeps_every_node_with_its_name() {
    let imported = load_whole("models/resnet50.onnx");
    let graph = &imported.graph;
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for id in graph.node_ids() {
        *count.entry(graph.node(id).op.name()).or_default() += 1;
    }
    let expected = [
        ("adaptive_average_pool", 1),
        ("add", 17),
        ("batch_norm", 53),
        ("conv", 53),
        ("matmul", 1),
        ("max_pool", 1),
        ("relu", 49),
        ("reshape", 1),
        ("transpose", 1),
    ];
    assert_eq!(count, BTreeMap::from(expected));
    assert_eq!(imported.absorbed.len(), 267);
    assert!(imported.absorbed.iter().all(|a| a.1 == Absorbed::Weight && a.0.operator == "ConstantOfShape"));

    let value = |name: &str| graph.value(graph.find(name).expect(name));
    assert_eq!(value("x").ty.shape.as_slice(), [1, 3, 224, 224]);
    assert_eq!(value("layer4.0.downsample.1.out").ty.shape.as_slice(), [1, 2048, 7, 7]);
    assert_eq!(value("layer2.0.conv2.weight").role, Role::Weight { fan_in: 128 * 9 });
    assert_eq!(value("fc.weight").role, Role::Weight { fan_in: 2048 });
    assert_eq!(value("fc.bias").role, Role::Bias);
    assert_eq!(value("bn1.running_var").role, Role::Variance);
    assert!(matches!(value("bn1.running_var").producer, Producer::Weight(Weight::Filled(1.0))));
    assert_eq!(graph.outputs(), [graph.find("logits").unwrap()]);

    let Producer::Node { node, .. } = value("layer2.0.conv2.out").producer else { panic!("a node computes it") };
    let node = graph.node(node);
    assert_eq!((node.sources[0].node.as_str(), node.sources[0].operator.as_str()), ("layer2.0.conv2", "Conv"));
    assert_eq!(node.sources[0].module.as_deref(), Some("layer2.0.conv2"));
    let Op::Conv(conv) = &node.op else { panic!("a Conv lowers to conv") };
    assert_eq!((conv.strides.as_slice(), conv.pads_begin.as_slice(), conv.groups), ([2, 2].as_slice(), [1, 1].as_slice(), 1));
    let fc: Vec<_> =
        graph.node_ids().filter(|&n| graph.node(n).sources[0].node == "fc").map(|n| graph.node(n).op.clone()).collect();
    assert!(matches!(&fc[0], Op::View(View::Transpose(order)) if order.as_slice() == [1, 0]));
    assert!(matches!(&fc[1..], [Op::MatMul, Op::Map(map)] if map.label == "add"));
}

#[test]
fn resnet50_follows_another_input_shape() {
    let shape = |sizes: [usize; 4]| Binding { shapes: [("x".to_owned(), sizes.as_slice().into())].into(), ..Binding::default() };
    for (sizes, last) in [([1, 3, 32, 32], [1, 2048, 1, 1]), ([2, 3, 96, 64], [2, 2048, 3, 2])] {
        let graph = load(Path::new("models/resnet50.onnx"), &shape(sizes)).unwrap().graph;
        assert_eq!(graph.shape(graph.find("layer4.2.relu_2.out").unwrap()), last);
        assert_eq!(graph.shape(graph.outputs()[0]), [sizes[0], 1000]);
    }
}

#[test]
fn imported_graphs_are_well_formed_and_read_back() {
    let light = |name: &str| format!("tests/import/onnx_light/light_{name}.onnx");
    let models = ["bvlc_alexnet", "inception_v1", "squeezenet", "vgg19", "zfnet512"].map(light);
    for path in models.iter().map(String::as_str).chain(["models/resnet50.onnx"]) {
        let graph = load_whole(path).graph;
        let errors = verify::violations(&graph);
        assert!(errors.is_empty(), "{}", rendered(&errors));
        let printed = graph.to_string();
        let read = text::parse(&SourceFile::new(path, printed.as_str())).unwrap();
        assert_eq!(read.to_string(), printed.replace(" = stored", " = missing"), "{path}");
    }
}
