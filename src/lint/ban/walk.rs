//! Follows forward: expressions by the values of names. Statements are in `statement`, names in `names`, calls in `call`.
//!
//! Recursion is cut where a function is entered again. A budget of steps, in which large values count more, ends what is
//! too long; so do bounds on nesting and on the parts of a value. What is not followed is told (F012), also where it is
//! met in code that reports nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::events::{Event, Kind, Walked};
use super::file::File;
use super::value::{TENSOR, Value};
use super::{Ban, Mode};
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, CompareOp, Expr, ExprKind, FStringPart, FunctionDef, Module, Param, UnaryOp};

const STEPS: usize = 200_000;
/// Parts of a value that cost a step when they are copied.
const PARTS_A_STEP: usize = 8;
/// Parts of one value.
const LARGE: usize = 1000;
/// Expressions inside one another, those of the functions on the way counted.
const DEEP: usize = 500;

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
    steps: usize,
    /// Expressions that are evaluated now.
    deep: usize,
    pub fields: BTreeMap<&'a str, BTreeMap<String, Value<'a>>>,
    /// Values of names and of class fields that are evaluated now.
    pub evaluating: BTreeSet<*const Expr>,
}

/// Names of one function that is entered, and what it returns.
#[derive(Default)]
pub struct Scope<'a> {
    pub names: BTreeMap<String, Value<'a>>,
    pub class: Option<&'a str>,
    pub returned: Vec<Value<'a>>,
}

impl Scope<'_> {
    /// How much is copied with its names.
    pub fn parts(&self) -> usize {
        self.names.values().map(Value::parts).sum()
    }
}

pub fn walk<'a>(module: &'a Module, ban: &Ban) -> Walked<'a> {
    let mut w = Walker {
        file: File::of(module),
        mode: ban.mode,
        events: Vec::new(),
        launched: BTreeSet::new(),
        way: Vec::new(),
        entered: Vec::new(),
        muted: 0,
        steps: 0,
        deep: 0,
        fields: BTreeMap::new(),
        evaluating: BTreeSet::new(),
    };
    let forward = w.file.classes.get_key_value("ModelNew").and_then(|(&name, _)| w.file.method(name, "forward"));
    if let Some((class, def)) = forward {
        let value = |param: &Param| if ban.numbers.contains(&param.name) { Value::Number } else { parameter(param) };
        let args: Vec<Value<'_>> = def.params.iter().skip(1).map(value).collect();
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
        (Some("int" | "float" | "bool" | "str" | "tuple"), _) => Value::Number,
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

    /// Says that something is not followed, whoever asks for it.
    fn give_up(&mut self, span: Span, why: &str) {
        self.events.push(Event { span, kind: Kind::Unread(why.to_owned()), way: self.way.clone() });
    }

    /// Whether the budget is spent.
    fn is_over(&self) -> bool {
        self.steps > STEPS
    }

    /// Takes a step, and more for parts that are copied; `false` when there are none left.
    pub fn step(&mut self, span: Span, parts: usize) -> bool {
        let was_over = self.is_over();
        self.steps += 1 + parts / PARTS_A_STEP;
        if self.is_over() && !was_over {
            self.give_up(span, "forward is too long to be followed further");
        }
        !self.is_over()
    }

    /// The value of an expression; not known where it cannot be followed.
    pub fn eval(&mut self, expr: &'a Expr, scope: &mut Scope<'a>) -> Value<'a> {
        if self.is_over() {
            return Value::Unknown;
        }
        if self.deep == DEEP {
            self.give_up(expr.span, "forward is nested too deeply to be followed");
            return Value::Unknown;
        }
        self.deep += 1;
        let value = self.expression(expr, scope);
        self.deep -= 1;
        let parts = value.parts();
        self.step(expr.span, parts);
        if parts > LARGE {
            self.give_up(expr.span, "a value has too many parts to be followed");
            return Value::Unknown;
        }
        value
    }

    fn expression(&mut self, expr: &'a Expr, scope: &mut Scope<'a>) -> Value<'a> {
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

pub fn symbol(op: BinaryOp) -> &'static str {
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
