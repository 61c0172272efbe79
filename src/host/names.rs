//! Names, attributes and items: what a name stands for, with Python's scoping, and what is found behind
//! a dot or in brackets.

use super::eval::Evaluator;
use super::frame::Frame;
use super::modules::Global;
use super::prepare::{PrepareOp, PrepareStep};
use super::value::Value;
use super::view;
use crate::diag;
use crate::graph::TensorType;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef};
use crate::syntax::python;

/// Built-in functions that are in the subset.
const BUILTINS: [&str; 6] = ["len", "max", "min", "range", "tuple", "ValueError"];

impl<'m> Evaluator<'m> {
    pub fn name(&self, frame: &Frame<'m>, name: &'m str, span: Span) -> diag::Result<Value<'m>> {
        if let Some(value) = frame.locals.get(name) {
            return Ok(value.clone());
        }
        if frame.assigned.contains(name) {
            return Err(frame.raises(span, format!("`{name}` is read before it is assigned")));
        }
        match frame.module.globals.get(name) {
            Some(Global::Constant(constant)) => Ok(Value::literal(constant)),
            Some(Global::Function(def)) => Ok(Value::Function(frame.module, def)),
            Some(Global::Kernel(def)) => Ok(Value::Kernel(frame.module, def)),
            Some(Global::Class(_)) => Err(frame.unsupported(span, "using a class")),
            Some(Global::Import(path)) => Ok(self.imported(path)),
            None if BUILTINS.contains(&name) => Ok(Value::External(name.to_owned())),
            // Not in the subset, but no undefined names either.
            None if python::is_builtin(name) => Err(frame.unsupported(span, &format!("the name `{name}`"))),
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
            Some((_, Global::Constant(constant))) => Value::literal(constant),
            Some((_, Global::Class(_) | Global::Import(_))) | None => Value::External(path.to_owned()),
        }
    }

    pub fn attribute(&mut self, frame: &Frame<'m>, value: Value<'m>, name: &str, span: Span) -> diag::Result<Value<'m>> {
        match &value {
            Value::External(path) => {
                let path = format!("{path}.{name}");
                let dtype = path.strip_prefix("torch.").and_then(torch_dtype);
                Ok(dtype.map_or_else(|| self.imported(&path), Value::DType))
            }
            Value::Module(module) => match module.globals.get(name) {
                Some(Global::Function(def)) => Ok(Value::Function(module, def)),
                Some(Global::Kernel(def)) => Ok(Value::Kernel(module, def)),
                Some(Global::Constant(constant)) => Ok(Value::literal(constant)),
                Some(Global::Class(_) | Global::Import(_)) => {
                    Err(frame.unsupported(span, &format!("`{name}` of another module")))
                }
                None => Err(frame.raises(span, format!("{} has no `{name}`", module.ast.file.name()))),
            },
            Value::Object(attributes) => match attributes.iter().find(|(key, _)| key == name) {
                Some((_, value)) => Ok(value.clone()),
                None if self.own_method(frame, name).is_some() => Ok(Value::Method(Box::new(value), name.to_owned())),
                None => Err(frame.unsupported(span, &format!("`.{name}` of a module, which is not known here,"))),
            },
            Value::Tensor(_) | Value::Prepared(_) => match name {
                "shape" => Ok(Value::Tuple(self.tensor_type(&value).shape.iter().map(|&s| Value::Int(s as i64)).collect())),
                "dtype" => Ok(Value::DType(self.tensor_type(&value).dtype)),
                "ndim" => Ok(Value::Int(self.tensor_type(&value).shape.len() as i64)),
                "device" => Ok(Value::Device),
                // The same elements without their history.
                "data" => Ok(value),
                "T" | "mT" | "H" | "mH" | "grad" | "real" | "imag" => {
                    Err(frame.unsupported(span, &format!("`.{name}` of a tensor")))
                }
                _ => Ok(Value::Method(Box::new(value), name.to_owned())),
            },
            other => Err(frame.unsupported(span, &format!("`.{name}` of {}", other.kind()))),
        }
    }

    pub fn subscript(&mut self, frame: &mut Frame<'m>, value: Value<'m>, index: &'m Expr, span: Span) -> diag::Result<Value<'m>> {
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
            (Value::Object(items), Value::Int(i)) => match items.iter().find(|(name, _)| *name == i.to_string()) {
                Some((_, value)) => Ok(value.clone()),
                None => Err(frame.unsupported(span, &format!("`[{i}]` of a module, which is not known here,"))),
            },
            (Value::Mapping(items), Value::Str(key)) => match items.iter().find(|(name, _)| *name == key) {
                Some((_, value)) => Ok(self.weight(&key, value)),
                None => Err(frame.raises(span, format!("there is no \"{key}\" here"))),
            },
            (value, key) => Err(frame.unsupported(span, &format!("indexing {} by {}", value.kind(), key.kind()))),
        }
    }

    /// The method of this name of the class whose method is being run.
    pub fn own_method(&self, frame: &Frame<'m>, name: &str) -> Option<&'m FunctionDef> {
        let methods = frame.module.globals.values().filter_map(|global| match global {
            Global::Class(methods) => Some(methods),
            _ => None,
        });
        let mut own = methods.filter(|methods| methods.values().any(|def| std::ptr::eq(&**def, frame.def)));
        own.next()?.get(name).map(|def| &**def)
    }

    /// A weight by name: in `prepare` reading it is a step.
    fn weight(&mut self, name: &str, value: &Value<'m>) -> Value<'m> {
        match value {
            Value::Tensor(tensor) if self.steps.is_some() => {
                self.weight_step(name, TensorType { dtype: tensor.dtype, shape: tensor.shape.clone() })
            }
            _ => value.clone(),
        }
    }

    /// The step that reads a weight, the same for each reading.
    pub fn weight_step(&mut self, name: &str, ty: TensorType) -> Value<'m> {
        let steps = self.steps.as_mut().expect("invariant: weights exist in prepare");
        let op = PrepareOp::Weight(name.to_owned());
        let at = steps.iter().position(|step| step.op == op).unwrap_or_else(|| {
            steps.push(PrepareStep { op, ty, contiguous: true, span: Span::default() });
            steps.len() - 1
        });
        Value::Prepared(at)
    }
}

/// `torch.<name>` as a dtype.
fn torch_dtype(name: &str) -> Option<crate::dtype::DType> {
    crate::dtype::DType::ALL.into_iter().find(|d| d.torch_name() == name)
}
