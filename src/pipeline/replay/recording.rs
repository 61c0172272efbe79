//! A recorded launch as `tools/record_launches.py` leaves it: `launch.json`, `kernel.py`, `tensors.safetensors`.
//!
//! The text comes from elsewhere, so everything is looked at before it is used: numbers have their range, views lie inside of
//! their memory, and memory has as many elements as it is said to have. Fields that are not known here are left alone.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::shape::{Shape, Strides};
use crate::source::files;
use crate::syntax::Constant;
use crate::tensor::{Tensor, stored};

/// The form that is read.
const VERSION: u64 = 1;
/// Axes that a view may have.
const MAX_RANK: usize = 64;
/// Arguments inside of each other.
const MAX_DEPTH: usize = 16;
/// Bytes of one file.
const MAX_BYTES: u64 = 1 << 31;

/// One launch.
#[derive(Debug)]
pub struct Recording {
    pub folder: PathBuf,
    /// The name of the kernel in `kernel.py`.
    pub kernel: String,
    /// Where it came from, `package.module.name`.
    pub function: String,
    pub package: String,
    pub grid: [u32; 3],
    /// Where the launch said it.
    pub num_warps: Option<u32>,
    pub arguments: Vec<(String, Argument)>,
    pub memory: Vec<Range>,
}

/// What one parameter is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    Tensor(Placed),
    /// A tensor descriptor made by the host, with its block.
    Descriptor(Placed, Vec<usize>),
    Tuple(Vec<Argument>),
    /// A function of the file.
    Function(String),
    /// A constant as Python writes it, `tl.float32` among them.
    Python(String),
    Constant(Constant),
    /// An integer that needs 64 bits without sign.
    Unsigned(u64),
}

/// A view of one of the ranges.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    pub range: usize,
    pub dtype: DType,
    pub shape: Shape,
    pub strides: Strides,
    /// Element of the range where index (0, …, 0) lies.
    pub offset: usize,
}

/// Memory that arguments view: what it held before, and after where that is different.
#[derive(Debug)]
pub struct Range {
    pub dtype: DType,
    pub before: Tensor,
    pub after: Option<Tensor>,
}

/// The recordings in a folder: itself, or those at any depth below it, by name.
///
/// # Errors
/// U002 for a folder that cannot be read or holds none.
pub fn find(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable =
        |path: &Path, what: String| Box::new(Diagnostic::new(&codes::FILE_UNREADABLE, what).in_file(path.display().to_string()));
    let mut found = Vec::new();
    let mut left = vec![(folder.to_owned(), 0)];
    while let Some((path, depth)) = left.pop() {
        if path.join("launch.json").is_file() {
            found.push(path);
            continue;
        }
        let entries = std::fs::read_dir(&path).map_err(|error| unreadable(&path, error.to_string()))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&path, error.to_string()))?;
            // A link may lead back to where it is.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && depth < MAX_DEPTH {
                left.push((entry.path(), depth + 1));
            }
        }
    }
    if found.is_empty() {
        let error = unreadable(folder, "there is no launch.json here or below".to_owned());
        return Err(Box::new(error.help("record launches with tools/record_launches.py -o DIR")));
    }
    found.sort();
    Ok(found)
}

/// Reads a folder.
///
/// # Errors
/// U002 for files that cannot be read, E001 for what makes no sense, M009 for element types that are not offered.
pub fn read(folder: &Path) -> Result<Recording> {
    let path = folder.join("launch.json");
    let reader = Reader { file: path.display().to_string() };
    let value: Value = serde_json::from_slice(&bytes(&path)?).map_err(|error| reader.wrong(format!("is no JSON: {error}")))?;
    let launch = reader.object(&value, "the launch")?;
    match launch.get("version").and_then(Value::as_u64) {
        Some(VERSION) => {}
        Some(other) => return Err(reader.wrong(format!("has version {other}; version {VERSION} is read"))),
        None => return Err(reader.wrong("says no `version`")),
    }
    let grid: Vec<u32> = reader
        .list(launch, "grid")?
        .iter()
        .map(|n| n.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|&n| n > 0))
        .collect::<Option<_>>()
        .ok_or_else(|| reader.wrong("`grid` is no list of positive numbers"))?;
    let grid = <[u32; 3]>::try_from(grid).map_err(|_| reader.wrong("`grid` has not three sizes"))?;
    let memory = memory(&reader, launch, folder)?;
    let arguments = reader.object(launch.get("arguments").unwrap_or(&Value::Null), "`arguments`")?;
    let arguments = arguments.iter().map(|(name, value)| Ok((name.clone(), reader.argument(name, value, &memory, 0)?)));
    let text = |field: &str| launch.get(field).and_then(Value::as_str).map(str::to_owned);
    let kernel = text("kernel").ok_or_else(|| reader.wrong("names no `kernel`"))?;
    let warps = launch.get("options").and_then(|options| options.get("num_warps"));
    Ok(Recording {
        folder: folder.to_owned(),
        function: text("function").unwrap_or_else(|| kernel.clone()),
        package: text("package").unwrap_or_default(),
        kernel,
        grid,
        num_warps: warps.and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok()),
        arguments: arguments.collect::<Result<_>>()?,
        memory,
    })
}

fn bytes(path: &Path) -> Result<Vec<u8>> {
    let unreadable = |what: String| Box::new(Diagnostic::new(&codes::FILE_UNREADABLE, what).in_file(path.display().to_string()));
    files::bytes(path, MAX_BYTES).map_err(|error| unreadable(error.to_string()))
}

/// The ranges, each with the bytes that the file of tensors has for it.
fn memory(reader: &Reader, launch: &Map<String, Value>, folder: &Path) -> Result<Vec<Range>> {
    let path = folder.join("tensors.safetensors");
    let tensors = Reader { file: path.display().to_string() };
    let mut held = stored::read(&bytes(&path)?).map_err(|what| tensors.wrong(what))?;
    let mut ranges = Vec::new();
    for (number, described) in reader.list(launch, "storages")?.iter().enumerate() {
        let described = reader.object(described, "a storage")?;
        let dtype = reader.dtype(described)?;
        let elements = described.get("elements").and_then(Value::as_u64);
        let mut take = |which: &str| {
            let name = format!("{number}.{which}");
            let Some(tensor) = held.remove(&name) else { return Ok(None) };
            if tensor.dtype() != dtype {
                return Err(tensors.wrong(format!("`{name}` is {}; launch.json says {dtype}", tensor.dtype())));
            }
            if Some(tensor.len() as u64) != elements {
                return Err(tensors.wrong(format!("`{name}` has {} elements, not as many as launch.json says", tensor.len())));
            }
            Ok(Some(tensor))
        };
        let before = take("before")?.ok_or_else(|| tensors.wrong(format!("there is no `{number}.before`")))?;
        ranges.push(Range { dtype, before, after: take("after")? });
    }
    Ok(ranges)
}

/// Reads fields and says what is wrong with them.
struct Reader {
    file: String,
}

impl Reader {
    fn wrong(&self, what: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(&codes::LAUNCH_INVALID, what).in_file(&self.file).help("docs/replay.md describes the fields"))
    }

    fn object<'v>(&self, value: &'v Value, what: &str) -> Result<&'v Map<String, Value>> {
        value.as_object().ok_or_else(|| self.wrong(format!("{what} is no JSON object")))
    }

    fn list<'v>(&self, of: &'v Map<String, Value>, field: &str) -> Result<&'v [Value]> {
        of.get(field).and_then(Value::as_array).map(Vec::as_slice).ok_or_else(|| self.wrong(format!("`{field}` is no list")))
    }

    fn dtype(&self, of: &Map<String, Value>) -> Result<DType> {
        let name = of.get("dtype").and_then(Value::as_str).ok_or_else(|| self.wrong("no `dtype` is said"))?;
        DType::ALL.into_iter().find(|dtype| dtype.torch_name() == name).ok_or_else(|| {
            let message = format!("elements of type {name} are not offered yet");
            Box::new(Diagnostic::new(&codes::DTYPE_UNSUPPORTED, message).in_file(&self.file))
        })
    }

    fn argument(&self, name: &str, value: &Value, memory: &[Range], depth: usize) -> Result<Argument> {
        let fields = self.object(value, &format!("argument `{name}`"))?;
        let kind = fields.get("kind").and_then(Value::as_str).unwrap_or_default();
        let value = fields.get("value").unwrap_or(&Value::Null);
        let misfit = || self.wrong(format!("argument `{name}`: {value} is no {kind}"));
        Ok(match kind {
            "tensor" => Argument::Tensor(self.view(name, fields, memory)?),
            "descriptor" => {
                let block = self.list(fields, "block")?.iter().map(|n| n.as_u64().and_then(|n| usize::try_from(n).ok()));
                let block: Option<Vec<usize>> = block.collect();
                let block = block.ok_or_else(|| self.wrong(format!("argument `{name}`: `block` is no list of sizes")))?;
                let view = self.view(name, fields, memory)?;
                if block.len() != view.shape.len() {
                    return Err(self.wrong(format!("argument `{name}`: `block` has not the axes of `shape`")));
                }
                Argument::Descriptor(view, block)
            }
            "tuple" => {
                if depth == MAX_DEPTH {
                    return Err(self.wrong(format!("argument `{name}` is a tuple too deep")));
                }
                let items = self.list(fields, "items")?.iter();
                Argument::Tuple(items.map(|item| self.argument(name, item, memory, depth + 1)).collect::<Result<_>>()?)
            }
            "function" => Argument::Function(value.as_str().ok_or_else(misfit)?.to_owned()),
            "python" => Argument::Python(value.as_str().ok_or_else(misfit)?.to_owned()),
            "none" => Argument::Constant(Constant::None),
            "bool" => Argument::Constant(Constant::Bool(value.as_bool().ok_or_else(misfit)?)),
            "str" => Argument::Constant(Constant::Str(value.as_str().ok_or_else(misfit)?.to_owned())),
            "int" => match (value.as_i64(), value.as_u64()) {
                (Some(signed), _) => Argument::Constant(Constant::Int(signed)),
                (None, Some(unsigned)) => Argument::Unsigned(unsigned),
                (None, None) => return Err(misfit()),
            },
            "float" => {
                let number = match value.as_str() {
                    Some("nan") => Some(f64::NAN),
                    Some("inf") => Some(f64::INFINITY),
                    Some("-inf") => Some(f64::NEG_INFINITY),
                    Some(_) => None,
                    None => value.as_f64(),
                };
                Argument::Constant(Constant::Float(number.ok_or_else(misfit)?))
            }
            other => return Err(self.wrong(format!("argument `{name}` is of the unknown kind `{other}`"))),
        })
    }

    fn view(&self, name: &str, fields: &Map<String, Value>, memory: &[Range]) -> Result<Placed> {
        let view = self.object(fields.get("view").unwrap_or(&Value::Null), &format!("the view of `{name}`"))?;
        let wrong = |what: &str| self.wrong(format!("the view of `{name}`: {what}"));
        let range = view.get("storage").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        let range = range.filter(|&n| n < memory.len()).ok_or_else(|| wrong("there is no such `storage`"))?;
        let dtype = self.dtype(view)?;
        if dtype != memory[range].dtype {
            return Err(wrong("its `dtype` is not that of its storage"));
        }
        let shape = self.list(view, "shape")?.iter().map(|n| n.as_u64().and_then(|n| usize::try_from(n).ok()));
        let shape: Shape = shape.collect::<Option<_>>().ok_or_else(|| wrong("`shape` is no list of sizes"))?;
        let strides: Option<Strides> = self.list(view, "strides")?.iter().map(Value::as_i64).collect();
        let strides = strides.ok_or_else(|| wrong("`strides` is no list of integers"))?;
        if shape.len() != strides.len() || shape.len() > MAX_RANK {
            return Err(wrong("`strides` has not the axes of `shape`, or they are too many"));
        }
        let offset = view.get("offset").and_then(Value::as_u64).and_then(|n| i64::try_from(n).ok());
        let offset = offset.ok_or_else(|| wrong("`offset` is no element"))?;
        let held = memory[range].before.len() as i64;
        let inside = reach(&shape, &strides, offset)
            .is_some_and(|(low, high)| if low > high { offset <= held } else { low >= 0 && high < held });
        if !inside {
            return Err(wrong("it leaves its storage"));
        }
        Ok(Placed { range, dtype, shape, strides, offset: offset as usize })
    }
}

/// First and last element of a view; `None` where numbers overflow.
fn reach(shape: &[usize], strides: &[i64], offset: i64) -> Option<(i64, i64)> {
    let (mut low, mut high) = (offset, offset);
    if shape.contains(&0) {
        return Some((0, -1));
    }
    for (&size, &stride) in shape.iter().zip(strides) {
        let far = i64::try_from(size - 1).ok()?.checked_mul(stride)?;
        low = low.checked_add(far.min(0))?;
        high = high.checked_add(far.max(0))?;
    }
    Some((low, high))
}
