//! From a description to concrete arguments: expressions are evaluated, shapes and strides become numbers.
//!
//! Arguments may be said in terms of each other (`f32[M, K]`, `x_ptr.stride(0)`), in any order: each round evaluates what
//! it can, until nothing is left or nothing goes on. Contents come later ([`super::fill`]), when it is known what the kernel
//! reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::description::{Argument, Content, Description, Expression, Given, TensorFile, TensorSpec, wrong};
use super::meta::without_meta;
use super::{files, signature};
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::kernel::ArgSpec;
use crate::shape::{self, Shape, Strides};
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{FunctionDef, ParamKind};
use crate::syntax::constant::ConstantError;
use crate::syntax::eval::{self, Environment};
use crate::syntax::{Constant, ast};
use crate::tensor::Tensor;

/// Bytes that all tensors of a run may take, as the emulator holds them.
pub const TENSOR_BYTES: usize = 2 << 30;

/// A tensor argument: a view of a buffer.
#[derive(Clone, Debug)]
pub struct Operand {
    pub dtype: DType,
    pub shape: Shape,
    pub strides: Strides,
    /// Element of the buffer that index (0, …, 0) is.
    pub offset: usize,
    /// Into [`Resolved::buffers`].
    pub buffer: usize,
}

/// Memory that one or more arguments view.
#[derive(Clone, Debug)]
pub struct BufferSpec {
    /// The parameter that it was made for.
    pub name: String,
    pub dtype: DType,
    /// In elements: as far as any view reaches.
    pub len: usize,
    pub content: Content,
    /// A file's tensor, when the content is one.
    pub given: Option<Arc<Tensor>>,
}

#[derive(Clone, Debug)]
pub enum Value {
    Tensor(Operand),
    Constant(Constant),
    /// A constexpr that is no number or text: an element type, a function of the file.
    Other(ArgSpec),
}

impl Value {
    /// A constexpr that a configuration or a heuristic gives.
    pub fn of(spec: ArgSpec) -> Value {
        match spec {
            ArgSpec::Constexpr(constant) => Value::Constant(constant),
            other => Value::Other(other),
        }
    }
}

/// Arguments in the order of the parameters, and the grid.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    pub args: Vec<(String, Value)>,
    pub buffers: Vec<BufferSpec>,
    pub grid: [u32; 3],
    /// Every name of the description, parameters and others.
    pub scope: Scope,
}

impl Resolved {
    pub fn operand(&self, name: &str) -> Option<&Operand> {
        self.args.iter().find_map(|(known, value)| match value {
            Value::Tensor(operand) if known == name => Some(operand),
            Value::Tensor(_) | Value::Constant(_) | Value::Other(_) => None,
        })
    }

    /// What is known of each parameter at compile time. An integer is specialised as Triton does, unless its name is among
    /// `plain` (`do_not_specialize`).
    pub fn specs(&self, constexprs: &[String], plain: &[String]) -> Vec<(String, ArgSpec)> {
        let spec = |name: &String, value: &Value| match value {
            Value::Tensor(operand) => ArgSpec::Pointer(operand.dtype),
            Value::Other(spec) => spec.clone(),
            Value::Constant(value) if constexprs.contains(name) => ArgSpec::Constexpr(value.clone()),
            Value::Constant(Constant::Int(1)) if plain.contains(name) => ArgSpec::Int { bits: 32 },
            Value::Constant(Constant::Int(value)) => ArgSpec::of_int(*value),
            Value::Constant(Constant::Float(_)) => ArgSpec::Float,
            Value::Constant(Constant::Bool(_)) => ArgSpec::Bool,
            Value::Constant(other) => ArgSpec::Constexpr(other.clone()),
        };
        self.args.iter().map(|(name, value)| (name.clone(), spec(name, value))).collect()
    }
}

/// What names mean in expressions of a description.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    values: BTreeMap<String, Value>,
}

impl Scope {
    pub fn of(values: impl IntoIterator<Item = (String, Value)>) -> Scope {
        Scope { values: values.into_iter().collect() }
    }

    pub fn operand(&self, name: &str) -> Option<&Operand> {
        match self.values.get(name)? {
            Value::Tensor(operand) => Some(operand),
            Value::Constant(_) | Value::Other(_) => None,
        }
    }

    pub fn constant(&self, name: &str) -> Option<&Constant> {
        match self.values.get(name)? {
            Value::Constant(constant) => Some(constant),
            Value::Tensor(_) | Value::Other(_) => None,
        }
    }

    /// Every name with what it stands for.
    pub fn values(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.values.iter()
    }

    pub fn evaluate(&self, expression: &Expression) -> Result<Constant> {
        eval::evaluate(&expression.file, &without_meta(&expression.expr), self)
    }
}

fn ints(items: impl Iterator<Item = i64>) -> Constant {
    Constant::Tuple(items.map(Constant::Int).collect())
}

impl Environment for Scope {
    fn name(&self, name: &str) -> Option<Constant> {
        self.constant(name).cloned()
    }

    fn attribute(&self, dotted: &str) -> Option<Constant> {
        let (name, attribute) = dotted.rsplit_once('.')?;
        let operand = self.operand(name)?;
        match attribute {
            "shape" => Some(ints(operand.shape.iter().map(|&n| n as i64))),
            "ndim" => Some(Constant::Int(operand.shape.len() as i64)),
            _ => None,
        }
    }

    fn call(&self, function: &str, args: &[Constant]) -> Option<std::result::Result<Constant, ConstantError>> {
        let (name, method) = function.rsplit_once('.')?;
        let operand = self.operand(name)?;
        let sizes = || operand.shape.iter().map(|&n| n as i64);
        let all: Vec<i64> = match method {
            "stride" => operand.strides.to_vec(),
            "size" => sizes().collect(),
            "numel" => return Some(Ok(Constant::Int(sizes().product()))),
            "dim" => return Some(Ok(Constant::Int(operand.shape.len() as i64))),
            "element_size" => return Some(Ok(Constant::Int(operand.dtype.size() as i64))),
            _ => return None,
        };
        Some(match args {
            [] => Ok(ints(all.into_iter())),
            [axis] => {
                let at = axis.as_int().map(|a| if a < 0 { a + all.len() as i64 } else { a });
                let found = at.and_then(|a| usize::try_from(a).ok()).and_then(|a| all.get(a).copied());
                found.map(Constant::Int).ok_or_else(|| ConstantError::Value(format!("{name} has no axis {axis}")))
            }
            _ => Err(ConstantError::Value(format!("{function} takes one axis"))),
        })
    }

    fn known(&self) -> Vec<String> {
        self.values.keys().cloned().collect()
    }
}

/// What comes from elsewhere than the description.
pub struct Besides<'a> {
    /// Goes before the description: constexprs of a chosen configuration.
    pub config: &'a [(String, ArgSpec)],
    /// Constexprs that depend on the arguments (heuristics); the description goes before them.
    pub computed: &'a mut dyn FnMut(&Scope) -> Result<Vec<(String, ArgSpec)>>,
    /// Functions of the file, which a constexpr may be.
    pub functions: &'a [&'a str],
}

/// Evaluates a description for a kernel.
///
/// # Errors
/// E001 for what makes no sense, E002 for parameters that nothing is said of, S002 for expressions that fail, L002 for
/// tensors beyond [`TENSOR_BYTES`].
pub fn resolve(function: &FunctionDef, description: &Description, besides: Besides) -> Result<Resolved> {
    let Besides { config, computed, functions } = besides;
    let mut resolver = Resolver { scope: Scope::default(), buffers: Vec::new(), functions };
    for (name, spec) in config {
        resolver.scope.values.insert(name.clone(), Value::of(spec.clone()));
    }
    for (at, given) in description.args.iter().enumerate() {
        if description.args[..at].iter().any(|other| other.name == given.name) {
            return Err(wrong(&given.file, given.span, format!("`{}` is given twice", given.name)));
        }
        // Names that are no parameters are fine: sizes that others are said in.
    }
    let mut open: Vec<&Given> =
        description.args.iter().filter(|given| !config.iter().any(|(name, _)| *name == given.name)).collect();
    loop {
        let before = open.len();
        let mut first = None;
        open.retain(|given| match resolver.given(given) {
            Ok(()) => false,
            Err(error) => {
                first.get_or_insert(error);
                true
            }
        });
        match first {
            None => break,
            Some(error) if open.len() == before => return Err(error),
            Some(_) => {}
        }
    }
    for (name, spec) in computed(&resolver.scope)? {
        resolver.scope.values.entry(name).or_insert_with(|| Value::of(spec));
    }
    let missing: Vec<&ast::Param> = function
        .params
        .iter()
        .filter(|p| matches!(p.kind, ParamKind::Positional | ParamKind::KeywordOnly))
        .filter(|p| p.default.is_none() && !resolver.scope.values.contains_key(&p.name))
        .collect();
    if !missing.is_empty() {
        let names: Vec<String> = missing.iter().map(|p| format!("`{}`", p.name)).collect();
        let message = format!("the run of `{}` says nothing of {}", function.name, names.join(", "));
        return Err(Box::new(Diagnostic::new(&codes::LAUNCH_INCOMPLETE, message).at(&description.file, description.span)));
    }
    let args: Vec<(String, Value)> = function
        .params
        .iter()
        .filter_map(|p| resolver.scope.values.get(&p.name).map(|value| (p.name.clone(), value.clone())))
        .collect();
    let bytes = resolver.buffers.iter().try_fold(0usize, |sum, b| sum.checked_add(b.len.checked_mul(b.dtype.carrier().size())?));
    if bytes.is_none_or(|bytes| bytes > TENSOR_BYTES) {
        return Err(beyond_memory(&description.file, description.span));
    }
    let grid = grid(description, &resolver.scope)?;
    Ok(Resolved { args, buffers: resolver.buffers, grid, scope: resolver.scope })
}

fn beyond_memory(file: &Arc<SourceFile>, span: Span) -> Box<Diagnostic> {
    let message = format!("the tensors of this run take more than {} GiB", TENSOR_BYTES >> 30);
    let error = Diagnostic::new(&codes::MEMORY, message).at(file, span);
    Box::new(error.help("describe smaller tensors: a fault seldom needs large ones"))
}

struct Resolver<'a> {
    scope: Scope,
    buffers: Vec<BufferSpec>,
    functions: &'a [&'a str],
}

impl Resolver<'_> {
    fn given(&mut self, given: &Given) -> Result<()> {
        let value = match &given.argument {
            Argument::Value(expression) => match expression.expr.as_name().and_then(|name| self.scope.operand(name)) {
                Some(operand) => Value::Tensor(operand.clone()),
                None => match self.other(&expression.expr) {
                    Some(spec) => Value::Other(spec),
                    None => Value::Constant(self.scope.evaluate(expression)?),
                },
            },
            Argument::Tensor(spec) => Value::Tensor(self.tensor(given, spec)?),
        };
        self.scope.values.insert(given.name.clone(), value);
        Ok(())
    }

    /// `tl.float16`, or a function's name.
    fn other(&self, expr: &ast::Expr) -> Option<ArgSpec> {
        if let Some(name) = expr.as_name() {
            return self.functions.contains(&name).then(|| ArgSpec::Function(name.to_owned()));
        }
        let dotted = expr.as_dotted()?;
        let (module, name) = dotted.rsplit_once('.')?;
        let known = matches!(module, "tl" | "torch" | "triton.language");
        signature::dtype(name).filter(|_| known).map(ArgSpec::Type)
    }

    fn tensor(&mut self, given: &Given, spec: &TensorSpec) -> Result<Operand> {
        let refuse = |message: String| wrong(&given.file, given.span, message);
        let mut file_tensor = None;
        let mut own: Option<Operand> = None;
        match &spec.content {
            Content::File(file) => file_tensor = Some(load(file, spec.dtype).map_err(&refuse)?),
            Content::Of(name) => {
                let of = self.scope.operand(name);
                own = Some(of.ok_or_else(|| refuse(format!("there is no tensor `{name}`")))?.clone());
            }
            Content::Unsaid | Content::Fill(_) => {}
        }
        let dtype = spec.dtype.or(file_tensor.as_ref().map(Tensor::dtype)).or(own.as_ref().map(|o| o.dtype));
        let dtype = dtype.ok_or_else(|| refuse(format!("`{}` has no dtype", given.name)))?;
        let shape: Shape = match (&spec.shape, &file_tensor, &own) {
            (Some(expression), _, _) => {
                let sizes = self.ints(expression)?;
                let sizes: Option<Shape> = sizes.iter().map(|&n| usize::try_from(n).ok()).collect();
                sizes.ok_or_else(|| expression.wrong("a size is negative"))?
            }
            (None, Some(tensor), _) => Shape::from_slice(tensor.shape()),
            (None, None, Some(own)) => own.shape.clone(),
            (None, None, None) => return Err(refuse(format!("`{}` has no shape", given.name))),
        };
        let too_large = || refuse(format!("`{}` is too large", given.name));
        let numel = shape::numel(&shape).ok_or_else(too_large)?;
        // Of a view that repeats elements (stride 0) memory is small, and what is read out of it is not.
        if numel.checked_mul(dtype.carrier().size()).is_none_or(|bytes| bytes > TENSOR_BYTES) {
            return Err(beyond_memory(&given.file, given.span));
        }
        if let Some(tensor) = &file_tensor
            && tensor.len() != numel
        {
            let (found, said) = (shape::display(tensor.shape()), shape::display(&shape));
            return Err(refuse(format!("the file holds {found} elements, and `{}` is said to be {said}", given.name)));
        }
        let strides: Strides = match &spec.strides {
            Some(expression) => Strides::from_vec(self.ints(expression)?),
            None => shape::contiguous_strides(&shape),
        };
        if strides.len() != shape.len() {
            return Err(refuse(format!("`{}` has {} sizes and {} strides", given.name, shape.len(), strides.len())));
        }
        let offset = match &spec.offset {
            Some(expression) => match self.ints(expression)?.as_slice() {
                &[offset] if offset >= 0 => offset,
                _ => return Err(expression.wrong("an offset is one integer that is not negative")),
            },
            None => 0,
        };
        let offset = offset + own.as_ref().map_or(0, |own| own.offset as i64);
        let reach = reach(&shape, &strides, offset).ok_or_else(too_large)?;
        if reach.0 < 0 {
            return Err(refuse(format!("`{}` reaches {} elements below its buffer", given.name, -reach.0)));
        }
        let len = usize::try_from(reach.1 + 1).map_err(|_| too_large())?;
        let buffer = match &own {
            Some(own) => {
                let buffer = &mut self.buffers[own.buffer];
                if buffer.dtype != dtype {
                    return Err(refuse(format!("`{}` views memory of {} as {dtype}", given.name, buffer.dtype)));
                }
                buffer.len = buffer.len.max(len);
                own.buffer
            }
            None => {
                let (name, content) = (given.name.clone(), spec.content.clone());
                self.buffers.push(BufferSpec { name, dtype, len, content, given: file_tensor.map(Arc::new) });
                self.buffers.len() - 1
            }
        };
        Ok(Operand { dtype, shape, strides, offset: offset as usize, buffer })
    }

    fn ints(&self, expression: &Expression) -> Result<Vec<i64>> {
        integers(&self.scope.evaluate(expression)?).ok_or_else(|| expression.wrong("integers are expected here"))
    }
}

fn integers(value: &Constant) -> Option<Vec<i64>> {
    match value {
        Constant::Tuple(items) => items.iter().map(Constant::as_int).collect(),
        other => Some(vec![other.as_int()?]),
    }
}

/// First and last element of a view; one element's worth for an empty one.
fn reach(shape: &[usize], strides: &[i64], offset: i64) -> Option<(i64, i64)> {
    let (mut lo, mut hi) = (offset, offset);
    if shape.contains(&0) {
        return Some((offset, offset - 1));
    }
    for (&size, &stride) in shape.iter().zip(strides) {
        let far = stride.checked_mul(i64::try_from(size).ok()? - 1)?;
        lo = lo.checked_add(far.min(0))?;
        hi = hi.checked_add(far.max(0))?;
    }
    Some((lo, hi))
}

fn load(file: &TensorFile, dtype: Option<DType>) -> std::result::Result<Tensor, String> {
    files::read(&file.path, file.tensor.as_deref(), dtype)
}

fn grid(description: &Description, scope: &Scope) -> Result<[u32; 3]> {
    let Some(first) = description.grid.first() else {
        let error = Diagnostic::new(&codes::LAUNCH_INCOMPLETE, "the run has no grid").at(&description.file, description.span);
        return Err(Box::new(error.help("say how many programs there are: `grid: cdiv(n, BLOCK)`")));
    };
    let mut sizes = Vec::new();
    for expression in &description.grid {
        let value = scope.evaluate(expression)?;
        let Some(more) = integers(&value) else {
            return Err(expression.wrong(format!("a grid is an integer or a tuple of integers, not {value}")));
        };
        sizes.extend(more);
    }
    let sizes: Option<Vec<u32>> = sizes.iter().map(|&n| u32::try_from(n).ok().filter(|n| *n > 0)).collect();
    match sizes.as_deref() {
        Some(sizes @ ([_] | [_, _] | [_, _, _])) => {
            let at = |i: usize| sizes.get(i).copied().unwrap_or(1);
            Ok([at(0), at(1), at(2)])
        }
        _ => Err(first.wrong("a grid has one to three axes, each of at least one program")),
    }
}
