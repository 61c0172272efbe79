//! Tasks in KernelBench's format, as `tools/export_task.py` leaves them: an archive of torch.export, and beside it
//! a document of what no archive says: the task's text, the arguments of `__init__`, the names of the parameters.
//!
//! A task's code is parsed here ([`source`]) and never run. The document holds the archive's digest, so that those of two
//! exports are not taken for one.

pub mod source;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::graph::TensorType;
use crate::shape::Shape;
use crate::source::files;
pub use source::Source;

const FORMAT: &str = "decompose-task";
const VERSION: u64 = 2;

/// Bytes that a document may have; those of KernelBench have a few thousand.
const LARGEST: u64 = 1 << 24;

/// A task that was exported.
#[derive(Clone, Debug)]
pub struct Task {
    /// The document's path, for messages.
    pub file: String,
    /// The task's own file, as it was exported.
    pub task: String,
    pub source: Source,
    /// Positional arguments of `__init__`, then those by name.
    pub args: Vec<Argument>,
    pub keywords: Vec<(String, Argument)>,
    /// Parameters and buffers by their names in the state, in order of creation.
    pub parameters: Vec<Parameter>,
    /// Of `forward`, in order.
    pub inputs: Vec<Input>,
    pub outputs: Vec<TensorType>,
    /// The largest integer that was left of the module-level ones.
    pub reduced: Option<i64>,
    /// Of the task's own text, before integers were lowered, in hexadecimal.
    pub sha256: String,
    /// SHA-256 of the archive, in hexadecimal.
    pub archive: String,
}

/// A Python value that a constructor takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    List(Vec<Argument>),
    Tuple(Vec<Argument>),
    /// What the document has no form for, by its Python type.
    Opaque(String),
}

/// A tensor of the module's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// `conv.weight`.
    pub name: String,
    pub ty: TensorType,
    pub is_buffer: bool,
}

/// A parameter of `forward`.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    Tensor {
        name: String,
        ty: TensorType,
    },
    /// Fixed by the export.
    Value {
        name: String,
        value: Argument,
    },
}

#[derive(Deserialize)]
struct Header {
    format: String,
    version: u64,
}

#[derive(Deserialize)]
struct Document {
    file: String,
    sha256: String,
    archive: String,
    reduced: Option<i64>,
    class: String,
    source: String,
    init: Init,
    parameters: Vec<Entry>,
    inputs: Vec<InputEntry>,
    outputs: Vec<Entry>,
}

#[derive(Deserialize)]
struct Init {
    args: Vec<Value>,
    keywords: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    shape: Vec<usize>,
    dtype: String,
    #[serde(default)]
    kind: String,
    /// Of a tensor that is not contiguous.
    strides: Option<Vec<i64>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum InputEntry {
    Tensor(Entry),
    Value { name: String, value: Value },
}

/// The document that lies beside an archive, or beside a task's text.
pub fn document_of(path: &Path) -> PathBuf {
    path.with_extension("json")
}

/// The archive that lies beside a document, or beside a task's text.
pub fn archive_of(path: &Path) -> PathBuf {
    path.with_extension("pt2")
}

impl Task {
    /// Reads a document.
    ///
    /// # Errors
    /// U002 where it cannot be read, U010 where it is none of ours or contradicts itself, S001 where the task's text is no
    /// Python, M009 for a type of elements that we do not have.
    pub fn load(path: &Path) -> Result<Task> {
        let name = path.display().to_string();
        let unreadable = |cause: String| {
            let help = "export the task: python tools/export_task.py TASK.py";
            Box::new(Diagnostic::new(&codes::FILE_UNREADABLE, format!("cannot be read: {cause}")).in_file(&name).help(help))
        };
        let bytes = files::bytes(path, LARGEST).map_err(|error| unreadable(error.to_string()))?;
        Task::parse(&name, &bytes)
    }

    /// Reads a document from memory; `name` is the file's name for messages.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Task> {
        let refuse = |error: serde_json::Error| invalid(name, error.to_string());
        // The format, before anything else of the document is believed.
        let Header { format, version } = serde_json::from_slice(bytes).map_err(refuse)?;
        if format != FORMAT || version != VERSION {
            return Err(invalid(name, format!("it is {format} version {version}, not {FORMAT} version {VERSION}")));
        }
        let document: Document = serde_json::from_slice(bytes).map_err(refuse)?;
        let Document { file, sha256, archive, reduced, class, source, init, parameters, inputs, outputs } = document;
        let ty = |entry: &Entry| tensor_type(name, entry);
        let parameters = parameters
            .iter()
            .map(|entry| Ok(Parameter { name: entry.name.clone(), ty: ty(entry)?, is_buffer: entry.kind == "buffer" }));
        let inputs = inputs.into_iter().map(|entry| {
            Ok(match entry {
                InputEntry::Tensor(Entry { name: input, strides: Some(strides), .. }) => {
                    let what = format!("`{input}`, an input of a task with the strides {strides:?},");
                    return Err(Box::new(Diagnostic::new(&codes::NOT_OFFERED, what).in_file(name)));
                }
                InputEntry::Tensor(entry) => Input::Tensor { ty: ty(&entry)?, name: entry.name },
                InputEntry::Value { name: parameter, value } => {
                    Input::Value { name: parameter, value: argument(&value).map_err(|what| invalid(name, what))? }
                }
            })
        });
        let value = |value: &Value| argument(value).map_err(|what| invalid(name, what));
        let task = Task {
            file: name.to_owned(),
            source: Source::parse(&file, source, class)?,
            task: file,
            args: init.args.iter().map(value).collect::<Result<_>>()?,
            keywords: init.keywords.iter().map(|(key, v)| Ok((key.clone(), value(v)?))).collect::<Result<_>>()?,
            parameters: parameters.collect::<Result<_>>()?,
            inputs: inputs.collect::<Result<_>>()?,
            outputs: outputs.iter().map(ty).collect::<Result<_>>()?,
            reduced,
            sha256,
            archive,
        };
        task.consistent()?;
        Ok(task)
    }

    /// The type of a parameter or buffer.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    fn consistent(&self) -> Result<()> {
        let forward = self.source.forward();
        let taken: Vec<&str> = forward.params.iter().skip(1).map(|param| param.name.as_str()).collect();
        for (i, input) in self.inputs.iter().enumerate() {
            if taken.get(i) != Some(&input.name()) {
                let what = format!("input {i} is `{}`, the parameters of forward are {}", input.name(), taken.join(", "));
                return Err(invalid(&self.file, what));
            }
        }
        for (i, parameter) in self.parameters.iter().enumerate() {
            if self.parameters[..i].iter().any(|other| other.name == parameter.name) {
                return Err(invalid(&self.file, format!("parameter `{}` is there twice", parameter.name)));
            }
        }
        Ok(())
    }
}

impl Input {
    pub fn name(&self) -> &str {
        match self {
            Input::Tensor { name, ty: _ } | Input::Value { name, value: _ } => name,
        }
    }

    pub fn ty(&self) -> Option<&TensorType> {
        match self {
            Input::Tensor { name: _, ty } => Some(ty),
            Input::Value { .. } => None,
        }
    }
}

/// A U010 about a document.
pub(super) fn invalid(name: &str, what: impl Into<String>) -> Box<Diagnostic> {
    let help = "export the task again: python tools/export_task.py TASK.py";
    Box::new(Diagnostic::new(&codes::TASK_INVALID, what).in_file(name).help(help))
}

fn tensor_type(name: &str, entry: &Entry) -> Result<TensorType> {
    let dtype = DType::ALL.into_iter().find(|dtype| dtype.torch_name() == entry.dtype).ok_or_else(|| {
        Box::new(Diagnostic::new(&codes::DTYPE_UNSUPPORTED, format!("`{}` is of {}", entry.name, entry.dtype)).in_file(name))
    })?;
    let shape = Shape::from_slice(&entry.shape);
    match crate::shape::numel(&shape).and_then(|len| len.checked_mul(dtype.size())) {
        Some(_) => Ok(TensorType { dtype, shape }),
        None => Err(invalid(name, format!("`{}` of shape {:?} is beyond any memory", entry.name, entry.shape))),
    }
}

fn argument(value: &Value) -> std::result::Result<Argument, String> {
    let all = |items: &[Value]| items.iter().map(argument).collect::<std::result::Result<Vec<_>, _>>();
    Ok(match value {
        Value::Null => Argument::None,
        Value::Bool(v) => Argument::Bool(*v),
        Value::Number(n) => match n.as_i64() {
            Some(v) => Argument::Int(v),
            None if n.is_f64() => Argument::Float(n.as_f64().unwrap_or(f64::NAN)),
            None => return Err(format!("the integer {n} is beyond 64 bits")),
        },
        Value::String(text) => Argument::Str(text.clone()),
        Value::Array(items) => Argument::List(all(items)?),
        Value::Object(entries) => match entries.iter().next().map(|(key, value)| (key.as_str(), value)) {
            Some(("tuple", Value::Array(items))) => Argument::Tuple(all(items)?),
            Some(("opaque", Value::String(of))) => Argument::Opaque(of.clone()),
            Some(("float", Value::String(text))) => Argument::Float(text.parse().map_err(|_| format!("`{text}` is no float"))?),
            _ => return Err(format!("{value} is no argument")),
        },
    })
}
