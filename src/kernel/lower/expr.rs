//! Expressions.

use super::flow::Condition;
use super::region::{BlockPtr, Descriptor};
use super::types::{Scalar, Ty};
use super::value::{Tensor, Val};
use super::{Lower, builtins, module_level};
use crate::diag::Result;
use crate::kernel::ir::{InstKind, Region};
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::{BoolOp, CompareOp, Expr, ExprKind, FStringPart};

impl<'a> Lower<'a, '_> {
    pub fn expr(&mut self, expr: &'a Expr) -> Result<Val<'a>> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Name(name) => self.name(span, name),
            ExprKind::Int(i) => Ok(Val::int(*i)),
            ExprKind::BigInt(text) => Err(self.unsupported(span, format!("the integer {text} beyond 64 bits"))),
            ExprKind::Float(x) => Ok(Val::Const(Constant::Float(*x))),
            ExprKind::Str(s) => Ok(Val::Const(Constant::Str(s.clone()))),
            ExprKind::Bool(b) => Ok(Val::bool(*b)),
            ExprKind::None => Ok(Val::Const(Constant::None)),
            ExprKind::FString(parts) => {
                let mut text = String::new();
                for part in parts {
                    match part {
                        FStringPart::Literal(literal) => text.push_str(literal),
                        FStringPart::Expr(inner) => match self.expr(inner)? {
                            Val::Type(scalar) => text.push_str(&scalar.short_name()),
                            value => match value.to_constant() {
                                Some(Constant::Str(s)) => text.push_str(&s),
                                Some(value) => text.push_str(&value.to_string()),
                                None => return Err(self.rejected(inner.span, "a run-time value in an f-string")),
                            },
                        },
                    }
                }
                Ok(Val::Const(Constant::Str(text)))
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    match &item.kind {
                        ExprKind::Starred(inner) => match self.expr(inner)? {
                            Val::Tuple(more) => values.extend(more),
                            other => return Err(self.type_error(inner.span, format!("cannot unpack {}", other.describe()))),
                        },
                        _ => values.push(self.expr(item)?),
                    }
                }
                Ok(Val::Tuple(values))
            }
            ExprKind::Unary(op, operand) => {
                let value = self.expr(operand)?;
                self.b.span = span;
                self.unary(span, *op, &value)
            }
            ExprKind::Binary(op, left, right) => {
                let left = self.expr(left)?;
                let right = self.expr(right)?;
                self.b.span = span;
                self.binary(span, *op, &left, &right)
            }
            ExprKind::Compare { left, rest } => {
                let left = self.expr(left)?;
                self.comparison(span, left, rest)
            }
            ExprKind::Logical(op, operands) => self.logical_expr(span, *op, operands),
            ExprKind::Conditional { test, then, other } => match self.condition(test)? {
                Condition::Known(true) => self.expr(then),
                Condition::Known(false) => self.expr(other),
                Condition::Runtime(condition) => self.conditional(span, &condition, then, other),
            },
            ExprKind::Call { func, args, keywords } => self.call_expr(span, func, args, keywords),
            ExprKind::Attribute { value, name } => {
                let value = self.expr(value)?;
                self.b.span = span;
                self.attribute(span, value, name)
            }
            ExprKind::Subscript { value, index } => self.subscript(span, value, index),
            ExprKind::Slice { lower, upper, step } => {
                let mut bounds = [None, None, None];
                for (slot, bound) in bounds.iter_mut().zip([lower, upper, step]) {
                    if let Some(bound) = bound {
                        *slot = Some(self.expr(bound)?).filter(|value| !value.is_none());
                    }
                }
                Ok(Val::Slice(Box::new(bounds)))
            }
            ExprKind::Ellipsis => Err(self.rejected(span, "`...` in a kernel")),
            ExprKind::Dict(pairs) if self.host => self.dict(pairs),
            ExprKind::Lambda { params, body } if self.host => Ok(Val::Lambda(params, body)),
            ExprKind::Other("list comprehension") => self.comprehension(span),
            ExprKind::Other("generator expression") if self.host => self.comprehension(span),
            ExprKind::Other("assignment expression") => Err(self.unsupported(span, "an assignment expression")),
            ExprKind::Dict(_) => Err(self.rejected(span, "a dict in a kernel")),
            ExprKind::Starred(_) => Err(self.rejected(span, "`*` outside a call or tuple")),
            ExprKind::Lambda { .. } => Err(self.rejected(span, "a lambda in a kernel; use a @triton.jit function")),
            ExprKind::Other(what) => Err(self.rejected(span, format!("a {what} in a kernel"))),
        }
    }

    fn name(&mut self, span: Span, name: &str) -> Result<Val<'a>> {
        if let Some(value) = self.scope.get(name) {
            return Ok(value.clone());
        }
        if let Some(value) = self.global(span, self.module, name)? {
            return Ok(value);
        }
        if matches!(name, "isinstance" | "hasattr" | "getattr") || (self.host && module_level::is_python(name)) {
            return Ok(Val::Path(format!("python.{name}")));
        }
        if self.host && name == "__name__" {
            return Ok(Val::Const(Constant::Str("module".to_owned())));
        }
        if let Some(builtin) = builtins::python(name) {
            return Ok(Val::Builtin(builtin));
        }
        let mut diagnostic = self.rejected(span, format!("`{name}` is not defined here"));
        diagnostic.notes.push(format!("names in scope: {}", self.scope.names().join(", ")));
        diagnostic.help = Some("a name bound in one branch of an `if`, or first inside a loop, is gone behind it".to_owned());
        Err(diagnostic)
    }

    /// `a < b`, or `a < b < c`, which is `a < b and b < c` with `b` evaluated once.
    fn comparison(&mut self, span: Span, mut left: Val<'a>, rest: &'a [(CompareOp, Expr)]) -> Result<Val<'a>> {
        let mut runtime = Vec::new();
        let mut held = Val::bool(true);
        for (op, right) in rest {
            let value = self.expr(right)?;
            self.b.span = span;
            held = self.compare(span, *op, &left, &value)?;
            match &held {
                Val::Tensor(tensor) => runtime.push(tensor.clone()),
                Val::Const(constant) if !constant.truthy() => return Ok(held),
                _ => {}
            }
            left = value;
        }
        self.all(span, true, runtime, held)
    }

    /// Run-time values joined by `and` or `or`, from the right as Triton does; `last` where there are none.
    fn all(&mut self, span: Span, and: bool, mut runtime: Vec<Tensor>, last: Val<'a>) -> Result<Val<'a>> {
        let Some(mut result) = runtime.pop() else { return Ok(last) };
        while let Some(left) = runtime.pop() {
            match self.logical(span, and, &left, &result)? {
                Val::Tensor(tensor) => result = tensor,
                other => return Ok(other),
            }
        }
        Ok(Val::Tensor(result))
    }

    pub fn attribute(&mut self, span: Span, value: Val<'a>, name: &str) -> Result<Val<'a>> {
        let unknown =
            |lower: &Self, value: &Val<'a>| lower.unsupported(span, format!("attribute `{name}` of {}", value.describe()));
        match &value {
            Val::Path(path) => self.path_attribute(span, &path.clone(), name),
            Val::Tensor(tensor) => match name {
                "dtype" => Ok(Val::Type(tensor.ty.scalar)),
                "type" => Ok(Val::BlockType(tensor.ty.clone())),
                "shape" => Ok(Val::Tuple(tensor.ty.shape.iter().map(|&n| Val::int(n as i64)).collect())),
                "numel" => Ok(Val::int(tensor.ty.shape.iter().product::<usize>() as i64)),
                "T" => {
                    if tensor.ty.shape.len() != 2 {
                        return Err(self.type_error(span, format!("`.T` of {}", tensor.ty)));
                    }
                    Ok(Val::Tensor(self.permute(tensor, &[1, 0])))
                }
                _ => match builtins::member(name) {
                    Some(builtin) => Ok(Val::Method(Box::new(value), builtin)),
                    None => Err(unknown(self, &value)),
                },
            },
            // A constexpr that is a type is asked for what it holds.
            Val::Type(_) | Val::Tuple(_) if name == "value" => Ok(value),
            Val::Type(scalar) => self.type_attribute(span, *scalar, name),
            Val::Class(class, body) => self.class_attribute(span, class, body, name),
            Val::BlockPtr(pointer) => self.block_ptr_attribute(span, pointer, &value, name),
            Val::Descriptor(descriptor) => self.descriptor_attribute(span, descriptor, &value, name),
            Val::HostTensor(dtype, shape) => match name {
                "dtype" => Ok(Val::Type(Scalar::Num(*dtype))),
                "shape" => Ok(Val::Tuple(shape.iter().map(|&n| Val::int(n)).collect())),
                _ => Err(unknown(self, &value)),
            },
            Val::BlockType(ty) => match name {
                "scalar" => Ok(Val::Type(ty.scalar)),
                "element_ty" if ty.is_block() => Ok(Val::Type(ty.scalar)),
                "shape" => Ok(Val::Tuple(ty.shape.iter().map(|&n| Val::int(n as i64)).collect())),
                "numel" => Ok(Val::int(ty.shape.iter().product::<usize>() as i64)),
                "is_block" | "get_block_shapes" => Ok(Val::TypeMethod(ty.clone(), name.to_owned())),
                _ => self.type_attribute(span, ty.scalar, name),
            },
            Val::Const(_) if name == "value" => Ok(value),
            Val::Const(Constant::Int(_)) if self.host && builtins::integer_method(name).is_some() => {
                builtins::integer_method(name)
                    .map(|b| Val::Method(Box::new(value.clone()), b))
                    .ok_or_else(|| unknown(self, &value))
            }
            Val::Const(Constant::Str(text)) => Ok(Val::TextMethod(text.clone(), name.to_owned())),
            // A Python number has the methods of a run-time one: `(2.0).to(tl.float16)`.
            Val::Const(Constant::Int(_) | Constant::Float(_) | Constant::Bool(_)) if builtins::member(name).is_some() => {
                builtins::member(name).map(|b| Val::Method(Box::new(value.clone()), b)).ok_or_else(|| unknown(self, &value))
            }
            _ if matches!(name, "append" | "extend" | "insert" | "pop" | "items" | "keys" | "values") => {
                Err(self.rejected(span, format!("`.{name}`: kernels have no lists or dicts that change")))
            }
            _ => Err(unknown(self, &value)),
        }
    }

    /// What kernels ask of a block pointer: its type is that of a pointer to the elements.
    fn block_ptr_attribute(&mut self, span: Span, pointer: &BlockPtr, value: &Val<'a>, name: &str) -> Result<Val<'a>> {
        match name {
            "dtype" | "type" => Ok(Val::Type(pointer.base.ty.scalar)),
            _ => match builtins::member(name) {
                Some(builtin) => Ok(Val::Method(Box::new(value.clone()), builtin)),
                None => Err(self.unsupported(span, format!("attribute `{name}` of {}", value.describe()))),
            },
        }
    }

    fn descriptor_attribute(&mut self, span: Span, desc: &Descriptor, value: &Val<'a>, name: &str) -> Result<Val<'a>> {
        let tensors = |list: &[Tensor]| Val::Tuple(list.iter().cloned().map(Val::Tensor).collect());
        match name {
            "dtype" => Ok(Val::Type(desc.block_type().scalar)),
            "block_type" => Ok(Val::BlockType(desc.block_type())),
            // What its type is asked for (`.type.block_type`), the descriptor answers.
            "type" => Ok(value.clone()),
            "block_shape" => Ok(Val::Tuple(desc.block.iter().map(|&n| Val::int(n as i64)).collect())),
            "shape" => Ok(tensors(&desc.shape)),
            "strides" => Ok(tensors(&desc.strides)),
            _ => match builtins::descriptor_method(name) {
                Some(builtin) => Ok(Val::Method(Box::new(value.clone()), builtin)),
                None => Err(self.unsupported(span, format!("`.{name}` of a descriptor"))),
            },
        }
    }

    fn type_attribute(&mut self, span: Span, scalar: Scalar, name: &str) -> Result<Val<'a>> {
        match (name, scalar) {
            ("element_ty", Scalar::Ptr(to)) => Ok(Val::Type(Scalar::Num(to))),
            ("scalar", _) => Ok(Val::Type(scalar)),
            ("primitive_bitwidth" | "int_bitwidth", _) => Ok(Val::int(i64::from(scalar.bits()))),
            ("element_ty", Scalar::Num(_)) => {
                let mut diagnostic =
                    self.rejected(span, format!("`element_ty` of {scalar}: only pointers and blocks have elements"));
                diagnostic.help = Some("ask for `.scalar`, which every type has".to_owned());
                Err(diagnostic)
            }
            ("itemsize", _) => Ok(Val::int(i64::from(scalar.bits() / 8))),
            ("name", _) => Ok(Val::Const(Constant::Str(scalar.short_name()))),
            (_, _) if name.starts_with("is_") => Ok(Val::TypeMethod(Ty::scalar(scalar), name.to_owned())),
            _ => Err(self.unsupported(span, format!("attribute `{name}` of a type"))),
        }
    }

    fn logical_expr(&mut self, span: Span, op: BoolOp, operands: &'a [Expr]) -> Result<Val<'a>> {
        let and = op == BoolOp::And;
        let mut runtime: Vec<Tensor> = Vec::new();
        let mut last = Val::Const(Constant::None);
        for operand in operands {
            let value = self.expr(operand)?;
            match &value {
                Val::Tensor(tensor) => runtime.push(tensor.clone()),
                other => {
                    let Some(constant) = other.to_constant() else {
                        return Err(self.type_error(operand.span, format!("{} as an operand of and, or", other.describe())));
                    };
                    // A constant that decides the whole ends the evaluation, as in Python.
                    if constant.truthy() != and {
                        return Ok(value);
                    }
                }
            }
            last = value;
        }
        self.b.span = span;
        self.all(span, and, runtime, last)
    }

    fn conditional(&mut self, span: Span, condition: &Tensor, then: &'a Expr, other: &'a Expr) -> Result<Val<'a>> {
        let branch = |lower: &mut Self, expr: &'a Expr| -> Result<(Region, Ty)> {
            lower.b.open();
            let value = lower.expr(expr)?;
            lower.b.span = expr.span;
            let tensor = lower.tensor_of(expr.span, &value)?;
            Ok((lower.b.close(Vec::new(), vec![tensor.value]), tensor.ty))
        };
        let (then, a) = branch(self, then)?;
        let (otherwise, b) = branch(self, other)?;
        if a != b {
            return Err(self.type_error(span, format!("the branches of a conditional differ in type: {a} and {b}")));
        }
        self.b.span = span;
        let value = self.b.inst(InstKind::If { condition: condition.value, then, otherwise }, a.ir());
        Ok(Val::Tensor(self.tensor(value, a)))
    }

    fn subscript(&mut self, span: Span, value: &'a Expr, index: &'a Expr) -> Result<Val<'a>> {
        let base = self.expr(value)?;
        let at = self.expr(index)?;
        self.b.span = span;
        match base {
            Val::Tuple(items) => {
                if let Val::Slice(bounds) = &at {
                    return self.tuple_slice(index.span, &items, bounds);
                }
                let Val::Const(Constant::Int(i)) = at else {
                    return Err(self.rejected(index.span, "a tuple's index must be a compile-time integer"));
                };
                let wrapped = if i < 0 { i + items.len() as i64 } else { i };
                let item = usize::try_from(wrapped).ok().and_then(|i| items.get(i).cloned());
                item.ok_or_else(|| self.rejected(index.span, format!("index {i} of a tuple of {}", items.len())))
            }
            Val::Tensor(mut tensor) => {
                let parts = match at {
                    Val::Tuple(parts) => parts,
                    part => vec![part],
                };
                let rank = tensor.ty.shape.len();
                if rank + parts.len() > builtins::MAX_RANK {
                    return Err(self.unsupported(span, format!("a block of more than {} axes", builtins::MAX_RANK)));
                }
                let mut kept = 0;
                for (axis, part) in parts.iter().enumerate() {
                    match part {
                        part if part.is_none() => tensor = self.expand_dims(&tensor, axis),
                        Val::Slice(bounds) if bounds.iter().all(Option::is_none) => {
                            kept += 1;
                            if kept > rank {
                                return Err(self.type_error(span, format!("too many indices for a block of rank {rank}")));
                            }
                        }
                        _ => {
                            let message = "an index into a block; only `:` and `None` are allowed";
                            return Err(self.rejected(index.span, message));
                        }
                    }
                }
                Ok(Val::Tensor(tensor))
            }
            Val::Dict(pairs) => {
                let key = at.to_constant();
                let found = pairs.into_iter().find(|(known, _)| Some(known) == key.as_ref());
                found.map(|(_, value)| value).ok_or_else(|| self.unsupported(index.span, format!("the key {}", at.describe())))
            }
            other => Err(self.type_error(span, format!("a subscript of {}", other.describe()))),
        }
    }

    /// `items[lower:upper:step]` of a tuple, by Python's rule.
    fn tuple_slice(&mut self, span: Span, items: &[Val<'a>], bounds: &[Option<Val<'a>>; 3]) -> Result<Val<'a>> {
        let mut ints = [None; 3];
        for (slot, bound) in ints.iter_mut().zip(bounds) {
            let Some(bound) = bound else { continue };
            let Val::Const(Constant::Int(i)) = bound else {
                return Err(self.rejected(span, "a slice's bound must be a compile-time integer"));
            };
            *slot = Some(*i);
        }
        let [lower, upper, step] = ints;
        let step = step.unwrap_or(1);
        if step == 0 {
            return Err(self.rejected(span, "a slice's step of zero"));
        }
        let n = items.len() as i64;
        let (least, greatest) = if step > 0 { (0, n) } else { (-1, n - 1) };
        let clamp = |bound: i64| (if bound < 0 { bound.saturating_add(n) } else { bound }).clamp(least, greatest);
        let mut i = lower.map_or(if step > 0 { 0 } else { n - 1 }, clamp);
        let end = upper.map_or(if step > 0 { n } else { -1 }, clamp);
        let mut picked = Vec::new();
        while (step > 0 && i < end) || (step < 0 && i > end) {
            picked.push(items[i as usize].clone());
            i = i.saturating_add(step);
        }
        Ok(Val::Tuple(picked))
    }
}
