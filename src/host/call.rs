//! Calls: kernels with a grid, `module.launch`, helpers of the same file, integer functions, methods
//! of tensors. Functions of torch are in [`super::torch_call`].

use smallvec::SmallVec;

use super::eval::Evaluator;
use super::frame::{Frame, fits};
use super::modules::HostModule;
use super::trace::HostTensor;
use super::value::Value;
use super::view::{self, ViewError};
use crate::diag::{self, Place};
use crate::dtype::DType;
use crate::shape;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Keyword, ParamKind};
use crate::syntax::constant::floor_div;

/// Arguments of a call, evaluated.
pub(super) struct Args<'m> {
    pub positional: Vec<Value<'m>>,
    pub keywords: Vec<(&'m str, Value<'m>, Span)>,
    pub span: Span,
}

impl<'m> Args<'m> {
    /// Removes a keyword argument.
    pub fn take(&mut self, name: &str) -> Option<Value<'m>> {
        let at = self.keywords.iter().position(|(key, _, _)| *key == name)?;
        Some(self.keywords.remove(at).1)
    }

    /// Refuses keyword arguments that nobody took.
    pub fn no_more(&self, frame: &Frame<'m>) -> diag::Result<()> {
        match self.keywords.first() {
            Some((name, _, span)) => Err(frame.unsupported(*span, &format!("the argument `{name}=`"))),
            None => Ok(()),
        }
    }
}

impl<'m> Evaluator<'m> {
    pub(super) fn call(
        &mut self,
        frame: &mut Frame<'m>,
        span: Span,
        func: &'m Expr,
        args: &'m [Expr],
        keywords: &'m [Keyword],
    ) -> diag::Result<Value<'m>> {
        if let ExprKind::Subscript { value, index } = &func.kind
            && let Value::Kernel(module, def) = self.expr(frame, value)?
        {
            let grid = self.expr(frame, index)?;
            let args = self.args(frame, span, args, keywords)?;
            return self.launch(frame, (module, def), (grid, index.span), args);
        }
        match self.expr(frame, func)? {
            Value::Function(module, def) => {
                let other = module.name != frame.module.name;
                if other && def.name != "launch" {
                    return Err(frame.unsupported(span, "calling a function of another module that is not its launch"));
                }
                let args = self.args(frame, span, args, keywords)?;
                let place = || Place::Text { file: frame.module.ast.file.clone(), span };
                self.calls.push(span);
                let result = self.call_function(module, def, args.positional, args.keywords);
                self.calls.pop();
                result.map_err(|error| Box::new(error.related(place(), "called from here")))
            }
            Value::Kernel(..) => Err(frame.raises(span, "a kernel is called without a grid")),
            Value::External(path) => {
                let args = self.args(frame, span, args, keywords)?;
                self.external(frame, &path, args)
            }
            Value::Method(receiver, name) => {
                let args = self.args(frame, span, args, keywords)?;
                match *receiver {
                    Value::Prepared(step) => self.prepared_method(frame, step, &name, args),
                    Value::Object(_) => self.own_call(frame, *receiver, &name, args),
                    receiver => self.method(frame, receiver, &name, args),
                }
            }
            other => Err(frame.unsupported(span, &format!("calling {}", other.kind()))),
        }
    }

    /// A method of the class that is being run.
    fn own_call(&mut self, frame: &Frame<'m>, object: Value<'m>, name: &str, args: Args<'m>) -> diag::Result<Value<'m>> {
        let span = args.span;
        let Some(def) = self.own_method(frame, name) else {
            return Err(frame.unsupported(span, &format!("`.{name}()` of a module")));
        };
        let is_static = match def.decorators.as_slice() {
            [] => false,
            [decorator] if decorator.as_name() == Some("staticmethod") => true,
            [decorator, ..] => return Err(frame.unsupported(decorator.span, "this decorator of a method")),
        };
        let positional = Some(object).filter(|_| !is_static).into_iter().chain(args.positional).collect();
        self.calls.push(span);
        let result = self.call_function(frame.module, def, positional, args.keywords);
        self.calls.pop();
        let place = Place::Text { file: frame.module.ast.file.clone(), span };
        result.map_err(|error| Box::new(error.related(place, "called from here")))
    }

    fn args(&mut self, frame: &mut Frame<'m>, span: Span, args: &'m [Expr], keywords: &'m [Keyword]) -> diag::Result<Args<'m>> {
        let positional = self.spread(frame, args)?;
        let mut named = Vec::with_capacity(keywords.len());
        for keyword in keywords {
            let Some(name) = &keyword.name else { return Err(frame.unsupported(keyword.span, "`**` in a call")) };
            named.push((name.as_str(), self.expr(frame, &keyword.value)?, keyword.span));
        }
        Ok(Args { positional, keywords: named, span })
    }

    /// Binds arguments to a function's parameters and runs it. Errors about the arguments point at
    /// the parameters; the caller adds the place of the call.
    pub(super) fn call_function(
        &mut self,
        module: &'m HostModule,
        def: &'m FunctionDef,
        positional: Vec<Value<'m>>,
        keywords: Vec<(&'m str, Value<'m>, Span)>,
    ) -> diag::Result<Value<'m>> {
        let mut frame = Frame::new(module, def);
        if self.stack.last().is_none_or(|(caller, _)| *caller != module.name) {
            self.modules.stands_alone(module)?;
        }
        let id = (module.name.clone(), def.name.clone());
        if self.stack.contains(&id) {
            return Err(frame.unsupported(def.name_span, "recursion"));
        }
        let given = positional.len();
        let mut positional = positional.into_iter();
        let mut keywords = keywords;
        for param in &def.params {
            let by_name = keywords.iter().position(|(name, _, _)| *name == param.name).map(|at| keywords.remove(at).1);
            let value = match param.kind {
                ParamKind::Positional => positional.next(),
                ParamKind::KeywordOnly => None,
                ParamKind::VarArgs => return Err(frame.unsupported(param.span, "a parameter `*args`")),
                ParamKind::VarKeywords => return Err(frame.unsupported(param.span, "a parameter `**kwargs`")),
            };
            let value = match (value, by_name, &param.default) {
                (Some(_), Some(_), _) => {
                    return Err(frame.raises(param.span, format!("{} gets `{}` twice", def.name, param.name)));
                }
                (Some(value), None, _) | (None, Some(value), _) => value,
                (None, None, Some(default)) => self.expr(&mut frame, default)?,
                (None, None, None) => {
                    return Err(frame.raises(param.span, format!("{} is called without `{}`", def.name, param.name)));
                }
            };
            frame.locals.insert(&param.name, value);
        }
        if positional.next().is_some() {
            let message = format!("{} takes {} arguments and gets {given}", def.name, def.params.len());
            return Err(frame.raises(def.params_span, message));
        }
        if let Some((name, _, _)) = keywords.first() {
            return Err(frame.raises(def.params_span, format!("{} has no parameter `{name}`", def.name)));
        }
        self.stack.push(id);
        let result = self.run_body(&mut frame);
        self.stack.pop();
        result
    }

    /// A function of Python, Triton or torch.
    fn external(&mut self, frame: &Frame<'m>, path: &str, args: Args<'m>) -> diag::Result<Value<'m>> {
        if path.starts_with("torch.") {
            return self.torch(frame, path, args);
        }
        let span = args.span;
        args.no_more(frame)?;
        let result = match (path, args.positional.as_slice()) {
            ("len", [Value::Tuple(items)]) => Value::Int(items.len() as i64),
            ("tuple", [Value::Tuple(items)]) => Value::Tuple(items.clone()),
            ("tuple", &[Value::Range(start, stop, step)]) => {
                // In 128 bits: a range's length, and the end it steps past, may be beyond 64.
                let [first, end, stride] = [start, stop, step].map(i128::from);
                let len = ((end - first + stride - stride.signum()) / stride).max(0);
                fits(frame, usize::try_from(len).unwrap_or(usize::MAX), span)?;
                Value::Tuple((0..len).map(|i| Value::Int((first + i * stride) as i64)).collect())
            }
            ("range", _) => {
                let (start, stop, step) = match *self.ints(frame, span, &args.positional)? {
                    [stop] => (0, stop, 1),
                    [start, stop] => (start, stop, 1),
                    [_, _, 0] => return Err(frame.raises(span, "range() with a step of zero")),
                    [start, stop, step] => (start, stop, step),
                    _ => return Err(frame.raises(span, "range() takes one to three integers")),
                };
                Value::Range(start, stop, step)
            }
            ("min" | "max", operands) => {
                let ints = match operands {
                    [one @ Value::Tuple(_)] => self.ints(frame, span, std::slice::from_ref(one))?,
                    several => self.ints(frame, span, several)?,
                };
                let best = if path == "min" { ints.iter().min() } else { ints.iter().max() };
                Value::Int(*best.ok_or_else(|| frame.raises(span, format!("{path}() of nothing")))?)
            }
            ("triton.cdiv", &[Value::Int(a), Value::Int(b)]) => {
                if b == 0 {
                    return Err(frame.raises(span, "integer division by zero"));
                }
                // As Triton writes it: (a + b − 1) // b.
                let sum = a.checked_add(b).and_then(|s| s.checked_sub(1));
                Value::Int(sum.and_then(|s| floor_div(s, b)).ok_or_else(|| frame.unsupported(span, "an integer beyond 64 bits"))?)
            }
            ("triton.next_power_of_2", &[Value::Int(n)]) => {
                let power = u64::try_from(n).ok().and_then(u64::checked_next_power_of_two).and_then(|p| i64::try_from(p).ok());
                Value::Int(power.ok_or_else(|| frame.unsupported(span, &format!("next_power_of_2({n})")))?)
            }
            ("triton.cdiv" | "triton.next_power_of_2", operands) if operands.iter().any(Value::no_number) => {
                let kinds: Vec<&str> = operands.iter().map(Value::kind).collect();
                return Err(frame.raises(span, format!("{path} of {}", kinds.join(" and "))));
            }
            _ => return Err(frame.unsupported(span, &format!("this call of `{path}`"))),
        };
        Ok(result)
    }

    /// Integers given one by one, or as one tuple.
    pub(super) fn ints(&self, frame: &Frame<'m>, span: Span, values: &[Value<'m>]) -> diag::Result<SmallVec<[i64; 6]>> {
        let items = match values {
            // A tensor without axes has the sizes `()`; torch wants them said.
            [] => return Err(frame.raises(span, "a call without sizes".to_owned())),
            [Value::Tuple(items)] => items.as_slice(),
            items => items,
        };
        items
            .iter()
            .map(|value| match value {
                Value::Int(v) => Ok(*v),
                other if other.no_number() => Err(frame.raises(span, format!("{} where an integer is expected", other.kind()))),
                other => Err(frame.unsupported(span, &format!("{} where an integer is expected", other.kind()))),
            })
            .collect()
    }

    /// A method of a tensor.
    fn method(&mut self, frame: &Frame<'m>, receiver: Value<'m>, name: &str, args: Args<'m>) -> diag::Result<Value<'m>> {
        let span = args.span;
        let Value::Tensor(tensor) = receiver else {
            return Err(frame.unsupported(span, &format!("`.{name}()` of {}", receiver.kind())));
        };
        if let Some(value) = self.metadata(frame, &tensor.shape, name, &args)? {
            args.no_more(frame)?;
            return Ok(value);
        }
        if let ("stride", &[Value::Int(i)]) = (name, args.positional.as_slice()) {
            let at = view::axis(i, tensor.shape.len()).map_err(|message| frame.raises(span, message))?;
            args.no_more(frame)?;
            return Ok(Value::Int(tensor.strides[at]));
        }
        if let ("is_contiguous" | "contiguous", []) = (name, args.positional.as_slice()) {
            args.no_more(frame)?;
            match (name, tensor.is_contiguous()) {
                ("is_contiguous", holds) => return Ok(Value::Bool(holds)),
                // What is contiguous is returned as it is.
                (_, true) => return Ok(Value::Tensor(tensor)),
                (_, false) => return Err(frame.unsupported(span, "a copy by `.contiguous()`")),
            }
        }
        // Halves that are held as integers (a module's `.to(dtype=…)` leaves these alone).
        if let ("view", &[Value::DType(to @ (DType::F16 | DType::BF16))]) = (name, args.positional.as_slice())
            && tensor.dtype == DType::I16
        {
            args.no_more(frame)?;
            return Ok(Value::Tensor(HostTensor { dtype: to, ..tensor }));
        }
        let moved = self.movement(frame, &tensor, name, &args)?;
        args.no_more(frame)?;
        moved.map(Value::Tensor).ok_or_else(|| frame.unsupported(span, &format!("`.{name}()` of a tensor")))
    }

    /// `size`, `dim` and `numel`, of tensors and weights alike.
    pub(super) fn metadata(
        &self,
        frame: &Frame<'m>,
        shape: &[usize],
        name: &str,
        args: &Args<'m>,
    ) -> diag::Result<Option<Value<'m>>> {
        let at = |i: i64| view::axis(i, shape.len()).map_err(|message| frame.raises(args.span, message));
        Ok(Some(match (name, args.positional.as_slice()) {
            ("dim", []) => Value::Int(shape.len() as i64),
            ("numel", []) => {
                let numel = shape::numel(shape).ok_or_else(|| frame.unsupported(args.span, "an integer beyond 64 bits"))?;
                Value::Int(numel as i64)
            }
            ("size", &[Value::Int(i)]) => Value::Int(shape[at(i)?] as i64),
            _ => return Ok(None),
        }))
    }

    /// Methods that give a view.
    fn movement(&self, frame: &Frame<'m>, tensor: &HostTensor, name: &str, args: &Args<'m>) -> diag::Result<Option<HostTensor>> {
        let span = args.span;
        let result = match name {
            "view" | "reshape" => tensor.viewed(&self.ints(frame, span, &args.positional)?),
            "permute" => tensor.permuted(&self.ints(frame, span, &args.positional)?),
            "transpose" => {
                let &[Value::Int(a), Value::Int(b)] = args.positional.as_slice() else {
                    return Err(frame.unsupported(span, "this call of `.transpose()`"));
                };
                let rank = tensor.shape.len();
                let swapped = view::axis(a, rank).and_then(|a| {
                    let mut order: Vec<i64> = (0..rank as i64).collect();
                    order.swap(a, view::axis(b, rank)?);
                    Ok(order)
                });
                swapped.map_err(ViewError::Raises).and_then(|order| tensor.permuted(&order))
            }
            _ => return Ok(None),
        };
        match result {
            Ok(view) => Ok(Some(view)),
            Err(ViewError::NotContiguous) => {
                Err(frame.unsupported(span, &format!("`.{name}()` of a tensor that is not contiguous")))
            }
            Err(ViewError::Raises(message)) => Err(frame.raises(span, message)),
        }
    }
}
