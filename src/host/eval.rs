//! The evaluator: statements and expressions of host code over concrete values.
//!
//! A plain tree walk with Python's scoping: a name assigned anywhere in a function is local to it.
//! Calls are in [`super::call`]. A budget of statements stands against loops that do not end, one of
//! bytes and a size limit of tuples against code that takes all memory.

use std::collections::{BTreeMap, BTreeSet};

use super::HostArg;
use super::modules::{Global, HostModule, Modules, refuse};
use super::prepare::{PrepareOp, PrepareStep};
use super::trace::{HostTensor, StorageData, StorageId, Trace};
use super::value::Value;
use super::view;
use crate::diag::{self, Code, Diagnostic, codes};
use crate::graph::TensorType;
use crate::shape;
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, BoolOp, CompareOp, Expr, ExprKind, FStringPart, FunctionDef, Stmt, StmtKind, UnaryOp};
use crate::syntax::constant::{MAX_TUPLE, binary_symbol, floor_div, floor_mod, unary_symbol};

/// Statements that one entry may execute.
const STATEMENTS: u64 = 4_000_000;

/// Bytes that one entry may allocate, and `prepare` compute, as the emulator holds them: more than any
/// activation memory of one device that we plan for, and less than what makes an allocator give up.
const BYTES: u64 = 64 << 30;

/// Built-in functions that are in the subset.
const BUILTINS: [&str; 6] = ["len", "max", "min", "range", "tuple", "ValueError"];

/// Python's other built-in names that host code may use sensibly: not in the subset,
/// but no undefined names either.
const OTHER_BUILTINS: [&str; 41] = [
    "__file__",
    "__name__",
    "abs",
    "all",
    "any",
    "bool",
    "bytes",
    "callable",
    "complex",
    "dict",
    "divmod",
    "enumerate",
    "filter",
    "float",
    "format",
    "frozenset",
    "getattr",
    "hasattr",
    "hash",
    "id",
    "int",
    "isinstance",
    "iter",
    "list",
    "map",
    "next",
    "object",
    "open",
    "pow",
    "print",
    "repr",
    "reversed",
    "round",
    "set",
    "slice",
    "sorted",
    "str",
    "sum",
    "super",
    "type",
    "zip",
];

/// A function being run.
pub(super) struct Frame<'m> {
    pub module: &'m HostModule,
    pub def: &'m FunctionDef,
    pub locals: BTreeMap<&'m str, Value<'m>>,
    /// Names that an assignment or loop of the function binds.
    assigned: BTreeSet<&'m str>,
}

impl<'m> Frame<'m> {
    pub fn new(module: &'m HostModule, def: &'m FunctionDef) -> Frame<'m> {
        let mut assigned = BTreeSet::new();
        collect_assigned(&def.body, &mut assigned);
        Frame { module, def, locals: BTreeMap::new(), assigned }
    }

    pub fn unsupported(&self, span: Span, construct: &str) -> Box<Diagnostic> {
        refuse(&self.module.ast, span, construct)
    }

    pub fn error(&self, code: &'static Code, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(code, message).at(&self.module.ast.file, span))
    }

    /// An error that Python or torch would raise.
    pub fn raises(&self, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
        self.error(&codes::HOST_ERROR, span, message)
    }
}

/// What running a statement leads to.
enum Flow<'m> {
    Next,
    Return(Value<'m>),
}

/// Runs one entry over a set of files.
pub(super) struct Evaluator<'m> {
    pub modules: &'m Modules,
    pub trace: Trace,
    /// What `prepare` has computed so far; `None` outside `prepare`.
    pub steps: Option<Vec<PrepareStep>>,
    /// Functions being run, outermost first.
    pub stack: Vec<(String, String)>,
    budget: u64,
    /// Bytes that are left of [`BYTES`].
    bytes: u64,
}

impl<'m> Evaluator<'m> {
    pub fn new(modules: &'m Modules) -> Evaluator<'m> {
        Evaluator { modules, trace: Trace::default(), steps: None, stack: Vec::new(), budget: STATEMENTS, bytes: BYTES }
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

    /// Runs a function's body.
    pub fn run_body(&mut self, frame: &mut Frame<'m>) -> diag::Result<Value<'m>> {
        let body = match frame.def.body.as_slice() {
            [first, rest @ ..] if matches!(&first.kind, StmtKind::Expr(e) if matches!(e.kind, ExprKind::Str(_))) => rest,
            all => all,
        };
        match self.block(frame, body)? {
            Flow::Return(value) => Ok(value),
            Flow::Next => Ok(Value::None),
        }
    }

    fn block(&mut self, frame: &mut Frame<'m>, body: &'m [Stmt]) -> diag::Result<Flow<'m>> {
        for stmt in body {
            if let Flow::Return(value) = self.statement(frame, stmt)? {
                return Ok(Flow::Return(value));
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, frame: &mut Frame<'m>, stmt: &'m Stmt) -> diag::Result<Flow<'m>> {
        self.budget = self
            .budget
            .checked_sub(1)
            .ok_or_else(|| frame.error(&codes::FUEL, stmt.span, format!("host code ran more than {STATEMENTS} statements")))?;
        let refused = match &stmt.kind {
            StmtKind::Assign { targets, value } => match targets.as_slice() {
                [target] => {
                    let value = self.expr(frame, value)?;
                    self.assign(frame, target, value)?;
                    return Ok(Flow::Next);
                }
                _ => "an assignment to several targets",
            },
            StmtKind::Expr(e) => {
                if !matches!(e.kind, ExprKind::Call { .. }) {
                    return Err(frame.unsupported(stmt.span, "an expression statement that is not a call"));
                }
                self.expr(frame, e)?;
                return Ok(Flow::Next);
            }
            StmtKind::If { test, body, orelse } => {
                let value = self.expr(frame, test)?;
                let branch = if self.truth(frame, test.span, &value)? { body } else { orelse };
                return self.block(frame, branch);
            }
            StmtKind::For { target, iter, body, orelse } => {
                let name = target.as_name().ok_or_else(|| frame.unsupported(target.span, "a loop target that is not a name"))?;
                if !orelse.is_empty() {
                    return Err(frame.unsupported(stmt.span, "for … else"));
                }
                let Value::Range(start, stop, step) = self.expr(frame, iter)? else {
                    return Err(frame.unsupported(iter.span, "a loop over anything but range(…)"));
                };
                let mut i = start;
                while if step > 0 { i < stop } else { i > stop } {
                    frame.locals.insert(name, Value::Int(i));
                    if let Flow::Return(value) = self.block(frame, body)? {
                        return Ok(Flow::Return(value));
                    }
                    let Some(next) = i.checked_add(step) else { break };
                    i = next;
                }
                return Ok(Flow::Next);
            }
            StmtKind::Return(value) => {
                return Ok(Flow::Return(value.as_ref().map_or(Ok(Value::None), |e| self.expr(frame, e))?));
            }
            StmtKind::Raise(Some(e)) => return Err(self.raised(frame, e)?),
            StmtKind::Raise(None) => "a bare raise",
            StmtKind::Import(_) | StmtKind::ImportFrom { .. } => "an import inside a function",
            StmtKind::Function(_) => "a function inside a function",
            StmtKind::Class { .. } => "a class inside a function",
            StmtKind::AnnAssign { .. } => "an annotated assignment",
            StmtKind::AugAssign { .. } => "an augmented assignment",
            StmtKind::While { .. } => "while",
            StmtKind::Assert { .. } => "assert",
            StmtKind::Pass => "pass",
            StmtKind::Break => "break",
            StmtKind::Continue => "continue",
            StmtKind::Other(name) => name,
        };
        Err(frame.unsupported(stmt.span, refused))
    }

    /// `raise ValueError(f"…")` as a diagnostic; of another raise the statement itself is the message.
    fn raised(&mut self, frame: &mut Frame<'m>, e: &'m Expr) -> diag::Result<Box<Diagnostic>> {
        let raised = frame.error(&codes::HOST_RAISED, e.span, format!("raises {}", frame.module.ast.file.slice(e.span)));
        let ExprKind::Call { func, args, keywords } = &e.kind else { return Ok(raised) };
        let ([message], []) = (args.as_slice(), keywords.as_slice()) else { return Ok(raised) };
        if func.as_name() != Some("ValueError") {
            return Ok(raised);
        }
        let text = match &message.kind {
            ExprKind::Str(s) => s.clone(),
            ExprKind::FString(parts) => {
                let mut text = String::new();
                for part in parts {
                    match part {
                        FStringPart::Literal(s) => text.push_str(s),
                        FStringPart::Expr(e) => text.push_str(&self.expr(frame, e)?.to_string()),
                    }
                }
                text
            }
            _ => return Ok(raised),
        };
        Ok(frame.error(&codes::HOST_RAISED, e.span, text))
    }

    fn assign(&mut self, frame: &mut Frame<'m>, target: &'m Expr, value: Value<'m>) -> diag::Result<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                frame.locals.insert(name, value);
                Ok(())
            }
            ExprKind::Tuple(targets) => {
                let Value::Tuple(items) = value else {
                    return Err(frame.unsupported(target.span, &format!("unpacking {}", value.kind())));
                };
                if items.len() != targets.len() {
                    let message = format!("{} values are unpacked into {} names", items.len(), targets.len());
                    return Err(frame.raises(target.span, message));
                }
                for (target, item) in targets.iter().zip(items) {
                    let name = target.as_name().ok_or_else(|| frame.unsupported(target.span, "this assignment target"))?;
                    frame.locals.insert(name, item);
                }
                Ok(())
            }
            ExprKind::Attribute { .. } => Err(frame.unsupported(target.span, "assigning to an attribute")),
            ExprKind::Subscript { .. } => Err(frame.unsupported(target.span, "assigning to an item")),
            _ => Err(frame.unsupported(target.span, "this assignment target")),
        }
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
            ExprKind::Lambda { .. } => "lambda",
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

    fn name(&self, frame: &Frame<'m>, name: &'m str, span: Span) -> diag::Result<Value<'m>> {
        if let Some(value) = frame.locals.get(name) {
            return Ok(value.clone());
        }
        if frame.assigned.contains(name) {
            return Err(frame.raises(span, format!("`{name}` is read before it is assigned")));
        }
        match frame.module.globals.get(name) {
            Some(Global::Int(v)) => Ok(Value::Int(*v)),
            Some(Global::Function(def)) => Ok(Value::Function(frame.module, def)),
            Some(Global::Kernel(def)) => Ok(Value::Kernel(frame.module, def)),
            Some(Global::Class(_)) => Err(frame.unsupported(span, "using a class")),
            Some(Global::Import(path)) => Ok(self.imported(path)),
            None if BUILTINS.contains(&name) => Ok(Value::External(name.to_owned())),
            None if OTHER_BUILTINS.contains(&name) => Err(frame.unsupported(span, &format!("the name `{name}`"))),
            None => Err(frame.raises(span, format!("`{name}` is not defined"))),
        }
    }

    /// A dotted name: a file of the set, a function of one, or something outside.
    fn imported(&self, path: &str) -> Value<'m> {
        if let Some(module) = self.modules.get(path) {
            return Value::Module(module);
        }
        let global = path.rsplit_once('.').and_then(|(module, name)| {
            let module = self.modules.get(module)?;
            Some((module, module.globals.get(name)?))
        });
        match global {
            Some((module, Global::Function(def))) => Value::Function(module, def),
            Some((module, Global::Kernel(def))) => Value::Kernel(module, def),
            Some((_, Global::Int(v))) => Value::Int(*v),
            Some((_, Global::Class(_) | Global::Import(_))) | None => Value::External(path.to_owned()),
        }
    }

    fn attribute(&mut self, frame: &Frame<'m>, value: Value<'m>, name: &str, span: Span) -> diag::Result<Value<'m>> {
        match &value {
            Value::External(path) => {
                let path = format!("{path}.{name}");
                let dtype = path.strip_prefix("torch.").and_then(torch_dtype);
                Ok(dtype.map_or_else(|| self.imported(&path), Value::DType))
            }
            Value::Module(module) => match module.globals.get(name) {
                Some(Global::Function(def)) => Ok(Value::Function(module, def)),
                Some(Global::Kernel(def)) => Ok(Value::Kernel(module, def)),
                Some(Global::Int(v)) => Ok(Value::Int(*v)),
                Some(Global::Class(_) | Global::Import(_)) => {
                    Err(frame.unsupported(span, &format!("`{name}` of another module")))
                }
                None => Err(frame.raises(span, format!("{} has no `{name}`", module.ast.file.name()))),
            },
            Value::Object(attributes) => attributes
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.clone())
                .ok_or_else(|| frame.raises(span, format!("there is no attribute `{name}`"))),
            Value::Tensor(_) | Value::Prepared(_) => match name {
                "shape" => Ok(Value::Tuple(self.tensor_type(&value).shape.iter().map(|&s| Value::Int(s as i64)).collect())),
                "dtype" => Ok(Value::DType(self.tensor_type(&value).dtype)),
                "device" => Ok(Value::Device),
                "T" | "mT" | "H" | "mH" | "data" | "grad" | "real" | "imag" => {
                    Err(frame.unsupported(span, &format!("`.{name}` of a tensor")))
                }
                _ => Ok(Value::Method(Box::new(value), name.to_owned())),
            },
            other => Err(frame.unsupported(span, &format!("`.{name}` of {}", other.kind()))),
        }
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

    fn subscript(&mut self, frame: &mut Frame<'m>, value: Value<'m>, index: &'m Expr, span: Span) -> diag::Result<Value<'m>> {
        if let ExprKind::Slice { .. } = index.kind {
            return Err(frame.unsupported(span, &format!("slicing {}", value.kind())));
        }
        if value.is_tensor() {
            return Err(frame.unsupported(span, "indexing a tensor"));
        }
        if let Value::Kernel(..) = value {
            return Err(frame.unsupported(span, "a kernel with a grid that is not called"));
        }
        if let Value::Function(_, def) = &value {
            let message = format!("`{}` is no kernel: a function takes no grid", def.name);
            return Err(Box::new((*frame.raises(span, message)).help("a kernel is decorated with @triton.jit")));
        }
        let key = self.expr(frame, index)?;
        match (value, key) {
            (Value::Tuple(items), Value::Int(i)) => match view::axis(i, items.len()) {
                Ok(at) => Ok(items[at].clone()),
                Err(_) => Err(frame.raises(span, format!("index {i} of a tuple of {} items", items.len()))),
            },
            (Value::Mapping(items), Value::Str(key)) => match items.iter().find(|(name, _)| *name == key) {
                Some((_, value)) => Ok(self.weight(&key, value)),
                None => Err(frame.raises(span, format!("there is no weight \"{key}\""))),
            },
            (value, key) => Err(frame.unsupported(span, &format!("indexing {} by {}", value.kind(), key.kind()))),
        }
    }

    /// A weight by name: in `prepare` reading it is a step.
    fn weight(&mut self, name: &str, value: &Value<'m>) -> Value<'m> {
        match (&mut self.steps, value) {
            (Some(steps), Value::Tensor(tensor)) => {
                let op = PrepareOp::Weight(name.to_owned());
                let at = steps.iter().position(|step| step.op == op).unwrap_or_else(|| {
                    let ty = TensorType { dtype: tensor.dtype, shape: tensor.shape.clone() };
                    steps.push(PrepareStep { op, ty, contiguous: true, span: Span::default() });
                    steps.len() - 1
                });
                Value::Prepared(at)
            }
            _ => value.clone(),
        }
    }

    fn unary(&mut self, frame: &mut Frame<'m>, op: UnaryOp, inner: &'m Expr, span: Span) -> diag::Result<Value<'m>> {
        let value = self.expr(frame, inner)?;
        match (op, &value) {
            (UnaryOp::Not, _) => Ok(Value::Bool(!self.truth(frame, span, &value)?)),
            (UnaryOp::Neg, Value::Int(v)) => {
                v.checked_neg().map(Value::Int).ok_or_else(|| frame.unsupported(span, "an integer beyond 64 bits"))
            }
            (UnaryOp::Neg, Value::Float(v)) => Ok(Value::Float(-v)),
            (UnaryOp::Neg | UnaryOp::Pos | UnaryOp::Invert, _) => {
                Err(frame.unsupported(span, &format!("`{}` on {}", unary_symbol(op), value.kind())))
            }
        }
    }

    fn binary(&mut self, frame: &Frame<'m>, op: BinaryOp, a: Value<'m>, b: Value<'m>, span: Span) -> diag::Result<Value<'m>> {
        let sign = binary_symbol(op);
        match (a, b) {
            (Value::Int(a), Value::Int(b)) => {
                let result = match op {
                    BinaryOp::Add => a.checked_add(b),
                    BinaryOp::Sub => a.checked_sub(b),
                    BinaryOp::Mul => a.checked_mul(b),
                    BinaryOp::FloorDiv | BinaryOp::Mod if b == 0 => {
                        return Err(frame.raises(span, "integer division by zero"));
                    }
                    BinaryOp::FloorDiv => floor_div(a, b),
                    BinaryOp::Mod => Some(floor_mod(a, b)),
                    BinaryOp::Div
                    | BinaryOp::Pow
                    | BinaryOp::MatMul
                    | BinaryOp::BitAnd
                    | BinaryOp::BitOr
                    | BinaryOp::BitXor
                    | BinaryOp::Shl
                    | BinaryOp::Shr => return Err(frame.unsupported(span, &format!("`{sign}` on integers"))),
                };
                result.map(Value::Int).ok_or_else(|| frame.unsupported(span, "an integer beyond 64 bits"))
            }
            (Value::Tuple(mut a), Value::Tuple(b)) if op == BinaryOp::Add => {
                a.extend(b);
                self.tuple(frame, a, span)
            }
            (a, b) if matches!(a, Value::Prepared(_)) || matches!(b, Value::Prepared(_)) => {
                self.prepared_binary(frame, op, a, b, span)
            }
            (a, b) if a.is_tensor() || b.is_tensor() => {
                let help = "compute it in a kernel";
                Err(Box::new((*frame.unsupported(span, &format!("`{sign}` on a tensor"))).help(help)))
            }
            // Python repeats and formats strings by `*` and `%`.
            (a, b) if a.no_number() != b.no_number() && !matches!(op, BinaryOp::Mul | BinaryOp::Mod) => {
                Err(frame.raises(span, format!("`{sign}` on {} and {}", a.kind(), b.kind())))
            }
            (a, b) => Err(frame.unsupported(span, &format!("`{sign}` on {} and {}", a.kind(), b.kind()))),
        }
    }

    fn compare(&mut self, frame: &mut Frame<'m>, left: &'m Expr, rest: &'m [(CompareOp, Expr)]) -> diag::Result<Value<'m>> {
        let mut a = self.expr(frame, left)?;
        for (op, right) in rest {
            let b = self.expr(frame, right)?;
            let span = left.span.to(right.span);
            let outside = || frame.unsupported(span, &format!("comparing {} with {}", a.kind(), b.kind()));
            let holds = match (op, &a, &b) {
                (CompareOp::Is, a, Value::None) => matches!(a, Value::None),
                (CompareOp::IsNot, a, Value::None) => !matches!(a, Value::None),
                (CompareOp::Eq, a, b) => a.equals(b).ok_or_else(outside)?,
                (CompareOp::Ne, a, b) => !a.equals(b).ok_or_else(outside)?,
                (CompareOp::Lt, Value::Int(a), Value::Int(b)) => a < b,
                (CompareOp::Le, Value::Int(a), Value::Int(b)) => a <= b,
                (CompareOp::Gt, Value::Int(a), Value::Int(b)) => a > b,
                (CompareOp::Ge, Value::Int(a), Value::Int(b)) => a >= b,
                (CompareOp::Is | CompareOp::IsNot, _, _) => {
                    return Err(frame.unsupported(span, "`is` with anything but None"));
                }
                (CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge, a, b) if a.no_number() != b.no_number() => {
                    return Err(frame.raises(span, format!("comparing {} with {}", a.kind(), b.kind())));
                }
                (CompareOp::In | CompareOp::NotIn, _, _) => return Err(frame.unsupported(span, "`in`")),
                (CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge, _, _) => return Err(outside()),
            };
            if !holds {
                return Ok(Value::Bool(false));
            }
            a = b;
        }
        Ok(Value::Bool(true))
    }
}

/// Refuses a tuple of more than [`MAX_TUPLE`] items.
pub(super) fn fits(frame: &Frame, items: usize, span: Span) -> diag::Result<()> {
    if items <= MAX_TUPLE {
        return Ok(());
    }
    Err(frame.error(&codes::MEMORY, span, format!("a tuple of {items} items; the limit is {MAX_TUPLE}")))
}

/// `torch.<name>` as a dtype.
fn torch_dtype(name: &str) -> Option<crate::dtype::DType> {
    crate::dtype::DType::ALL.into_iter().find(|d| d.torch_name() == name)
}

/// Names that statements bind, nested ones included.
fn collect_assigned<'m>(body: &'m [Stmt], names: &mut BTreeSet<&'m str>) {
    fn target<'m>(e: &'m Expr, names: &mut BTreeSet<&'m str>) {
        match &e.kind {
            ExprKind::Name(name) => drop(names.insert(name)),
            ExprKind::Tuple(items) => items.iter().for_each(|item| target(item, names)),
            _ => {}
        }
    }
    for stmt in body {
        match &stmt.kind {
            StmtKind::Assign { targets, .. } => targets.iter().for_each(|t| target(t, names)),
            StmtKind::If { body, orelse, .. } => {
                collect_assigned(body, names);
                collect_assigned(orelse, names);
            }
            StmtKind::For { target: t, body, orelse, .. } => {
                target(t, names);
                collect_assigned(body, names);
                collect_assigned(orelse, names);
            }
            _ => {}
        }
    }
}
