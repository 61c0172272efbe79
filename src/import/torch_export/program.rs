//! `models/model.json`: the exported program, as `torch/_export/serde/schema.py` writes it (major version 8).
//!
//! Only what lowering reads is kept. An argument is an object with one key that says its kind; kinds that are not
//! known are kept by their name, so that the node that has one is refused and no other.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value as Json;

#[derive(Deserialize)]
pub struct Program {
    pub graph_module: GraphModule,
    #[serde(default)]
    pub range_constraints: BTreeMap<String, Range>,
}

/// Which schema the rest is written in.
#[derive(Deserialize)]
pub struct Versioned {
    pub schema_version: SchemaVersion,
    #[serde(default)]
    pub torch_version: String,
}

#[derive(Deserialize)]
pub struct SchemaVersion {
    pub major: i64,
    pub minor: i64,
}

/// What a symbolic dimension may be; `None` where it is open.
#[derive(Deserialize)]
pub struct Range {
    pub min_val: Option<i64>,
    pub max_val: Option<i64>,
}

#[derive(Deserialize)]
pub struct GraphModule {
    pub graph: Graph,
    pub signature: Signature,
}

#[derive(Deserialize)]
pub struct Graph {
    pub inputs: Vec<Argument>,
    pub outputs: Vec<Argument>,
    pub nodes: Vec<Node>,
    pub tensor_values: BTreeMap<String, TensorMeta>,
}

#[derive(Deserialize)]
pub struct Node {
    /// `torch.ops.aten.conv2d.default`, `_operator.mul`.
    pub target: String,
    pub inputs: Vec<NamedArgument>,
    pub outputs: Vec<Argument>,
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    #[serde(default)]
    pub name: Option<String>,
}

#[derive(Deserialize)]
pub struct NamedArgument {
    pub name: String,
    pub arg: Argument,
}

#[derive(Deserialize)]
pub struct TensorMeta {
    /// A number of `ScalarType`.
    pub dtype: i64,
    pub sizes: Vec<SymInt>,
    pub strides: Vec<SymInt>,
    pub storage_offset: SymInt,
    /// 7 is strided.
    pub layout: i64,
}

#[derive(Deserialize)]
pub struct Signature {
    pub input_specs: Vec<Spec>,
    pub output_specs: Vec<Spec>,
}

/// What an input or output of the graph is: an object whose one key says so (`parameter`, `buffer_mutation`, …).
pub struct Spec {
    pub kind: String,
    /// The key's value.
    pub fields: Json,
}

impl Spec {
    /// A field that is text.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }
}

/// A size, stride or offset.
#[derive(Clone, Debug, PartialEq)]
pub enum SymInt {
    Int(i64),
    /// sympy's `srepr` of an expression over symbolic dimensions, and what it was for the example inputs.
    Expression(String, Option<i64>),
}

/// An integer, float or bool that is a number or the result of another node.
#[derive(Clone, Debug, PartialEq)]
pub enum Symbolic<T> {
    Name(String),
    Is(T),
}

/// One argument of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    None,
    Tensor(String),
    Tensors(Vec<String>),
    OptionalTensors(Vec<Option<String>>),
    Int(Symbolic<i64>),
    Ints(Vec<Symbolic<i64>>),
    Float(Symbolic<f64>),
    Floats(Vec<f64>),
    Bool(Symbolic<bool>),
    Bools(Vec<bool>),
    String(String),
    /// A number of `ScalarType`.
    Dtype(i64),
    /// A layout, memory format or device: where and how elements lie, not what they are.
    Placement,
    /// The key of a kind that is not read.
    Other(String),
}

/// The one key of an object and its value.
fn single<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(String, Json), D::Error> {
    let map = serde_json::Map::deserialize(deserializer)?;
    let mut fields = map.into_iter();
    match (fields.next(), fields.next()) {
        (Some(field), None) => Ok(field),
        _ => Err(D::Error::custom("an object with one key is expected")),
    }
}

impl<'de> Deserialize<'de> for Spec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Spec, D::Error> {
        single(deserializer).map(|(kind, fields)| Spec { kind, fields })
    }
}

impl<'de> Deserialize<'de> for SymInt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SymInt, D::Error> {
        let (kind, value) = single(deserializer)?;
        match kind.as_str() {
            "as_int" => value.as_i64().map(SymInt::Int),
            "as_expr" => {
                let hint = value.get("hint").and_then(|hint| hint.get("as_int")).and_then(Json::as_i64);
                value.get("expr_str").and_then(Json::as_str).map(|text| SymInt::Expression(text.to_owned(), hint))
            }
            _ => None,
        }
        .ok_or_else(|| D::Error::custom(format!("`{kind}` is no size")))
    }
}

impl<'de> Deserialize<'de> for Argument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Argument, D::Error> {
        let (kind, value) = single(deserializer)?;
        let read = match kind.as_str() {
            "as_none" => Some(Argument::None),
            "as_tensor" => name(&value).map(Argument::Tensor),
            "as_tensors" => all(&value, name).map(Argument::Tensors),
            "as_optional_tensor" => optional_tensor(&value).map(|name| name.map_or(Argument::None, Argument::Tensor)),
            "as_optional_tensors" => all(&value, optional_tensor).map(Argument::OptionalTensors),
            "as_int" => value.as_i64().map(|i| Argument::Int(Symbolic::Is(i))),
            "as_ints" => all(&value, |v| v.as_i64().map(Symbolic::Is)).map(Argument::Ints),
            "as_sym_int" => symbolic(&value, Json::as_i64).map(Argument::Int),
            "as_sym_ints" => all(&value, |v| symbolic(v, Json::as_i64)).map(Argument::Ints),
            "as_float" => float(&value).map(|f| Argument::Float(Symbolic::Is(f))),
            "as_floats" => all(&value, float).map(Argument::Floats),
            "as_sym_float" => symbolic(&value, float).map(Argument::Float),
            "as_bool" => value.as_bool().map(|b| Argument::Bool(Symbolic::Is(b))),
            "as_bools" => all(&value, Json::as_bool).map(Argument::Bools),
            "as_sym_bool" => symbolic(&value, Json::as_bool).map(Argument::Bool),
            "as_string" => value.as_str().map(|s| Argument::String(s.to_owned())),
            "as_scalar_type" => value.as_i64().map(Argument::Dtype),
            "as_memory_format" | "as_layout" | "as_device" => Some(Argument::Placement),
            _ => return Ok(Argument::Other(kind)),
        };
        read.ok_or_else(|| D::Error::custom(format!("the value of `{kind}` is not what its name says")))
    }
}

fn all<T>(value: &Json, each: impl Fn(&Json) -> Option<T>) -> Option<Vec<T>> {
    value.as_array()?.iter().map(each).collect()
}

fn name(value: &Json) -> Option<String> {
    value.get("name")?.as_str().map(str::to_owned)
}

fn optional_tensor(value: &Json) -> Option<Option<String>> {
    match value.get("as_tensor") {
        Some(tensor) => name(tensor).map(Some),
        None => value.get("as_none").map(|_| None),
    }
}

/// JSON has no infinities and no NaN: they are written as strings.
fn float(value: &Json) -> Option<f64> {
    match value.as_str() {
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some("NaN") => Some(f64::NAN),
        Some(_) => None,
        None => value.as_f64(),
    }
}

/// `{"as_name": …}`, or the number under whatever key its kind has.
fn symbolic<T>(value: &Json, read: impl Fn(&Json) -> Option<T>) -> Option<Symbolic<T>> {
    if let Some(name) = value.get("as_name") {
        return name.as_str().map(|name| Symbolic::Name(name.to_owned()));
    }
    value.as_object()?.values().next().and_then(read).map(Symbolic::Is)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_by_their_kind() {
        let read = |text| serde_json::from_str::<Argument>(text);
        assert_eq!(read(r#"{"as_tensor": {"name": "x"}}"#).unwrap(), Argument::Tensor("x".to_owned()));
        assert_eq!(read(r#"{"as_float": "-Infinity"}"#).unwrap(), Argument::Float(Symbolic::Is(f64::NEG_INFINITY)));
        let sizes = vec![Symbolic::Name("s".to_owned()), Symbolic::Is(3)];
        assert_eq!(read(r#"{"as_sym_ints": [{"as_name": "s"}, {"as_int": 3}]}"#).unwrap(), Argument::Ints(sizes));
        let indices = vec![None, Some("i".to_owned())];
        let text = r#"{"as_optional_tensors": [{"as_none": true}, {"as_tensor": {"name": "i"}}]}"#;
        assert_eq!(read(text).unwrap(), Argument::OptionalTensors(indices));
        assert_eq!(read(r#"{"as_custom_obj": {"name": "o"}}"#).unwrap(), Argument::Other("as_custom_obj".to_owned()));
        assert!(read(r#"{"as_int": "3"}"#).is_err());
        assert!(read(r#"{"as_int": 3, "as_bool": true}"#).is_err());
    }
}
