//! What names and attributes stand for.
//!
//! Code that forward does not run (`__init__`, values of module names and of class fields) is read for what it binds, and
//! reports nothing.

use std::collections::BTreeMap;

use super::events::Kind;
use super::value::{METADATA, PARAMETERS, TENSOR, VIEWS, Value};
use super::walk::{Scope, Walker};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind};

impl<'a> Walker<'a> {
    pub fn name(&mut self, name: &'a str, scope: &Scope<'a>) -> Value<'a> {
        if let Some(value) = scope.names.get(name) {
            return value.clone();
        }
        let kernel = self.file.kernels.iter().find(|kernel| kernel.name == name).map(|kernel| Value::Kernel(&kernel.name));
        let function = self.file.functions.get(name).map(|def| Value::Function(def, None));
        let class = self.file.classes.get_key_value(name).map(|(class, _)| Value::Class(class));
        let defined: Vec<Value<'a>> = [kernel, function, class].into_iter().flatten().collect();
        if let Some(value) = self.file.globals.get(name).copied().and_then(|value| self.bound(value)) {
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
            Value::List(_) if matches!(name, "get" | "pop" | "setdefault") => Value::Gives(Box::new(value.element())),
            Value::List(_) if matches!(name, "values" | "copy") => Value::Gives(Box::new(value.clone())),
            Value::List(_) if name == "items" => {
                let pair = Value::List(vec![Value::Number, value.element()]);
                Value::Gives(Box::new(Value::List(vec![pair])))
            }
            Value::Number if name != "item" => Value::Number,
            _ => Value::Unknown,
        }
    }

    fn class_field(&mut self, class: &str, name: &str) -> Value<'a> {
        let lineage = self.file.lineage(class);
        let value = lineage.iter().find_map(|c| self.file.classes[c].fields.get(name).copied());
        value.and_then(|value| self.bound(value)).unwrap_or(Value::Unknown)
    }

    /// What a name of the module or a field of a class is bound to; `None` while that is being found out.
    fn bound(&mut self, expr: &'a Expr) -> Option<Value<'a>> {
        if !self.evaluating.insert(expr) {
            return None;
        }
        self.muted += 1;
        let value = self.eval(expr, &mut Scope::default());
        self.muted -= 1;
        self.evaluating.remove(&std::ptr::from_ref(expr));
        Some(value)
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
}
