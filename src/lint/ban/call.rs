//! Calls on the way of forward: what is called decides, under whatever name it is called.
//!
//! A function of the file is entered with the values of its arguments. A function of another file is reported where a tensor is
//! among its arguments, since what it computes is not read (F012).

use super::Mode;
use super::events::Kind;
use super::value::{
    ALLOCATIONS, BYPASSES, LENIENT_FUNCTIONS, LENIENT_METHODS, METADATA_METHODS, QUERIES, SHAPE_METHODS, TENSOR, Value,
};
use super::walk::{Scope, Walker};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Keyword, Param, ParamKind};

type Named<'a> = Vec<(Option<&'a str>, Value<'a>)>;

const DEPTH: usize = 24;
/// Decorators that leave what a function computes as it is.
const DECORATORS: &[&str] = &[
    "builtins.staticmethod",
    "builtins.classmethod",
    "builtins.property",
    "torch.no_grad",
    "torch.inference_mode",
    "functools.lru_cache",
    "functools.cache",
    "typing.override",
];

impl<'a> Walker<'a> {
    pub fn call_expr(
        &mut self,
        call: &'a Expr,
        func: &'a Expr,
        args: &'a [Expr],
        keywords: &'a [Keyword],
        scope: &mut Scope<'a>,
    ) -> Value<'a> {
        // The grid of a launch may be a function of the configuration.
        if let ExprKind::Subscript { value: _, index } = &func.kind
            && let Value::Lambda(params, body) = self.eval(index, scope)
        {
            self.lambda(params, body, &[], scope);
        }
        let callee = self.eval(func, scope);
        let mut values: Vec<Value<'a>> = Vec::new();
        for arg in args {
            match (self.eval(arg, scope), &arg.kind) {
                (Value::List(items), ExprKind::Starred(_)) => values.extend(items),
                (value, ExprKind::Starred(_)) => values.push(value.element()),
                (value, _) => values.push(value),
            }
        }
        let named: Named<'a> = keywords.iter().map(|k| (k.name.as_deref(), self.eval(&k.value, scope))).collect();
        if let (Value::Path(path), Some(text)) = (&callee, args.get(1)) {
            match (path.as_str(), &text.kind) {
                ("builtins.getattr", ExprKind::Str(name)) => return self.attribute(call.span, &values[0], name),
                ("builtins.getattr", _) if !matches!(values[0], Value::Number) => {
                    self.event(call.span, Kind::Unread("`getattr` of a name that is not written here".to_owned()));
                    return Value::Unknown;
                }
                _ => {}
            }
        }
        // What a registered name of a module holds.
        if let ExprKind::Attribute { value: object, name } = &func.kind
            && matches!(name.as_str(), "register_buffer" | "register_parameter")
            && let Some(ExprKind::Str(field)) = args.first().map(|e| &e.kind)
            && let Value::Instance(class) = self.eval(object, scope)
        {
            self.set_field(class, field, TENSOR);
            return Value::Number;
        }
        if matches!(&callee, Value::Path(path) if path == "builtins.super") {
            return scope.class.map_or(Value::Unknown, Value::Super);
        }
        self.call(call.span, &callee, values, named, scope)
    }

    fn call(
        &mut self,
        span: Span,
        callee: &Value<'a>,
        args: Vec<Value<'a>>,
        named: Named<'a>,
        scope: &mut Scope<'a>,
    ) -> Value<'a> {
        let tensor = args.iter().chain(named.iter().map(|(_, v)| v)).any(Value::holds_tensor);
        match callee {
            Value::Kernel(kernel) => {
                if self.muted == 0 {
                    self.launched.insert(kernel);
                }
                // A launch returns nothing; what is made of it is judged as if it were the output.
                TENSOR
            }
            Value::Module => {
                self.event(span, Kind::Module);
                TENSOR
            }
            Value::Path(path) => self.path(span, path, args, named, scope),
            Value::Function(def, bound) => self.function(def, *bound, bound.unwrap_or_default(), args, named),
            Value::Lambda(params, body) => self.lambda(params, body, &args, scope),
            Value::Class(class) => Value::Instance(class),
            Value::Instance(class) => match self.file.method(class, "forward").or_else(|| self.file.method(class, "__call__")) {
                Some((owner, def)) => self.function(def, Some(class), owner, args, named),
                None => self.unknown(span, tensor),
            },
            Value::Method { name, permuted } => self.method(span, name, *permuted),
            Value::Bypass(name) => {
                self.event(span, Kind::Bypass(name.clone()));
                TENSOR
            }
            Value::Any(all) => {
                let results = all.iter().map(|one| self.call(span, one, args.clone(), named.clone(), scope)).collect();
                Value::any(results)
            }
            Value::Number if !tensor => Value::Number,
            // A table of functions asked by `get`, or an attribute that nothing here sets.
            Value::Number | Value::Tensor { .. } | Value::Super(_) | Value::List(_) | Value::Unknown => {
                self.unknown(span, tensor)
            }
        }
    }

    fn unknown(&mut self, span: Span, tensor: bool) -> Value<'a> {
        if !tensor {
            return Value::Unknown;
        }
        self.event(span, Kind::Unread("a function that is not in this file is given a tensor".to_owned()));
        TENSOR
    }

    fn method(&mut self, span: Span, name: &str, permuted: bool) -> Value<'a> {
        let lenient = self.mode == Mode::Lenient;
        if METADATA_METHODS.contains(&name) {
            return Value::Number;
        }
        let copies = matches!(name, "reshape" | "contiguous" | "clone" | "flatten");
        let allowed = SHAPE_METHODS.contains(&name) || lenient && LENIENT_METHODS.contains(&name);
        if allowed && permuted && copies {
            self.event(span, Kind::Copy(name.to_owned()));
        }
        if !allowed {
            self.event(span, Kind::Method(name.to_owned()));
        }
        Value::Tensor { permuted: matches!(name, "permute" | "transpose") || permuted && !copies }
    }

    fn path(&mut self, span: Span, path: &str, mut args: Vec<Value<'a>>, named: Named<'a>, scope: &mut Scope<'a>) -> Value<'a> {
        let tensor = args.iter().chain(named.iter().map(|(_, v)| v)).any(Value::holds_tensor);
        if BYPASSES.iter().any(|b| path == *b || path.strip_prefix(b).is_some_and(|rest| rest.starts_with('.'))) {
            self.event(span, Kind::Bypass(path.to_owned()));
            return Value::Bypass(path.to_owned());
        }
        let (root, rest) = path.split_once('.').unwrap_or((path, ""));
        match (root, rest) {
            ("torch", _) if rest.starts_with("nn.functional.") => {
                self.event(span, Kind::Functional(path.to_owned()));
                TENSOR
            }
            ("torch", "nn.Parameter" | "nn.parameter.Parameter" | "nn.Buffer") if self.muted > 0 => TENSOR,
            ("torch", "nn.ModuleList" | "nn.ModuleDict" | "nn.ParameterList") if matches!(args.first(), Some(Value::List(_))) => {
                args.swap_remove(0)
            }
            ("torch", _) if rest.starts_with("nn.") && !rest.starts_with("nn.init") => Value::Module,
            ("torch", _) => {
                if QUERIES.contains(&rest) {
                    return Value::Number;
                }
                let lenient = self.mode == Mode::Lenient && LENIENT_FUNCTIONS.contains(&rest);
                if !ALLOCATIONS.contains(&rest) && !lenient {
                    self.event(span, Kind::Torch(path.to_owned()));
                }
                TENSOR
            }
            ("triton", _) if !tensor => Value::Number,
            ("builtins", _) => self.builtin(span, rest, tensor, args, scope),
            ("functools", "partial") if !args.is_empty() => {
                // The bound arguments may be tensors: what is called then is told at once.
                let callee = args.remove(0);
                if let Value::Function(..) | Value::Lambda(..) | Value::Any(_) = callee {
                    self.muted += usize::from(!tensor);
                    self.call(span, &callee, args, named, scope);
                    self.muted -= usize::from(!tensor);
                }
                callee
            }
            ("functools", "reduce") if !args.is_empty() => {
                let callee = args.remove(0);
                let element = args.first().map_or(Value::Unknown, Value::element);
                self.call(span, &callee, vec![element.clone(), element], Vec::new(), scope)
            }
            ("operator" | "math", _) if tensor => self.operator(span, path),
            ("operator" | "math", _) => Value::Number,
            _ => self.unknown(span, tensor),
        }
    }

    fn builtin(&mut self, span: Span, name: &str, tensor: bool, mut args: Vec<Value<'a>>, scope: &mut Scope<'a>) -> Value<'a> {
        match name {
            "exec" | "eval" | "compile" | "__import__" => {
                self.event(span, Kind::Bypass(name.to_owned()));
                Value::Bypass(name.to_owned())
            }
            "len" | "isinstance" | "print" | "hasattr" | "id" | "type" | "range" | "repr" | "str" | "callable" => Value::Number,
            "list" | "tuple" | "reversed" | "iter" | "next" | "sorted" | "dict" => args.pop().unwrap_or(Value::Number),
            "zip" => Value::List(vec![Value::List(args.iter().map(Value::element).collect())]),
            "enumerate" => {
                let element = args.first().map_or(Value::Unknown, Value::element);
                Value::List(vec![Value::List(vec![Value::Number, element])])
            }
            "map" | "filter" if !args.is_empty() => {
                let callee = args.remove(0);
                let elements = args.iter().map(Value::element).collect();
                Value::List(vec![self.call(span, &callee, elements, Vec::new(), scope)])
            }
            _ if tensor
                && matches!(
                    name,
                    "abs" | "sum" | "pow" | "round" | "min" | "max" | "float" | "int" | "bool" | "divmod" | "any" | "all"
                ) =>
            {
                self.operator(span, name)
            }
            "abs" | "sum" | "pow" | "round" | "min" | "max" | "float" | "int" | "bool" | "divmod" | "any" | "all" => {
                Value::Number
            }
            _ => self.unknown(span, tensor),
        }
    }

    fn lambda(&mut self, params: &'a [Param], body: &'a Expr, args: &[Value<'a>], scope: &mut Scope<'a>) -> Value<'a> {
        if self.way.len() >= DEPTH {
            return Value::Unknown;
        }
        let mut inner = Scope { names: scope.names.clone(), class: scope.class, returned: Vec::new() };
        for (i, param) in params.iter().enumerate() {
            inner.names.insert(param.name.clone(), args.get(i).cloned().unwrap_or(Value::Unknown));
        }
        self.way.push("lambda");
        let value = self.eval(body, &mut inner);
        self.way.pop();
        value
    }

    /// Enters a function of the file; `class` is the one that defines it, for `super()`.
    pub fn function(
        &mut self,
        def: &'a FunctionDef,
        bound: Option<&'a str>,
        class: &'a str,
        args: Vec<Value<'a>>,
        named: Named<'a>,
    ) -> Value<'a> {
        let first = self.entered.is_empty();
        let again = self.entered.iter().filter(|entered| std::ptr::eq(**entered, def)).count();
        if again > 1 || self.entered.len() >= DEPTH {
            self.event(
                def.name_span,
                Kind::Unread(format!("`{}` calls itself, or is reached too deeply to be followed", def.name)),
            );
            return Value::Unknown;
        }
        for decorator in &def.decorators {
            let mut called = decorator;
            if let ExprKind::Call { func, .. } = &decorator.kind {
                called = func;
            }
            if let Value::Path(path) = self.eval(called, &mut Scope::default()) {
                if BYPASSES.iter().any(|b| path.starts_with(b)) {
                    self.event(decorator.span, Kind::Bypass(path));
                } else if !DECORATORS.contains(&path.as_str()) {
                    self.event(decorator.span, Kind::Unread(format!("the decorator of `{}` is not read", def.name)));
                }
            } else {
                self.event(decorator.span, Kind::Unread(format!("the decorator of `{}` is not read", def.name)));
            }
        }
        let mut scope = Scope { class: Some(class).filter(|c| !c.is_empty()), ..Scope::default() };
        let mut values = bound.map(Value::Instance).into_iter().chain(args);
        for param in &def.params {
            let given = named.iter().find(|(name, _)| *name == Some(param.name.as_str())).map(|(_, v)| v.clone());
            let value = match param.kind {
                ParamKind::VarArgs => Value::List(values.by_ref().chain(given).collect()),
                ParamKind::VarKeywords => Value::List(named.iter().map(|(_, v)| v.clone()).collect()),
                ParamKind::Positional => given.or_else(|| values.next()).unwrap_or(Value::Unknown),
                ParamKind::KeywordOnly => given.unwrap_or(Value::Unknown),
            };
            let value = match (value, &param.default) {
                // What `**values` may give.
                (Value::Unknown, _) if named.iter().any(|(name, _)| name.is_none()) => {
                    let given = named.iter().filter(|(name, _)| name.is_none()).map(|(_, v)| v.element());
                    Value::any(given.collect())
                }
                (Value::Unknown, Some(default)) => self.eval(default, &mut Scope::default()),
                (value, _) => value,
            };
            scope.names.insert(param.name.clone(), value);
        }
        self.entered.push(def);
        if !first {
            self.way.push(&def.name);
        }
        self.block(&def.body, &mut scope);
        self.entered.pop();
        if !first {
            self.way.pop();
        }
        Value::any(scope.returned)
    }
}
