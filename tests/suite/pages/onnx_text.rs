//! ONNX's textual form, as far as pages use it: what `onnx.parser.parse_model` reads, as bytes.
//!
//! ```text
//! model = "<" "ir_version" ":" INT "," "opset_import" ":" "[" STRING ":" INT ("," …)* "]" ">" graph
//! graph = NAME "(" values ")" "=>" "(" values ")" ("<" weight ("," weight)* ">")? "{" node* "}"
//! value = TYPE ("[" (INT | NAME | "?") ("," …)* "]")? NAME
//! weight = value "=" ("{" numbers "}" | "[" STRING ":" STRING ("," …)* "]")        elements, or external data
//! node  = NAME ("," NAME)* "=" OPERATOR ("<" NAME "=" attribute ("," …)* ">")? "(" NAME, … ")"
//! attribute = INT | FLOAT | STRING | "[" INTs "]"
//! ```
//! An operator outside the default domain is written with it: `com.example.Swoosh`. A node is named
//! after its first output.

use prost::Message;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::{DataLocation, DataType};
use tract_onnx::pb::tensor_shape_proto::{Dimension, dimension};
use tract_onnx::pb::*;

/// The model's bytes. Panics on a text that is none.
pub fn bytes(text: &str) -> Vec<u8> {
    let mut reader = Reader { tokens: tokens(text), at: 0 };
    reader.model().encode_to_vec()
}

fn tokens(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+');
        let len = match first {
            '"' => rest[1..].find('"').unwrap() + 2,
            '#' => {
                rest = rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
                continue;
            }
            _ if rest.starts_with("=>") => 2,
            c if word(c) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        out.push(rest[..len].to_owned());
        rest = rest[len..].trim_start();
    }
    out
}

struct Reader {
    tokens: Vec<String>,
    at: usize,
}

impl Reader {
    fn next(&mut self) -> String {
        self.at += 1;
        self.tokens.get(self.at - 1).unwrap_or_else(|| panic!("the model's text ends too early")).clone()
    }

    fn peek(&self, token: &str) -> bool {
        self.tokens.get(self.at).is_some_and(|t| t == token)
    }

    fn take(&mut self, token: &str) -> bool {
        let hit = self.peek(token);
        self.at += usize::from(hit);
        hit
    }

    fn want(&mut self, token: &str) {
        let found = self.next();
        assert_eq!(found, token, "token {} of the model's text", self.at);
    }

    fn string(&mut self) -> String {
        self.next().trim_matches('"').to_owned()
    }

    fn int(&mut self) -> i64 {
        let token = self.next();
        token.parse().unwrap_or_else(|_| panic!("`{token}` is no integer"))
    }

    /// `open item, item close`.
    fn list<T>(&mut self, open: &str, close: &str, mut item: impl FnMut(&mut Reader) -> T) -> Vec<T> {
        self.want(open);
        let mut items = Vec::new();
        while !self.take(close) {
            items.push(item(self));
            if !self.peek(close) {
                self.want(",");
            }
        }
        items
    }

    fn model(&mut self) -> ModelProto {
        self.want("<");
        self.want("ir_version");
        self.want(":");
        let ir_version = self.int();
        self.want(",");
        self.want("opset_import");
        self.want(":");
        let opset_import = self.list("[", "]", |r| {
            let domain = r.string();
            r.want(":");
            OperatorSetIdProto { domain, version: r.int() }
        });
        self.want(">");
        ModelProto { ir_version, opset_import, graph: Some(self.graph()), ..ModelProto::default() }
    }

    fn graph(&mut self) -> GraphProto {
        let name = self.next();
        let input = self.list("(", ")", Reader::value);
        self.want("=>");
        let output = self.list("(", ")", Reader::value);
        let initializer = if self.peek("<") { self.list("<", ">", Reader::weight) } else { Vec::new() };
        self.want("{");
        let mut node = Vec::new();
        while !self.take("}") {
            node.push(self.node());
        }
        GraphProto { name, input, output, initializer, node, ..GraphProto::default() }
    }

    fn value(&mut self) -> ValueInfoProto {
        let ty = self.next();
        let elem_type = data_type(&ty) as i32;
        let dims = match self.peek("[") {
            true => self.list("[", "]", Reader::next),
            false => Vec::new(),
        };
        let dim = |text: &String| Dimension {
            value: match text.parse() {
                Ok(size) => Some(dimension::Value::DimValue(size)),
                Err(_) if text == "?" => None,
                Err(_) => Some(dimension::Value::DimParam(text.clone())),
            },
            ..Dimension::default()
        };
        let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
        let tensor = type_proto::Tensor { elem_type, shape };
        let r#type = Some(TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() });
        ValueInfoProto { name: self.next(), r#type, ..ValueInfoProto::default() }
    }

    fn weight(&mut self) -> TensorProto {
        let data_type = data_type(&self.next());
        let dims = if self.peek("[") { self.list("[", "]", Reader::int) } else { Vec::new() };
        let mut tensor = TensorProto { name: self.next(), data_type: data_type as i32, dims, ..TensorProto::default() };
        self.want("=");
        if self.peek("[") {
            tensor.data_location = Some(DataLocation::External as i32);
            tensor.external_data = self.list("[", "]", |r| {
                let key = r.string();
                r.want(":");
                StringStringEntryProto { key, value: r.string() }
            });
            return tensor;
        }
        let numbers = self.list("{", "}", Reader::next);
        match data_type {
            DataType::Float => tensor.float_data = numbers.iter().map(|n| n.parse().unwrap()).collect(),
            DataType::Int64 => tensor.int64_data = numbers.iter().map(|n| n.parse().unwrap()).collect(),
            other => panic!("no elements of {} in pages", other.as_str_name()),
        }
        tensor
    }

    fn node(&mut self) -> NodeProto {
        let mut output = vec![self.next()];
        while self.take(",") {
            output.push(self.next());
        }
        self.want("=");
        let operator = self.next();
        let (domain, op_type) = operator.rsplit_once('.').unwrap_or(("", &operator));
        let (domain, op_type) = (domain.to_owned(), op_type.to_owned());
        let attribute = if self.peek("<") { self.list("<", ">", Reader::attribute) } else { Vec::new() };
        let input = self.list("(", ")", Reader::next);
        NodeProto { name: output[0].clone(), domain, op_type, attribute, input, output, ..NodeProto::default() }
    }

    fn attribute(&mut self) -> AttributeProto {
        let mut attribute = AttributeProto { name: self.next(), ..AttributeProto::default() };
        self.want("=");
        let ty = if self.peek("[") {
            attribute.ints = self.list("[", "]", Reader::int);
            AttributeType::Ints
        } else {
            let token = self.next();
            if let Some(text) = token.strip_prefix('"') {
                attribute.s = text.trim_end_matches('"').as_bytes().to_vec();
                AttributeType::String
            } else if let Ok(int) = token.parse() {
                attribute.i = int;
                AttributeType::Int
            } else {
                attribute.f = token.parse().unwrap_or_else(|_| panic!("`{token}` is no attribute"));
                AttributeType::Float
            }
        };
        attribute.r#type = ty as i32;
        attribute
    }
}

fn data_type(name: &str) -> DataType {
    match name {
        "float" => DataType::Float,
        "int64" => DataType::Int64,
        "string" => DataType::String,
        "complex64" => DataType::Complex64,
        _ => panic!("no element type `{name}` in pages"),
    }
}
