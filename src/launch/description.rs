//! A launch description as it is written: a mapping of YAML, from a file or from `# run:` comments. Nothing is evaluated
//! here; [`super::resolve`] does that.
//!
//! ```yaml
//! name: a tail            # optional
//! kernel: add             # which function; optional where it is clear
//! args:                   # by parameter
//!   x_ptr: f32[M, 4] normal
//!   y_ptr: {dtype: f32, shape: "(M, 4)", strides: "(8, 1)", offset: 3, fill: ints(0, 9)}
//!   w_ptr: weights.safetensors:layer.weight
//!   M: 100
//!   stride: x_ptr.stride(0)
//!   BLOCK: 64
//! grid: cdiv(M, BLOCK)
//! expect:
//!   y_ptr: x_ptr * 2
//! tolerance: 1e-5         # optional: |y − r| ≤ t + t·|r|
//! ```
//!
//! A file may hold one mapping, or several under `runs:`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::signature;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{Expr, ExprKind};
use crate::syntax::parse_expression_at;
use crate::syntax::yaml::{Yaml, YamlKind};

/// An expression and the text that its spans point into.
#[derive(Clone, Debug)]
pub struct Expression {
    pub file: Arc<SourceFile>,
    pub expr: Expr,
}

/// One run of one kernel.
#[derive(Clone, Debug)]
pub struct Description {
    pub name: String,
    pub kernel: Option<String>,
    pub args: Vec<Given>,
    /// One expression an axis, or one that gives a tuple.
    pub grid: Vec<Expression>,
    pub expect: Vec<Expect>,
    pub file: Arc<SourceFile>,
    pub span: Span,
    /// Where relative paths start.
    pub folder: PathBuf,
}

/// What is said of one parameter.
#[derive(Clone, Debug)]
pub struct Given {
    pub name: String,
    /// Where it is said.
    pub file: Arc<SourceFile>,
    pub span: Span,
    pub argument: Argument,
}

#[derive(Clone, Debug)]
pub enum Argument {
    /// A scalar, a constexpr, or the name of another tensor, which is handed over twice.
    Value(Expression),
    Tensor(Box<TensorSpec>),
}

#[derive(Clone, Debug, Default)]
pub struct TensorSpec {
    pub dtype: Option<DType>,
    /// An integer or a tuple of integers.
    pub shape: Option<Expression>,
    pub strides: Option<Expression>,
    /// Elements before the first.
    pub offset: Option<Expression>,
    pub content: Content,
}

#[derive(Clone, Debug, Default)]
pub enum Content {
    /// Nothing is written of a tensor that is only stored to; floats are normal, integers small.
    #[default]
    Unsaid,
    Fill(Expression),
    File(TensorFile),
    /// Another view of another parameter's memory.
    Of(String),
}

/// A `.npy` file, or a tensor of a `.safetensors` file.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorFile {
    pub path: PathBuf,
    pub tensor: Option<String>,
}

/// What an argument must hold in the end.
#[derive(Clone, Debug)]
pub struct Expect {
    pub name: String,
    pub file: Arc<SourceFile>,
    pub span: Span,
    pub value: Expected,
    /// t of |y − r| ≤ t + t·|r|; derived from the formula when `None`.
    pub tolerance: Option<f64>,
}

#[derive(Clone, Debug)]
pub enum Expected {
    Formula(Expression),
    File(TensorFile),
}

/// E001 at a place.
pub fn wrong(file: &Arc<SourceFile>, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&codes::LAUNCH_INVALID, message).at(file, span))
}

impl Expression {
    /// The error that this expression has no fitting value.
    pub fn wrong(&self, message: impl Into<String>) -> Box<Diagnostic> {
        wrong(&self.file, self.expr.span, message)
    }

    fn of(yaml: &Yaml) -> Result<Expression> {
        if yaml.is_null() {
            return Ok(Expression { file: yaml.file.clone(), expr: Expr { kind: ExprKind::None, span: yaml.span } });
        }
        if let YamlKind::List(items) = &yaml.kind {
            // YAML splits `[cdiv(n, 64), 1]` at every comma, Python does not.
            let raw = yaml.file.slice(yaml.span);
            if raw.starts_with('[') && raw.ends_with(']') {
                return Ok(Expression { file: yaml.file.clone(), expr: parse_expression_at(&yaml.file, yaml.span)? });
            }
            let items = items.iter().map(|item| Ok(Expression::of(item)?.expr)).collect::<Result<Vec<Expr>>>()?;
            return Ok(Expression { file: yaml.file.clone(), expr: Expr { kind: ExprKind::Tuple(items), span: yaml.span } });
        }
        let (file, expr) = yaml.as_expression()?;
        Ok(Expression { file, expr })
    }

    /// A text of its own.
    pub fn parse(name: &str, text: &str) -> Result<Expression> {
        let file = SourceFile::new(name, text);
        let expr = parse_expression_at(&file, Span::new(0, text.len()))?;
        Ok(Expression { file, expr })
    }
}

/// Every run of a document.
pub fn read(document: &Yaml, folder: &Path) -> Result<Vec<Description>> {
    match document.get("runs")? {
        None => Ok(vec![one(document, folder)?]),
        Some(runs) => {
            document.only_keys(&["runs"])?;
            runs.as_list()?.iter().map(|run| one(run, folder)).collect()
        }
    }
}

/// One run.
pub fn one(yaml: &Yaml, folder: &Path) -> Result<Description> {
    yaml.only_keys(&["name", "kernel", "args", "grid", "expect", "tolerance"])?;
    let text = |key: &str| yaml.get(key)?.map(Yaml::as_str).transpose();
    let tolerance = yaml.get("tolerance")?.map(positive).transpose()?;
    let mut args = Vec::new();
    if let Some(given) = yaml.get("args")? {
        for entry in given.as_map()? {
            let argument = argument(&entry.value, folder)?;
            args.push(Given { name: entry.key.clone(), file: yaml.file.clone(), span: entry.key_span, argument });
        }
    }
    let grid = match yaml.get("grid")? {
        None => Vec::new(),
        Some(grid) => vec![Expression::of(grid)?],
    };
    let mut expect = Vec::new();
    if let Some(given) = yaml.get("expect")? {
        for entry in given.as_map()? {
            let (value, own) = match &entry.value.kind {
                YamlKind::Map(_) => {
                    entry.value.only_keys(&["value", "tolerance"])?;
                    let own = entry.value.get("tolerance")?.map(positive).transpose()?;
                    (entry.value.require("value")?, own)
                }
                _ => (&entry.value, None),
            };
            let name = entry.key.clone();
            let value = expected(value, folder)?;
            expect.push(Expect { name, file: yaml.file.clone(), span: entry.key_span, value, tolerance: own.or(tolerance) });
        }
    }
    Ok(Description {
        name: text("name")?.unwrap_or_default().to_owned(),
        kernel: text("kernel")?.map(str::to_owned),
        args,
        grid,
        expect,
        file: yaml.file.clone(),
        span: yaml.span,
        folder: folder.to_owned(),
    })
}

fn positive(yaml: &Yaml) -> Result<f64> {
    // YAML reads `1e-5` as a string.
    let number = match &yaml.kind {
        YamlKind::Str(text) => text.parse::<f64>().ok(),
        _ => yaml.as_float().ok(),
    };
    number.filter(|t| t.is_finite() && *t >= 0.0).ok_or_else(|| yaml.error("a tolerance is a number that is not negative"))
}

fn expected(yaml: &Yaml, folder: &Path) -> Result<Expected> {
    if let YamlKind::Str(text) = &yaml.kind
        && let Some(file) = tensor_file(text, folder)
    {
        return Ok(Expected::File(file));
    }
    Ok(Expected::Formula(Expression::of(yaml)?))
}

/// `x.npy`, `weights.safetensors:name`.
pub fn tensor_file(text: &str, folder: &Path) -> Option<TensorFile> {
    if text.ends_with(".npy") {
        return Some(TensorFile { path: folder.join(text), tensor: None });
    }
    let at = text.find(".safetensors")? + ".safetensors".len();
    let tensor = match text.get(at..)? {
        "" => None,
        rest => Some(rest.strip_prefix(':')?.to_owned()),
    };
    Some(TensorFile { path: folder.join(&text[..at]), tensor })
}

fn argument(yaml: &Yaml, folder: &Path) -> Result<Argument> {
    match &yaml.kind {
        YamlKind::Map(_) => Ok(Argument::Tensor(Box::new(long(yaml, folder)?))),
        YamlKind::Str(text) => {
            let raw = yaml.file.slice(yaml.span);
            let inset = usize::from(raw.starts_with(['"', '\'']));
            let start = yaml.span.start as usize + inset;
            if raw.get(inset..inset + text.len()) == Some(text) {
                return argument_at(&yaml.file, Span::new(start, start + text.len()), folder);
            }
            // The string is folded or has escapes: it gets a text of its own.
            let place = yaml.file.position(yaml.span.start);
            let file = SourceFile::new(format!("{}:{}", yaml.file.name(), place.line), text);
            argument_at(&file, Span::new(0, text.len()), folder)
        }
        YamlKind::Null | YamlKind::Bool(_) | YamlKind::Int(_) | YamlKind::Float(_) | YamlKind::List(_) => {
            Ok(Argument::Value(Expression::of(yaml)?))
        }
    }
}

/// An argument in its short form: a value, a file, or `dtype[sizes] fill`.
pub fn argument_at(file: &Arc<SourceFile>, span: Span, folder: &Path) -> Result<Argument> {
    let text = file.slice(span);
    if let Some(found) = tensor_file(text.trim(), folder) {
        return Ok(Argument::Tensor(Box::new(TensorSpec { content: Content::File(found), ..TensorSpec::default() })));
    }
    let word: usize = text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let dtype = signature::dtype(&text[..word]).filter(|_| text[word..].starts_with('['));
    let at = |from: usize, to: usize| Span::new(span.start as usize + from, span.start as usize + to);
    let expression = |from: usize, to: usize| -> Result<Expression> {
        Ok(Expression { file: file.clone(), expr: parse_expression_at(file, at(from, to))? })
    };
    let Some(dtype) = dtype else { return Ok(Argument::Value(expression(0, text.len())?)) };
    let Some(close) = closing(&text[word..]).map(|i| word + i) else {
        return Err(wrong(file, span, "the sizes of a tensor end with `]`"));
    };
    let sizes = &text[word + 1..close];
    let shape = if sizes.trim().is_empty() {
        Expression { file: file.clone(), expr: Expr { kind: ExprKind::Tuple(Vec::new()), span: at(word, close + 1) } }
    } else {
        expression(word + 1, close)?
    };
    let rest = text[close + 1..].trim();
    let content = if rest.is_empty() {
        Content::Unsaid
    } else if let Some(found) = tensor_file(rest, folder) {
        Content::File(found)
    } else {
        let from = close + 1 + text[close + 1..].len() - text[close + 1..].trim_start().len();
        Content::Fill(expression(from, from + rest.len())?)
    };
    Ok(Argument::Tensor(Box::new(TensorSpec { dtype: Some(dtype), shape: Some(shape), strides: None, offset: None, content })))
}

/// The bracket that closes the one at the start.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return (c == ']').then_some(at);
        }
    }
    None
}

/// A tensor as a mapping.
fn long(yaml: &Yaml, folder: &Path) -> Result<TensorSpec> {
    yaml.only_keys(&["dtype", "shape", "strides", "offset", "fill", "file", "of"])?;
    let expression = |key: &str| yaml.get(key)?.map(Expression::of).transpose();
    let dtype = match yaml.get("dtype")? {
        None => None,
        Some(name) => {
            let found = signature::dtype(name.as_str()?);
            Some(found.ok_or_else(|| wrong(&yaml.file, name.span, "this is no element type: write f32, bf16, i64, …"))?)
        }
    };
    let contents = ["fill", "file", "of"].map(|key| yaml.get(key));
    let content = match contents {
        [Ok(Some(fill)), Ok(None), Ok(None)] => Content::Fill(Expression::of(fill)?),
        [Ok(None), Ok(Some(file)), Ok(None)] => {
            let found = tensor_file(file.as_str()?, folder);
            Content::File(found.ok_or_else(|| wrong(&yaml.file, file.span, "name a .npy or .safetensors file"))?)
        }
        [Ok(None), Ok(None), Ok(Some(of))] => Content::Of(of.as_str()?.to_owned()),
        [Ok(None), Ok(None), Ok(None)] => Content::Unsaid,
        _ => return Err(wrong(&yaml.file, yaml.span, "a tensor has one of `fill`, `file` and `of`")),
    };
    let (shape, strides, offset) = (expression("shape")?, expression("strides")?, expression("offset")?);
    Ok(TensorSpec { dtype, shape, strides, offset, content })
}
