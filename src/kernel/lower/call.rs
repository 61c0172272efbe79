//! Calls: argument binding, inlining of `@triton.jit` helpers, dispatch to the builtins.

use super::builtins::Builtin;
use super::types::{Scalar, Ty};
use super::value::{Scope, Val};
use super::{Frame, Lower, dialect};
use crate::diag::Result;
use crate::dtype::DType;
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Keyword, ParamKind};

/// An argument with its place.
#[derive(Clone, Debug)]
pub struct Arg<'a> {
    pub val: Val<'a>,
    pub span: Span,
}

/// The arguments of a builtin, in the order of its parameters.
pub struct Args<'a> {
    pub builtin: &'static Builtin,
    pub span: Span,
    bound: Vec<Option<Arg<'a>>>,
    /// What `*name` took.
    pub rest: Vec<Arg<'a>>,
}

/// Calls nested deeper than this are refused.
const MAX_CALLS: usize = 64;

/// Arguments that Triton had before 3.2, by function, and what stands for them.
const GONE: &[(&str, &str, &str)] =
    &[("dot", "trans_a", "`tl.dot(tl.trans(a), b)`"), ("dot", "trans_b", "`tl.dot(a, tl.trans(b))`")];

impl<'a> Args<'a> {
    /// An argument that was given and is not None.
    pub fn given(&self, param: &str) -> Option<&Arg<'a>> {
        let at = self.builtin.params.iter().position(|p| p.trim_end_matches('=') == param)?;
        self.bound[at].as_ref().filter(|arg| !arg.val.is_none())
    }
}

impl<'a> Lower<'a, '_> {
    pub fn call_expr(&mut self, span: Span, func: &'a Expr, args: &'a [Expr], keywords: &'a [Keyword]) -> Result<Val<'a>> {
        let path = if self.names().dialect { self.names().path(func) } else { None };
        if let Some(offset) = dialect::unwrapped(path.as_deref(), args) {
            return self.expr(offset);
        }
        let callee = self.expr(func)?;
        // Triton evaluates keyword arguments before positional ones.
        let mut named = Vec::with_capacity(keywords.len());
        let mut unpacked: Vec<(Constant, Val<'a>)> = Vec::new();
        for keyword in keywords {
            let Some(name) = keyword.name.as_deref() else {
                match self.expr(&keyword.value)? {
                    Val::Dict(pairs) if self.host => unpacked.extend(pairs),
                    _ => return Err(self.rejected(keyword.span, "`**` in a call")),
                }
                continue;
            };
            named.push((name, Arg { val: self.expr(&keyword.value)?, span: keyword.value.span }));
        }
        for (key, val) in &unpacked {
            if let Some(name) = key.as_str() {
                named.push((name, Arg { val: val.clone(), span }));
            }
        }
        let mut positional = Vec::with_capacity(args.len());
        for arg in args {
            match &arg.kind {
                ExprKind::Starred(inner) => match self.expr(inner)? {
                    Val::Tuple(items) => positional.extend(items.into_iter().map(|val| Arg { val, span: arg.span })),
                    other => return Err(self.type_error(arg.span, format!("cannot unpack {}", other.describe()))),
                },
                _ => positional.push(Arg { val: self.expr(arg)?, span: arg.span }),
            }
        }
        self.b.span = span;
        match callee {
            Val::Function(function) => self.call_jit(span, function, positional, named),
            Val::Builtin(builtin) => {
                if self.names().dialect {
                    positional = self.without_offsets(span, builtin.name, positional)?;
                }
                self.call_builtin(span, builtin, positional, named)
            }
            Val::Method(object, builtin) => {
                positional.insert(0, Arg { val: *object, span: func.span });
                self.call_builtin(span, builtin, positional, named)
            }
            Val::TypeMethod(ty, name) => self.type_method(span, &ty, &name),
            Val::TextMethod(text, name) => self.text_method(span, &text, &name, &positional, &named),
            Val::Host(function) => self.call_host(span, function, positional, named),
            Val::Path(path) if path == "triton.language.dtype" => self.dtype_call(span, &positional),
            Val::Path(path) if self.host || path.starts_with("python.") => self.host_call(span, &path, &positional, &named),
            // A type is called to convert: `tl.float32(x)` is not Triton, `tl.constexpr(x)` is.
            other => Err(self.rejected(span, format!("a call of {}", other.describe()))),
        }
    }

    /// Lowers a builtin with arguments that are at hand.
    pub fn call_builtin(
        &mut self,
        span: Span,
        builtin: &'static Builtin,
        positional: Vec<Arg<'a>>,
        named: Vec<(&str, Arg<'a>)>,
    ) -> Result<Val<'a>> {
        let mut args = Args { builtin, span, bound: vec![None; builtin.params.len()], rest: Vec::new() };
        let mut next = 0;
        for arg in positional {
            match builtin.params.get(next) {
                Some(param) if param.starts_with('*') => args.rest.push(arg),
                Some(_) => {
                    args.bound[next] = Some(arg);
                    next += 1;
                }
                None => {
                    let message = format!("`{}` takes at most {} arguments", builtin.name, builtin.params.len());
                    return Err(self.rejected(arg.span, message));
                }
            }
        }
        for (name, arg) in named {
            let at = builtin.params.iter().position(|p| p.trim_end_matches('=') == name && !p.starts_with('*'));
            let Some(at) = at else {
                // `shape=` and `dims=` may name what is written as `*shape`.
                if builtin.params.iter().any(|p| p.strip_prefix('*') == Some(name)) {
                    args.rest.push(arg);
                    continue;
                }
                if let Some((_, _, instead)) = GONE.iter().find(|(of, gone, _)| (*of, *gone) == (builtin.name, name)) {
                    let mut diagnostic = self.rejected(arg.span, format!("`{}` has no argument `{name}` any more", builtin.name));
                    diagnostic.help = Some(format!("write {instead}"));
                    return Err(diagnostic);
                }
                let mut diagnostic = self.unsupported(arg.span, format!("argument `{name}` of `{}`", builtin.name));
                diagnostic.notes.push(format!("known: {}", builtin.params.join(", ")));
                return Err(diagnostic);
            };
            if args.bound[at].is_some() {
                return Err(self.rejected(arg.span, format!("argument `{name}` of `{}` is given twice", builtin.name)));
            }
            args.bound[at] = Some(arg);
        }
        for (param, arg) in builtin.params.iter().zip(&args.bound) {
            if arg.is_none() && !param.ends_with('=') && !param.starts_with('*') {
                return Err(self.rejected(span, format!("`{}` needs an argument `{param}`", builtin.name)));
            }
        }
        (builtin.lower)(self, &args)
    }

    /// Inlines a helper.
    pub fn call_jit(
        &mut self,
        span: Span,
        function: &'a FunctionDef,
        positional: Vec<Arg<'a>>,
        named: Vec<(&str, Arg<'a>)>,
    ) -> Result<Val<'a>> {
        self.enter_call(span, function)?;
        let module = self.modules.of(function.name_span);
        let scope = self.bind_params(span, function, positional, named)?;
        for (name, value) in scope.iter() {
            for tensor in value.flattened() {
                self.b.name(tensor.value, name);
            }
        }
        let caller_scope = std::mem::replace(&mut self.scope, scope);
        let caller_defs = std::mem::take(&mut self.defs);
        let caller_pending = std::mem::take(&mut self.pending);
        let caller_frame = std::mem::replace(&mut self.frame, Frame { entry: false, loops: 0 });
        let caller_module = std::mem::replace(&mut self.module, module);
        self.calls.push((function, span));
        let result = self.helper_body(function);
        self.calls.pop();
        self.module = caller_module;
        self.frame = caller_frame;
        self.pending = caller_pending;
        self.defs = caller_defs;
        self.scope = caller_scope;
        self.b.span = span;
        result
    }

    /// Refuses calls that do not end.
    pub fn enter_call(&self, span: Span, function: &'a FunctionDef) -> Result<()> {
        if self.calls.len() >= MAX_CALLS || self.calls.iter().any(|(open, _)| std::ptr::eq(*open, function)) {
            return Err(self.rejected(span, format!("`{}` calls itself", function.name)));
        }
        Ok(())
    }

    /// The parameters of a function with the arguments of a call.
    pub fn bind_params(
        &mut self,
        span: Span,
        function: &'a FunctionDef,
        positional: Vec<Arg<'a>>,
        named: Vec<(&str, Arg<'a>)>,
    ) -> Result<Scope<'a>> {
        let module = self.modules.of(function.name_span);
        let mut scope = Scope::default();
        let mut positional = positional.into_iter();
        let mut named: Vec<(&str, Option<Arg<'a>>)> = named.into_iter().map(|(name, arg)| (name, Some(arg))).collect();
        for param in &function.params {
            let value = match param.kind {
                ParamKind::VarArgs => Val::Tuple(positional.by_ref().map(|arg| arg.val).collect()),
                ParamKind::VarKeywords => return Err(self.rejected(param.span, "`**` parameters")),
                ParamKind::Positional | ParamKind::KeywordOnly => {
                    let by_name = named.iter_mut().find(|(name, arg)| *name == param.name && arg.is_some());
                    let by_name = by_name.and_then(|(_, arg)| arg.take());
                    let by_place = if param.kind == ParamKind::Positional { positional.next() } else { None };
                    match (by_place, by_name, &param.default) {
                        (Some(_), Some(arg), _) => {
                            let message = format!("argument `{}` of `{}` is given twice", param.name, function.name);
                            return Err(self.rejected(arg.span, message));
                        }
                        (Some(arg), None, _) | (None, Some(arg), _) => arg.val,
                        (None, None, Some(default)) => {
                            // Defaults see the module's names, not the caller's.
                            self.default_value(module, default)?
                        }
                        (None, None, None) => {
                            let message = format!("`{}` needs an argument `{}`", function.name, param.name);
                            return Err(self.rejected(span, message));
                        }
                    }
                }
            };
            scope.set(&param.name, value);
        }
        if let Some(extra) = positional.next() {
            let message = format!("`{}` takes {} arguments", function.name, function.params.len());
            return Err(self.rejected(extra.span, message));
        }
        if let Some((name, Some(arg))) = named.iter().find(|(_, arg)| arg.is_some()) {
            return Err(self.rejected(arg.span, format!("`{}` has no parameter `{name}`", function.name)));
        }
        Ok(scope)
    }

    fn type_method(&mut self, span: Span, ty: &Ty, name: &str) -> Result<Val<'a>> {
        let scalar = ty.scalar;
        let is = |dtype: DType| scalar == Scalar::Num(dtype);
        let answer = match name {
            "get_block_shapes" => return Ok(Val::Tuple(ty.shape.iter().map(|&n| Val::int(n as i64)).collect())),
            "is_block" => ty.is_block(),
            "is_floating" => scalar.is_float(),
            "is_int" => scalar.is_int(),
            "is_int_signed" => scalar.is_int() && !scalar.is_unsigned(),
            "is_int_unsigned" | "is_uint" => scalar.is_unsigned(),
            "is_bool" | "is_int1" => scalar.is_bool(),
            "is_ptr" => scalar.is_ptr(),
            "is_fp64" => is(DType::F64),
            "is_fp32" => is(DType::F32),
            "is_fp16" => is(DType::F16),
            "is_bf16" => is(DType::BF16),
            "is_fp8" => matches!(scalar, Scalar::Num(dtype) if dtype.is_fp8()),
            "is_fp8e4nv" => is(DType::F8E4M3),
            "is_fp8e5" => is(DType::F8E5M2),
            "is_fp8e4b8" => is(DType::F8E4M3Fnuz),
            "is_fp8e5b16" => is(DType::F8E5M2Fnuz),
            "is_standard_floating" => is(DType::F64) || is(DType::F32) || is(DType::F16) || is(DType::BF16),
            "is_int8" => is(DType::I8),
            "is_int16" => is(DType::I16),
            "is_int32" => is(DType::I32),
            "is_int64" => is(DType::I64),
            "is_uint8" => is(DType::U8),
            "is_uint16" => is(DType::U16),
            "is_uint32" => is(DType::U32),
            "is_uint64" => is(DType::U64),
            _ => return Err(self.unsupported(span, format!("`{name}` of a type"))),
        };
        Ok(Val::Const(Constant::Bool(answer)))
    }
}
