//! Follows forward: statements and expressions by the values of names. Calls are in `call`.
//!
//! Branches are joined, bodies of loops run twice, so that what one turn leaves meets the next. Code that forward does not
//! run (`__init__`, values of module names) is read for what it binds, and reports nothing. Recursion is cut where a
//! function is entered again, and a budget of steps ends what is too long (F012).

use std::collections::{BTreeMap, BTreeSet};

use super::Mode;
use super::events::{Event, Kind, Walked};
use super::file::File;
use super::value::{METADATA, PARAMETERS, TENSOR, VIEWS, Value};
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, CompareOp, Expr, ExprKind, FStringPart, FunctionDef, Module, Param, Stmt, StmtKind, UnaryOp};

const STEPS: usize = 200_000;

pub struct Walker<'a> {
    pub file: File<'a>,
    pub mode: Mode,
    pub events: Vec<Event<'a>>,
    pub launched: BTreeSet<&'a str>,
    pub way: Vec<&'a str>,
    /// Functions that are entered now.
    pub entered: Vec<*const FunctionDef>,
    /// Above 0: what is evaluated is not run by forward.
    pub muted: usize,
    pub steps: usize,
    fields: BTreeMap<&'a str, BTreeMap<String, Value<'a>>>,
    evaluating: BTreeSet<&'a str>,
}

/// Names of one function that is entered, and what it returns.
#[derive(Default)]
pub struct Scope<'a> {
    pub names: BTreeMap<String, Value<'a>>,
    pub class: Option<&'a str>,
    pub returned: Vec<Value<'a>>,
}

pub fn walk(module: &Module, mode: Mode) -> Walked<'_> {
    let mut w = Walker {
        file: File::of(module),
        mode,
        events: Vec::new(),
        launched: BTreeSet::new(),
        way: Vec::new(),
        entered: Vec::new(),
        muted: 0,
        steps: 0,
        fields: BTreeMap::new(),
        evaluating: BTreeSet::new(),
    };
    let forward = w.file.classes.get_key_value("ModelNew").and_then(|(&name, _)| w.file.method(name, "forward"));
    if let Some((class, def)) = forward {
        let args: Vec<Value<'_>> = def.params.iter().skip(1).map(parameter).collect();
        let named = def.params.iter().skip(1).zip(args).map(|(p, v)| (Some(p.name.as_str()), v)).collect();
        w.function(def, Some("ModelNew"), class, Vec::new(), named);
        w.way.clear();
    }
    let mut seen = Vec::new();
    for event in std::mem::take(&mut w.events) {
        if !seen.iter().any(|e: &Event<'_>| e.span == event.span && e.kind == event.kind) {
            seen.push(event);
        }
    }
    Walked { file: w.file, events: seen, launched: w.launched, has_forward: forward.is_some() }
}

/// A parameter of forward: a tensor, unless it says otherwise.
fn parameter<'a>(param: &Param) -> Value<'a> {
    let annotated = param.annotation.as_ref().and_then(Expr::as_dotted);
    match (annotated.as_deref(), param.default.as_ref().map(|d| &d.kind)) {
        (Some("int" | "float" | "bool" | "str"), _) => Value::Number,
        (_, Some(ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Str(_))) => Value::Number,
        _ => TENSOR,
    }
}

impl<'a> Walker<'a> {
    pub fn event(&mut self, span: Span, kind: Kind) {
        if self.muted == 0 {
            self.events.push(Event { span, kind, way: self.way.clone() });
        }
    }

    pub fn block(&mut self, block: &'a [Stmt], scope: &mut Scope<'a>) {
        block.iter().for_each(|stmt| self.stmt(stmt, scope));
    }

    fn stmt(&mut self, stmt: &'a Stmt, scope: &mut Scope<'a>) {
        match &stmt.kind {
            StmtKind::Import(names) => {
                for (path, alias) in names {
                    let root = path.split('.').next().unwrap_or(path).to_owned();
                    let (name, path) = alias.clone().map_or_else(|| (root.clone(), root.clone()), |alias| (alias, path.clone()));
                    scope.names.insert(name, Value::Path(path));
                }
            }
            StmtKind::ImportFrom { module, names, level: _ } => {
                for (name, alias) in names {
                    scope.names.insert(alias.as_ref().unwrap_or(name).clone(), Value::Path(format!("{module}.{name}")));
                }
            }
            StmtKind::Function(def) => {
                scope.names.insert(def.name.clone(), Value::Function(def, None));
            }
            StmtKind::Assign { targets, value } => {
                let value = self.eval(value, scope);
                targets.iter().for_each(|target| self.assign(target, &value, scope));
            }
            StmtKind::AnnAssign { target, annotation: _, value: Some(value) } => {
                let value = self.eval(value, scope);
                self.assign(target, &value, scope);
            }
            StmtKind::AugAssign { target, op, value } => {
                let (old, new) = (self.eval(target, scope), self.eval(value, scope));
                let result = self.binary(stmt.span, &format!("{}=", symbol(*op)), &old, &new);
                self.assign(target, &result, scope);
            }
            StmtKind::Expr(e) => drop(self.eval(e, scope)),
            StmtKind::If { test, body, orelse } => {
                self.eval(test, scope);
                let before = scope.names.clone();
                self.block(body, scope);
                let after = std::mem::replace(&mut scope.names, before);
                self.block(orelse, scope);
                for (name, value) in after {
                    let joined = match scope.names.remove(&name) {
                        Some(other) => value.join(other),
                        None => value,
                    };
                    scope.names.insert(name, joined);
                }
            }
            StmtKind::For { target, iter, body, orelse } => {
                let items = self.eval(iter, scope);
                if items.is_tensor() {
                    self.event(iter.span, Kind::Index);
                }
                for _ in 0..2 {
                    self.assign(target, &items.element(), scope);
                    self.block(body, scope);
                }
                self.block(orelse, scope);
            }
            StmtKind::While { test, body, orelse } => {
                for _ in 0..2 {
                    self.eval(test, scope);
                    self.block(body, scope);
                }
                self.block(orelse, scope);
            }
            StmtKind::Return(value) => {
                let value = value.as_ref().map_or(Value::Number, |value| self.eval(value, scope));
                scope.returned.push(value);
            }
            StmtKind::Assert { test, message: _ } => drop(self.eval(test, scope)),
            StmtKind::Other(what) => {
                self.event(stmt.span, Kind::Unread(format!("forward goes through `{what}`, which is not read")))
            }
            StmtKind::Class { name, .. } => {
                self.event(stmt.span, Kind::Unread(format!("class `{name}` inside a function is not read")))
            }
            // An error ends forward; `pass` is another rule's.
            StmtKind::Raise(_) | StmtKind::AnnAssign { .. } | StmtKind::Pass | StmtKind::Break | StmtKind::Continue => {}
        }
    }

    fn assign(&mut self, target: &'a Expr, value: &Value<'a>, scope: &mut Scope<'a>) {
        match &target.kind {
            ExprKind::Name(name) => drop(scope.names.insert(name.clone(), value.clone())),
            ExprKind::Starred(inner) => self.assign(inner, &Value::List(vec![value.element()]), scope),
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    let part = match value {
                        Value::List(values) if values.len() == items.len() => values[i].clone(),
                        other => other.element(),
                    };
                    self.assign(item, &part, scope);
                }
            }
            ExprKind::Attribute { value: object, name } => {
                if let Value::Instance(class) = self.eval(object, scope) {
                    self.fields.entry(class).or_default().insert(name.clone(), value.clone());
                }
            }
            ExprKind::Subscript { value: object, index } => {
                self.eval(index, scope);
                if self.eval(object, scope).is_tensor() {
                    self.event(target.span, Kind::Index);
                }
            }
            _ => {}
        }
    }

    pub fn eval(&mut self, expr: &'a Expr, scope: &mut Scope<'a>) -> Value<'a> {
        self.steps += 1;
        if self.steps > STEPS {
            if self.steps == STEPS + 1 {
                self.event(expr.span, Kind::Unread("forward is too long to be followed further".to_owned()));
            }
            return Value::Unknown;
        }
        match &expr.kind {
            ExprKind::Name(name) => self.name(name, scope),
            ExprKind::Int(_) | ExprKind::BigInt(_) | ExprKind::Float(_) | ExprKind::Str(_) | ExprKind::Bool(_) => Value::Number,
            ExprKind::None | ExprKind::Ellipsis => Value::Number,
            ExprKind::FString(parts) => {
                for part in parts {
                    if let FStringPart::Expr(e) = part {
                        self.eval(e, scope);
                    }
                }
                Value::Number
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                let values: Vec<Value<'a>> = items.iter().map(|e| self.eval(e, scope)).collect();
                Value::List(values)
            }
            ExprKind::Dict(pairs) => Value::List(pairs.iter().map(|(_, e)| self.eval(e, scope)).collect()),
            ExprKind::Unary(op, inner) => {
                let value = self.eval(inner, scope);
                match (op, value.is_tensor()) {
                    (UnaryOp::Not, _) | (_, false) => Value::Number,
                    (UnaryOp::Neg, true) => self.operator(expr.span, "-"),
                    (UnaryOp::Pos, true) => self.operator(expr.span, "+"),
                    (UnaryOp::Invert, true) => self.operator(expr.span, "~"),
                }
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.eval(a, scope), self.eval(b, scope));
                self.binary(expr.span, symbol(*op), &a, &b)
            }
            ExprKind::Compare { left, rest } => {
                let mut left = self.eval(left, scope);
                for (op, right) in rest {
                    let right = self.eval(right, scope);
                    if (left.is_tensor() || right.is_tensor()) && !matches!(op, CompareOp::Is | CompareOp::IsNot) {
                        return self.operator(expr.span, compared(*op));
                    }
                    left = right;
                }
                Value::Number
            }
            ExprKind::Logical(_, items) => {
                let values = items.iter().map(|e| self.eval(e, scope)).collect::<Vec<_>>();
                values.into_iter().reduce(Value::join).unwrap_or(Value::Unknown)
            }
            ExprKind::Conditional { test, then, other } => {
                self.eval(test, scope);
                let then = self.eval(then, scope);
                then.join(self.eval(other, scope))
            }
            ExprKind::Call { func, args, keywords } => self.call_expr(expr, func, args, keywords, scope),
            ExprKind::Attribute { value, name } => {
                let value = self.eval(value, scope);
                self.attribute(expr.span, &value, name)
            }
            ExprKind::Subscript { value, index } => {
                let value = self.eval(value, scope);
                self.eval(index, scope);
                if value.is_tensor() {
                    self.event(expr.span, Kind::Index);
                }
                match (&value, &index.kind) {
                    (Value::List(_), ExprKind::Slice { .. }) | (Value::Module, _) => value,
                    (Value::List(values), ExprKind::Int(i)) if usize::try_from(*i).is_ok_and(|i| i < values.len()) => {
                        values[*i as usize].clone()
                    }
                    // A kernel with its grid.
                    (Value::Kernel(_), _) => value,
                    _ => value.element(),
                }
            }
            ExprKind::Slice { lower, upper, step } => {
                [lower, upper, step].into_iter().flatten().for_each(|e| drop(self.eval(e, scope)));
                Value::Number
            }
            ExprKind::Starred(inner) => self.eval(inner, scope),
            ExprKind::Lambda { params, body } => Value::Lambda(params, body),
            ExprKind::Other("f-string with a format" | "bytes" | "complex number") => Value::Number,
            ExprKind::Other(what) => {
                self.event(expr.span, Kind::Unread(format!("forward goes through a {what}, which is not read")));
                Value::Unknown
            }
        }
    }

    fn name(&mut self, name: &'a str, scope: &Scope<'a>) -> Value<'a> {
        if let Some(value) = scope.names.get(name) {
            return value.clone();
        }
        let kernel = self.file.kernels.iter().find(|kernel| kernel.name == name).map(|kernel| Value::Kernel(&kernel.name));
        let function = self.file.functions.get(name).map(|def| Value::Function(def, None));
        let class = self.file.classes.get_key_value(name).map(|(class, _)| Value::Class(class));
        let defined: Vec<Value<'a>> = [kernel, function, class].into_iter().flatten().collect();
        if let Some(value) = self.file.globals.get(name).copied().filter(|_| !self.evaluating.contains(name)) {
            self.evaluating.insert(name);
            self.muted += 1;
            let value = self.eval(value, &mut Scope::default());
            self.muted -= 1;
            self.evaluating.remove(name);
            // A definition that is bound again may be either.
            return defined.into_iter().fold(value, Value::join);
        }
        if !defined.is_empty() {
            return Value::any(defined);
        }
        let path = self.file.imports.path(&Expr { kind: ExprKind::Name(name.to_owned()), span: Span { start: 0, end: 0 } });
        path.map_or_else(|| Value::Path(format!("builtins.{name}")), Value::Path)
    }

    pub fn attribute(&mut self, span: Span, value: &Value<'a>, name: &str) -> Value<'a> {
        match value {
            Value::Tensor { .. } if METADATA.contains(&name) => Value::Number,
            Value::Tensor { .. } if name == "data" => value.clone(),
            Value::Tensor { .. } if VIEWS.contains(&name) => {
                self.event(span, Kind::Method(name.to_owned()));
                TENSOR
            }
            Value::Tensor { permuted } => Value::Method { name: name.to_owned(), permuted: *permuted },
            Value::Path(path) => Value::Path(format!("{path}.{name}")),
            Value::Bypass(path) => Value::Bypass(format!("{path}.{name}")),
            Value::Any(values) => {
                let values = values.iter().map(|v| self.attribute(span, v, name)).collect();
                Value::any(values)
            }
            Value::Module if PARAMETERS.contains(&name) => TENSOR,
            Value::Module if matches!(name, "forward" | "__call__") => Value::Module,
            Value::Kernel(_) if matches!(name, "run" | "warmup" | "__getitem__") => value.clone(),
            Value::Class(class) if name == "apply" && self.file.derives(class, "torch.autograd.Function") => {
                Value::Bypass(format!("{class}.apply"))
            }
            Value::Class(class) => match self.file.method(class, name) {
                Some((_, def)) => Value::Function(def, None),
                None => self.class_field(class, name),
            },
            Value::Instance(class) => self.member(class, name),
            Value::Super(class) => {
                let bases = self.file.lineage(class);
                let found = bases.iter().skip(1).find_map(|base| self.file.method(base, name));
                found.map_or(Value::Unknown, |(_, def)| Value::Function(def, Some(class)))
            }
            Value::Number if name != "item" => Value::Number,
            _ => Value::Unknown,
        }
    }

    fn class_field(&mut self, class: &str, name: &str) -> Value<'a> {
        let lineage = self.file.lineage(class);
        let Some(value) = lineage.iter().find_map(|c| self.file.classes[c].fields.get(name).copied()) else {
            return Value::Unknown;
        };
        self.muted += 1;
        let value = self.eval(value, &mut Scope::default());
        self.muted -= 1;
        value
    }

    fn member(&mut self, class: &'a str, name: &str) -> Value<'a> {
        if !self.fields.contains_key(class) {
            self.fields.insert(class, BTreeMap::new());
            self.muted += 1;
            if let Some((owner, init)) = self.file.method(class, "__init__") {
                self.function(init, Some(class), owner, Vec::new(), Vec::new());
            }
            self.muted -= 1;
        }
        if let Some(value) = self.fields[class].get(name) {
            return value.clone();
        }
        if let Some((_, def)) = self.file.method(class, name) {
            let of = |word: &str| def.decorators.iter().any(|d| d.as_name() == Some(word));
            return match (of("property"), of("staticmethod")) {
                (true, _) => self.function(def, Some(class), class, Vec::new(), Vec::new()),
                (_, true) => Value::Function(def, None),
                _ => Value::Function(def, Some(class)),
            };
        }
        self.class_field(class, name)
    }

    /// `register_buffer`, `register_parameter` and `setattr`.
    pub fn set_field(&mut self, class: &'a str, name: &str, value: Value<'a>) {
        self.fields.entry(class).or_default().insert(name.to_owned(), value);
    }

    pub fn binary(&mut self, span: Span, op: &str, a: &Value<'a>, b: &Value<'a>) -> Value<'a> {
        match (a, b) {
            _ if a.is_tensor() || b.is_tensor() => self.operator(span, op),
            (Value::List(x), Value::List(y)) => Value::List(x.iter().chain(y).cloned().collect()),
            (Value::List(x), _) | (_, Value::List(x)) => Value::List(x.clone()),
            (Value::Number, Value::Number) => Value::Number,
            _ => Value::Unknown,
        }
    }

    pub fn operator(&mut self, span: Span, op: &str) -> Value<'a> {
        self.event(span, Kind::Operator(op.to_owned()));
        TENSOR
    }
}

fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::FloorDiv => "//",
        BinaryOp::Mod => "%",
        BinaryOp::Pow => "**",
        BinaryOp::MatMul => "@",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
    }
}

fn compared(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "==",
        CompareOp::Ne => "!=",
        CompareOp::Lt => "<",
        CompareOp::Le => "<=",
        CompareOp::Gt => ">",
        CompareOp::Ge => ">=",
        CompareOp::Is => "is",
        CompareOp::IsNot => "is not",
        CompareOp::In => "in",
        CompareOp::NotIn => "not in",
    }
}
