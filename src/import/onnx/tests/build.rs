//! A small builder of ONNX models.

use prost::Message;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_shape_proto::{Dimension, dimension};
use tract_onnx::pb::*;

/// One dimension of a declaration.
#[derive(Clone, Copy)]
pub enum Dim {
    Is(i64),
    Named(&'static str),
    Open,
}

impl From<i64> for Dim {
    fn from(size: i64) -> Dim {
        Dim::Is(size)
    }
}

impl From<&'static str> for Dim {
    fn from(name: &'static str) -> Dim {
        Dim::Named(name)
    }
}

pub const FLOAT: i32 = 1;
pub const INT64: i32 = 7;
pub const STRING: i32 = 8;

/// A declaration of a tensor.
pub fn declare<D: Into<Dim> + Clone>(name: &str, elem_type: i32, dims: &[D]) -> ValueInfoProto {
    let dim = |d: Dim| Dimension {
        value: match d {
            Dim::Is(size) => Some(dimension::Value::DimValue(size)),
            Dim::Named(name) => Some(dimension::Value::DimParam(name.to_owned())),
            Dim::Open => None,
        },
        ..Dimension::default()
    };
    let shape = TensorShapeProto { dim: dims.iter().map(|d| dim(d.clone().into())).collect() };
    let tensor = type_proto::Tensor { elem_type, shape: Some(shape) };
    let ty = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() };
    ValueInfoProto { name: name.to_owned(), r#type: Some(ty), ..ValueInfoProto::default() }
}

pub fn ints(name: &str, dims: &[i64], data: &[i64]) -> TensorProto {
    TensorProto {
        name: name.to_owned(),
        data_type: INT64,
        dims: dims.to_vec(),
        int64_data: data.to_vec(),
        ..TensorProto::default()
    }
}

pub fn floats(name: &str, dims: &[i64], data: &[f32]) -> TensorProto {
    TensorProto {
        name: name.to_owned(),
        data_type: FLOAT,
        dims: dims.to_vec(),
        float_data: data.to_vec(),
        ..TensorProto::default()
    }
}

/// A node; its name is `n_` and its first output.
pub fn node(op_type: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let owned = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
    NodeProto {
        op_type: op_type.to_owned(),
        name: format!("n_{}", outputs.first().unwrap_or(&"none")),
        input: owned(inputs),
        output: owned(outputs),
        ..NodeProto::default()
    }
}

/// Adds attributes to a node.
pub trait With {
    fn int(self, name: &str, value: i64) -> Self;
    fn ints(self, name: &str, values: &[i64]) -> Self;
    fn float(self, name: &str, value: f32) -> Self;
    fn string(self, name: &str, value: &str) -> Self;
    fn tensor(self, name: &str, value: TensorProto) -> Self;
    fn graph(self, name: &str, value: GraphProto) -> Self;
}

fn with(mut node: NodeProto, name: &str, ty: AttributeType, fill: impl FnOnce(&mut AttributeProto)) -> NodeProto {
    let mut attribute = AttributeProto { name: name.to_owned(), r#type: ty as i32, ..AttributeProto::default() };
    fill(&mut attribute);
    node.attribute.push(attribute);
    node
}

impl With for NodeProto {
    fn int(self, name: &str, value: i64) -> NodeProto {
        with(self, name, AttributeType::Int, |a| a.i = value)
    }

    fn ints(self, name: &str, values: &[i64]) -> NodeProto {
        with(self, name, AttributeType::Ints, |a| a.ints = values.to_vec())
    }

    fn float(self, name: &str, value: f32) -> NodeProto {
        with(self, name, AttributeType::Float, |a| a.f = value)
    }

    fn string(self, name: &str, value: &str) -> NodeProto {
        with(self, name, AttributeType::String, |a| a.s = value.as_bytes().to_vec())
    }

    fn tensor(self, name: &str, value: TensorProto) -> NodeProto {
        with(self, name, AttributeType::Tensor, |a| a.t = Some(value))
    }

    fn graph(self, name: &str, value: GraphProto) -> NodeProto {
        with(self, name, AttributeType::Graph, |a| a.g = Some(value))
    }
}

/// A model whose outputs are declared by name alone.
pub fn model(
    opset: i64,
    inputs: &[ValueInfoProto],
    initializers: &[TensorProto],
    nodes: &[NodeProto],
    outputs: &[&str],
) -> ModelProto {
    let output = |name: &&str| ValueInfoProto { name: (*name).to_owned(), ..ValueInfoProto::default() };
    let graph = GraphProto {
        name: "g".to_owned(),
        input: inputs.to_vec(),
        initializer: initializers.to_vec(),
        node: nodes.to_vec(),
        output: outputs.iter().map(output).collect(),
        ..GraphProto::default()
    };
    ModelProto {
        ir_version: 8,
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: opset }],
        graph: Some(graph),
        ..ModelProto::default()
    }
}

pub fn bytes(model: &ModelProto) -> Vec<u8> {
    model.encode_to_vec()
}
