//! The evaluator of host code over concrete values: entries, and the dispatch of expressions.
//!
//! A plain tree walk. Statements are in [`super::statement`], names in [`super::names`], operators in
//! [`super::operators`], calls in [`super::call`]. A budget of bytes and a size limit of tuples stand
//! against code that takes all memory.

use super::HostArg;
use super::frame::{Frame, fits};
use super::modules::{Global, HostModule, Modules};
use super::prepare::PrepareStep;
use super::statement::STATEMENTS;
use super::trace::{HostTensor, StorageData, StorageId, Trace};
use super::value::Value;
use crate::diag::{self, Diagnostic, codes};
use crate::graph::TensorType;
use crate::shape;
use crate::source::Span;
use crate::syntax::ast::{BoolOp, Expr, ExprKind, FunctionDef};

/// Bytes that one entry may allocate, and `prepare` compute, as the emulator holds them: more than any
/// activation memory of one device that we plan for, and less than what makes an allocator give up.
const BYTES: u64 = 64 << 30;

/// Runs one entry over a set of files.
pub(super) struct Evaluator<'m> {
    pub modules: &'m Modules,
    pub trace: Trace,
    /// What `prepare` has computed so far; `None` outside `prepare`.
    pub steps: Option<Vec<PrepareStep>>,
    /// Functions being run, outermost first.
    pub stack: Vec<(String, String)>,
    /// Calls of functions that are being run, outermost first.
    pub calls: Vec<Span>,
    /// Statements that are left.
    pub budget: u64,
    /// Bytes that are left of [`BYTES`].
    bytes: u64,
}

impl<'m> Evaluator<'m> {
    pub fn new(modules: &'m Modules) -> Evaluator<'m> {
        Evaluator {
            modules,
            trace: Trace::default(),
            steps: None,
            stack: Vec::new(),
            calls: Vec::new(),
            budget: STATEMENTS,
            bytes: BYTES,
        }
    }

    /// Runs `module.entry(*args)` to its end.
    pub fn run(mut self, module: &str, entry: &str, args: &[HostArg]) -> diag::Result<Trace> {
        let (module, def) = self.entry(module, entry)?;
        let values = self.arguments(def, args);
        let end = def.name_span;
        let returned = self.call_function(module, def, values, Vec::new())?;
        let frame = Frame::new(module, def);
        self.trace.returned = match returned {
            Value::None => Vec::new(),
            Value::Tensor(tensor) => vec![tensor],
            Value::Tuple(items) => items
                .into_iter()
                .map(|item| match item {
                    Value::Tensor(tensor) => Ok(tensor),
                    other => Err(frame.unsupported(end, &format!("returning {} in a tuple from an entry", other.kind()))),
                })
                .collect::<Result<_, _>>()?,
            other => return Err(frame.unsupported(end, &format!("returning {} from an entry", other.kind()))),
        };
        Ok(self.trace)
    }

    /// The function that an entry names.
    pub fn entry(&self, module: &str, entry: &str) -> diag::Result<(&'m HostModule, &'m FunctionDef)> {
        let host = self.modules.get(module);
        let found = host.and_then(|m| {
            let (class, method) = entry.split_once('.').map_or((entry, None), |(class, method)| (class, Some(method)));
            match (m.globals.get(class)?, method) {
                (Global::Function(def), None) => Some((m, &**def)),
                (Global::Class(methods), Some(method)) => Some((m, &**methods.get(method)?)),
                _ => None,
            }
        });
        found.ok_or_else(|| {
            let file = host.map_or(module, |m| m.ast.file.name());
            Box::new(Diagnostic::new(&codes::SUITE_INVALID, format!("no function {entry}")).in_file(file))
        })
    }

    /// Values of the entry's arguments; each tensor gets a storage.
    fn arguments(&mut self, def: &FunctionDef, args: &[HostArg]) -> Vec<Value<'m>> {
        let name = |i: usize| def.params.get(i).map_or_else(|| format!("argument {i}"), |p| p.name.clone());
        args.iter().enumerate().map(|(i, arg)| self.argument(arg, name(i))).collect()
    }

    pub fn argument(&mut self, arg: &HostArg, name: String) -> Value<'m> {
        match arg {
            HostArg::Tensor(ty) => self.storage_of(ty, name),
            HostArg::Int(v) => Value::Int(*v),
            HostArg::Float(v) => Value::Float(*v),
            HostArg::Bool(v) => Value::Bool(*v),
            HostArg::Str(v) => Value::Str(v.clone()),
            HostArg::None => Value::None,
            HostArg::Tuple(items) => {
                Value::Tuple(items.iter().enumerate().map(|(i, item)| self.argument(item, format!("{name}[{i}]"))).collect())
            }
            HostArg::Mapping(items) => Value::Mapping(
                items.iter().map(|(key, ty)| (key.clone(), self.storage_of(ty, format!("{name}[\"{key}\"]")))).collect(),
            ),
            HostArg::Object(items) => {
                Value::Object(items.iter().map(|(key, arg)| (key.clone(), self.argument(arg, format!("{name}.{key}")))).collect())
            }
        }
    }

    /// A tensor argument: a storage of its own, or in `prepare` a step that reads the weight.
    fn storage_of(&mut self, ty: &TensorType, name: String) -> Value<'m> {
        Value::Tensor(self.new_storage(ty, name))
    }

    /// A contiguous tensor on a new storage.
    pub fn new_storage(&mut self, ty: &TensorType, name: String) -> HostTensor {
        let storage = StorageId(self.trace.storages.len());
        let len = shape::numel(&ty.shape).unwrap_or(0);
        self.trace.storages.push(StorageData { name, dtype: ty.dtype, len });
        let strides = shape::contiguous_strides(&ty.shape);
        HostTensor { storage, dtype: ty.dtype, shape: ty.shape.clone(), strides, offset: 0 }
    }

    /// Takes a tensor's bytes from the budget; the number of its elements.
    pub fn charge(&mut self, frame: &Frame<'m>, ty: &TensorType, span: Span) -> diag::Result<usize> {
        let len = shape::numel(&ty.shape);
        let bytes = len.and_then(|len| (len as u64).checked_mul(ty.dtype.carrier().size() as u64));
        match (len, bytes.and_then(|bytes| self.bytes.checked_sub(bytes))) {
            (Some(len), Some(left)) => {
                self.bytes = left;
                Ok(len)
            }
            _ => {
                let what = format!("{} of {} is beyond the {} GiB", ty.dtype, shape::display(&ty.shape), BYTES >> 30);
                Err(frame.error(&codes::MEMORY, span, format!("{what} that host code may allocate in all")))
            }
        }
    }

    /// A tuple, unless it is too long.
    pub fn tuple(&self, frame: &Frame<'m>, items: Vec<Value<'m>>, span: Span) -> diag::Result<Value<'m>> {
        fits(frame, items.iter().map(Value::items).sum(), span)?;
        Ok(Value::Tuple(items))
    }

    pub fn truth(&self, frame: &Frame<'m>, span: Span, value: &Value<'m>) -> diag::Result<bool> {
        value.truth().ok_or_else(|| frame.unsupported(span, &format!("the truth of {}", value.kind())))
    }

    /// The value of an expression.
    pub fn expr(&mut self, frame: &mut Frame<'m>, e: &'m Expr) -> diag::Result<Value<'m>> {
        let refused = match &e.kind {
            ExprKind::Name(name) => return self.name(frame, name, e.span),
            ExprKind::Int(v) => return Ok(Value::Int(*v)),
            ExprKind::Float(v) => return Ok(Value::Float(*v)),
            ExprKind::Str(s) => return Ok(Value::Str(s.clone())),
            ExprKind::Bool(v) => return Ok(Value::Bool(*v)),
            ExprKind::None => return Ok(Value::None),
            ExprKind::Tuple(items) => {
                let items = self.spread(frame, items)?;
                return self.tuple(frame, items, e.span);
            }
            // Of constants: what is prepared is the only place for lists.
            ExprKind::List(items) if self.steps.is_some() => {
                let items = self.spread(frame, items)?;
                return self.tuple(frame, items, e.span);
            }
            ExprKind::Unary(op, inner) => return self.unary(frame, *op, inner, e.span),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expr(frame, a)?, self.expr(frame, b)?);
                return self.binary(frame, *op, a, b, e.span);
            }
            ExprKind::Compare { left, rest } => return self.compare(frame, left, rest),
            ExprKind::Logical(op, operands) => {
                let mut value = Value::None;
                for operand in operands {
                    value = self.expr(frame, operand)?;
                    if self.truth(frame, operand.span, &value)? == matches!(op, BoolOp::Or) {
                        break;
                    }
                }
                return Ok(value);
            }
            ExprKind::Conditional { test, then, other } => {
                let value = self.expr(frame, test)?;
                let branch = if self.truth(frame, test.span, &value)? { then } else { other };
                return self.expr(frame, branch);
            }
            ExprKind::Call { func, args, keywords } => return self.call(frame, e.span, func, args, keywords),
            ExprKind::Attribute { value, name } => {
                let value = self.expr(frame, value)?;
                return self.attribute(frame, value, name, e.span);
            }
            ExprKind::Subscript { value, index } => {
                let value = self.expr(frame, value)?;
                return self.subscript(frame, value, index, e.span);
            }
            ExprKind::BigInt(_) => "an integer beyond 64 bits",
            ExprKind::Ellipsis => "…",
            ExprKind::FString(_) => "an f-string outside a raise",
            ExprKind::List(_) => "a list",
            ExprKind::Dict(_) => "a dictionary",
            ExprKind::Slice { .. } => "slicing",
            ExprKind::Starred(_) => "a starred expression here",
            ExprKind::Lambda { params, body } => return self.lambda(frame, params, body),
            ExprKind::Other(name) => name,
        };
        Err(frame.unsupported(e.span, refused))
    }

    /// Values of a list of expressions, with `*tuple` spread.
    pub fn spread(&mut self, frame: &mut Frame<'m>, items: &'m [Expr]) -> diag::Result<Vec<Value<'m>>> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            match &item.kind {
                ExprKind::Starred(inner) => match self.expr(frame, inner)? {
                    Value::Tuple(inner) => {
                        fits(frame, values.len() + inner.len(), item.span)?;
                        values.extend(inner);
                    }
                    other => return Err(frame.unsupported(item.span, &format!("spreading {}", other.kind()))),
                },
                _ => values.push(self.expr(frame, item)?),
            }
        }
        Ok(values)
    }

    /// dtype and shape of a tensor value.
    pub fn tensor_type(&self, value: &Value<'m>) -> TensorType {
        match value {
            Value::Tensor(t) => TensorType { dtype: t.dtype, shape: t.shape.clone() },
            Value::Prepared(step) => {
                self.steps.as_ref().map(|steps| steps[*step].ty.clone()).expect("invariant: weights exist in prepare")
            }
            _ => unreachable!("invariant: asked of tensors only"),
        }
    }
}
