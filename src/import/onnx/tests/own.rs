//! Operators that the caller describes by a formula.

use std::sync::Arc;

use super::build::*;
use crate::diag::render::render;
use crate::expr::formula::Formula;
use crate::graph::Op;
use crate::import::{Binding, Imported, OwnOperator, onnx};

/// `com.example.Gate`, also `Gate` of the default domain: X · sigmoid(B).
fn gate() -> Binding {
    let operator = OwnOperator {
        names: vec!["com.example.Gate".to_owned(), "Gate".to_owned()],
        label: "com.example.Gate".to_owned(),
        operands: vec!["X".to_owned(), "B".to_owned()],
        formula: Formula::parse("formula", "X * sigmoid(B)").unwrap(),
    };
    Binding { operators: vec![Arc::new(operator)], ..Binding::default() }
}

fn load(nodes: &[tract_onnx::pb::NodeProto], binding: &Binding) -> Imported {
    let inputs = [declare("x", FLOAT, &[2, 3, 4]), declare("b", FLOAT, &[3, 1]), declare("i", INT64, &[4])];
    let model = model(17, &inputs, &[], nodes, &["y"]);
    onnx::from_bytes("m.onnx", &bytes(&model), binding).unwrap_or_else(|errors| panic!("{}", render(&errors[0], false)))
}

fn custom(op_type: &str, inputs: &[&str]) -> tract_onnx::pb::NodeProto {
    tract_onnx::pb::NodeProto { domain: "com.example".to_owned(), ..node(op_type, inputs, &["y"]) }
}

#[test]
fn an_own_operator_is_the_map_of_its_formula() {
    for node in [custom("Gate", &["x", "b"]), node("Gate", &["x", "b"], &["y"])] {
        let imported = load(&[node], &gate());
        assert!(imported.unsupported.is_empty());
        let graph = &imported.graph;
        let id = graph.node_ids().next().unwrap();
        let Op::Map(map) = &graph.node(id).op else { panic!("{:?}", graph.node(id).op) };
        assert_eq!((map.label.as_str(), map.dims.as_slice()), ("com.example.Gate", &[2, 3, 4][..]));
        assert_eq!(map.body.to_string(), "mul(r0, sigmoid(r1))");
    }
}

#[test]
fn a_rule_of_the_format_stands_first() {
    let mut binding = gate();
    let own = OwnOperator { names: vec!["Relu".to_owned()], ..(*binding.operators[0]).clone() };
    binding.operators = vec![Arc::new(own)];
    let imported = load(&[node("Relu", &["x"], &["y"])], &binding);
    let id = imported.graph.node_ids().next().unwrap();
    assert_eq!(imported.graph.node(id).op.name(), "relu");
}

#[test]
fn what_a_formula_does_not_express_is_refused_by_name() {
    let refused = |node: tract_onnx::pb::NodeProto| {
        let imported = load(&[node], &gate());
        imported.unsupported.iter().map(|d| format!("{} {}", d.code.id, d.message)).collect::<Vec<_>>()
    };
    let attribute = refused(custom("Gate", &["x", "b"]).float("alpha", 0.5));
    assert_eq!(attribute, ["M008 com.example.Gate: attribute `alpha`: the formula `X * sigmoid(B)` has operands alone"]);
    let two = tract_onnx::pb::NodeProto { output: vec!["y".to_owned(), "z".to_owned()], ..custom("Gate", &["x", "b"]) };
    assert_eq!(refused(two), ["M008 com.example.Gate: 2 outputs, a formula gives one"]);
    assert_eq!(refused(custom("Gate", &["x", "i"])), ["M008 com.example.Gate: operands of different dtypes, f32 and i64"]);
    assert_eq!(refused(custom("Door", &["x"])), ["M008 operator com.example.Door is not supported"]);
}

#[test]
fn a_missing_operand_and_one_too_many_are_errors() {
    let error = |inputs: &[&str]| {
        let inputs_of = [declare("x", FLOAT, &[2, 3, 4]), declare("b", FLOAT, &[3, 1])];
        let model = model(17, &inputs_of, &[], &[custom("Gate", inputs)], &["y"]);
        let errors = onnx::from_bytes("m.onnx", &bytes(&model), &gate()).unwrap_err();
        format!("{} {}", errors[0].code.id, errors[0].message)
    };
    assert_eq!(error(&["x"]), "M001 input 1 (B) is missing");
    assert_eq!(error(&["x", "b", "b"]), "M001 3 inputs given, com.example.Gate accepts at most 2");
}
