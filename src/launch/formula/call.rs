//! Functions and methods of formulas.

use super::array::{Array, Kind, count};
use super::{BUILTINS, Evaluator, Value, index, pointwise, reduce};
use crate::diag;
use crate::dtype::DType;
use crate::launch::signature;
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Keyword};

const REDUCTIONS: [&str; 12] = ["sum", "mean", "var", "std", "prod", "max", "amax", "min", "amin", "argmax", "argmin", "any"];
const SCANS: [&str; 3] = ["cumsum", "cumprod", "flip"];
const OTHERS: [&str; 30] = [
    "all",
    "where",
    "maximum",
    "minimum",
    "clamp",
    "fma",
    "softmax",
    "log_softmax",
    "matmul",
    "dot",
    "transpose",
    "permute",
    "trans",
    "reshape",
    "view",
    "expand_dims",
    "squeeze",
    "take",
    "gather",
    "concat",
    "stack",
    "tril",
    "triu",
    "sort",
    "to",
    "float",
    "half",
    "arange",
    "full",
    "eye",
];

/// Arguments behind the first, which is a tensor.
struct Rest<'e> {
    positional: &'e [Expr],
    keywords: &'e [Keyword],
}

impl<'e> Rest<'e> {
    /// The argument at a place or of a name.
    fn get(&self, at: usize, names: &[&str]) -> Option<&'e Expr> {
        let named = self.keywords.iter().find(|k| k.name.as_deref().is_some_and(|name| names.contains(&name)));
        self.positional.get(at).or(named.map(|k| &k.value))
    }
}

impl Evaluator<'_> {
    pub(super) fn call(&self, span: Span, func: &Expr, args: &[Expr], keywords: &[Keyword]) -> diag::Result<Value> {
        if let ExprKind::Attribute { value, name } = &func.kind
            && !value.as_name().is_some_and(|name| MODULES.contains(&name))
        {
            let a = self.array_of(value)?;
            return self.apply(span, name, a, Rest { positional: args, keywords }).map(Value::Array);
        }
        let dotted = func.as_dotted().ok_or_else(|| self.error(func.span, "only named functions can be called"))?;
        let name = dotted.rsplit('.').next().unwrap_or(&dotted);
        if matches!(name, "concat" | "cat" | "stack") {
            return self.joined(span, name, args, keywords).map(Value::Array);
        }
        if let Some(made) = self.made(span, name, args)? {
            return Ok(Value::Array(made));
        }
        let Some((first, rest)) = args.split_first() else {
            return Err(self.unknown(func.span, name));
        };
        let a = self.array_of(first)?;
        self.apply(span, name, a, Rest { positional: rest, keywords }).map(Value::Array)
    }

    fn unknown(&self, span: Span, name: &str) -> Box<diag::Diagnostic> {
        let mut known: Vec<&str> = pointwise::names().chain(REDUCTIONS).chain(SCANS).chain(OTHERS).collect();
        known.extend(BUILTINS);
        known.sort_unstable();
        known.dedup();
        let error = *self.error(span, format!("unknown function `{name}`"));
        Box::new(error.note(format!("known: {}", known.join(", "))))
    }

    /// `arange(n)`, `zeros((2, 3))`, `ones`, `full(shape, v)`, `eye(n)`.
    fn made(&self, span: Span, name: &str, args: &[Expr]) -> diag::Result<Option<Array>> {
        let shape = |e: &Expr| -> diag::Result<Vec<usize>> {
            let sizes = self.ints(e)?;
            let sizes = sizes.iter().map(|&n| usize::try_from(n).ok()).collect::<Option<Vec<_>>>();
            sizes.ok_or_else(|| self.error(e.span, "a size is negative"))
        };
        let constant = |e: &Expr, value: f64| {
            let shape = shape(e)?;
            let n = self.lift(span, count(&shape))?;
            Ok(Some(Array::exact(Kind::Float, shape, vec![value; n])))
        };
        match (name, args) {
            ("arange", [end]) => {
                let n = self.int(end)?.max(0) as usize;
                self.lift(span, count(&[n]))?;
                Ok(Some(Array::exact(Kind::Int, vec![n], (0..n).map(|i| i as f64).collect())))
            }
            ("arange", [start, end]) => {
                let (start, end) = (self.int(start)?, self.int(end)?);
                let n = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
                self.lift(span, count(&[n]))?;
                Ok(Some(Array::exact(Kind::Int, vec![n], (0..n).map(|i| (start + i as i64) as f64).collect())))
            }
            ("zeros", [sizes]) => constant(sizes, 0.0),
            ("ones", [sizes]) => constant(sizes, 1.0),
            ("full", [sizes, value]) => match self.value(value)? {
                Value::Constant(value) => match value.as_float() {
                    Some(value) => constant(sizes, value),
                    None => Err(self.error(span, "`full` takes a number")),
                },
                Value::Array(_) => Err(self.error(span, "`full` takes a number")),
            },
            ("eye", [size]) => {
                let n = self.int(size)?.max(0) as usize;
                let total = self.lift(span, count(&[n, n]))?;
                let lane = |i: usize| f64::from(u8::from(i / n == i % n));
                Ok(Some(Array::exact(Kind::Float, vec![n, n], (0..total).map(lane).collect())))
            }
            _ => Ok(None),
        }
    }

    fn ints(&self, expr: &Expr) -> diag::Result<Vec<i64>> {
        let value = match self.value(expr)? {
            Value::Constant(Constant::Tuple(items)) => items.iter().map(Constant::as_int).collect(),
            Value::Constant(other) => other.as_int().map(|i| vec![i]),
            Value::Array(_) => None,
        };
        value.ok_or_else(|| self.error(expr.span, "integers are expected"))
    }

    /// Integers given one by one, or as one tuple.
    fn all_ints(&self, exprs: &[Expr]) -> diag::Result<Vec<i64>> {
        let mut all = Vec::new();
        for expr in exprs {
            all.extend(self.ints(expr)?);
        }
        Ok(all)
    }

    fn joined(&self, span: Span, name: &str, args: &[Expr], keywords: &[Keyword]) -> diag::Result<Array> {
        let rest = Rest { positional: args.get(1..).unwrap_or_default(), keywords };
        let axis = rest.get(0, &["axis", "dim"]).map(|e| self.int(e)).transpose()?.unwrap_or(0);
        let Some(Expr { kind: ExprKind::Tuple(items) | ExprKind::List(items), .. }) = args.first() else {
            return Err(self.error(span, format!("`{name}` takes a tuple of tensors")));
        };
        let mut arrays = items.iter().map(|e| self.array_of(e)).collect::<diag::Result<Vec<Array>>>()?;
        if name == "stack" {
            for array in &mut arrays {
                let rank = array.shape.len() as i64 + 1;
                let at = if axis < 0 { axis + rank } else { axis };
                let at = usize::try_from(at).ok().filter(|at| (*at as i64) < rank);
                array.shape.insert(at.ok_or_else(|| self.error(span, format!("axis {axis} of {rank} axes")))?, 1);
            }
        }
        self.lift(span, index::concat(&arrays, axis))
    }

    fn apply(&self, span: Span, name: &str, a: Array, rest: Rest) -> diag::Result<Array> {
        let rounding = self.inputs.rounding;
        let other = |at: usize, names: &[&str]| match rest.get(at, names) {
            Some(e) => self.array_of(e),
            None => Err(self.error(span, format!("`{name}` takes another argument"))),
        };
        let axis_of = |a: &Array, at: usize, default: i64| -> diag::Result<usize> {
            let axis = rest.get(at, &["axis", "dim"]).map(|e| self.int(e)).transpose()?.unwrap_or(default);
            self.lift(span, a.axis(axis))
        };
        if let Some(array) = pointwise::unary(name, &a, rounding).filter(|_| rest.positional.is_empty()) {
            return Ok(array);
        }
        if REDUCTIONS.contains(&name) || name == "all" {
            return self.reduction(span, name, a, &rest);
        }
        let binary = |op: BinaryOp, a: &Array, b: &Array| self.lift(span, pointwise::binary(op, a, b, rounding));
        let unary = |name: &str, a: &Array| {
            pointwise::unary(name, a, rounding).ok_or_else(|| self.error(span, format!("unknown function `{name}`")))
        };
        let along = |name: &str, a: &Array, axis: usize| match reduce::reduce(name, a, axis, rounding) {
            Some(array) => self.lift(span, array),
            None => Err(self.unknown(span, name)),
        };
        match name {
            "where" => self.lift(span, pointwise::choose(&a, &other(0, &["x"])?, &other(1, &["y"])?)),
            "maximum" | "minimum" => self.lift(span, pointwise::extreme(name == "maximum", &a, &other(0, &["other"])?)),
            "clamp" => {
                let mut a = a;
                if let Some(low) = rest.get(0, &["min"]) {
                    a = self.lift(span, pointwise::extreme(true, &a, &self.array_of(low)?))?;
                }
                if let Some(high) = rest.get(1, &["max"]) {
                    a = self.lift(span, pointwise::extreme(false, &a, &self.array_of(high)?))?;
                }
                Ok(a)
            }
            "pow" => binary(BinaryOp::Pow, &a, &other(0, &["exponent"])?),
            "fma" => binary(BinaryOp::Add, &binary(BinaryOp::Mul, &a, &other(0, &[])?)?, &other(1, &[])?),
            "matmul" | "dot" => self.lift(span, reduce::matmul(&a, &other(0, &["other"])?, rounding)),
            "softmax" | "log_softmax" => {
                let axis = axis_of(&a, 0, -1)?;
                let shifted = binary(BinaryOp::Sub, &a, &along("max", &a, axis)?)?;
                let powers = unary("exp", &shifted)?;
                let sum = along("sum", &powers, axis)?;
                if name == "softmax" {
                    binary(BinaryOp::Div, &powers, &sum)
                } else {
                    binary(BinaryOp::Sub, &shifted, &unary("log", &sum)?)
                }
            }
            "cumsum" | "cumprod" => along(name, &a, axis_of(&a, 0, 0)?),
            "flip" => along(name, &a, axis_of(&a, 0, -1)?),
            "sort" => {
                let descending = match rest.get(1, &["descending"]) {
                    Some(e) => self.int(e)? != 0,
                    None => false,
                };
                along(if descending { "sort_descending" } else { "sort" }, &a, axis_of(&a, 0, -1)?)
            }
            "transpose" => {
                let mut order: Vec<usize> = (0..a.shape.len()).collect();
                let ints = self.all_ints(rest.positional)?;
                match (ints.as_slice(), order.len()) {
                    ([], 2) => order.swap(0, 1),
                    (&[x, y], _) => order.swap(self.lift(span, a.axis(x))?, self.lift(span, a.axis(y))?),
                    _ => return Err(self.error(span, "transpose takes two axes")),
                }
                Ok(a.permuted(&order))
            }
            "permute" | "trans" => {
                let order = self.all_ints(rest.positional)?;
                let order = if order.is_empty() { (0..a.shape.len() as i64).rev().collect() } else { order };
                let order = order.iter().map(|&x| self.lift(span, a.axis(x))).collect::<diag::Result<Vec<_>>>()?;
                let mut sorted = order.clone();
                sorted.sort_unstable();
                if sorted != (0..a.shape.len()).collect::<Vec<_>>() {
                    return Err(self.error(span, "permute names each axis once"));
                }
                Ok(a.permuted(&order))
            }
            "reshape" | "view" => {
                let sizes = self.all_ints(rest.positional)?;
                let known: i64 = sizes.iter().filter(|n| **n != -1).product();
                let open = a.value.len() as i64 / known.max(1);
                let sizes = sizes.iter().map(|&n| usize::try_from(if n == -1 { open } else { n }).unwrap_or(usize::MAX));
                self.lift(span, a.reshaped(sizes.collect()))
            }
            "expand_dims" | "unsqueeze" => {
                let mut a = a;
                let axis = rest.get(0, &["axis", "dim"]).map(|e| self.int(e)).transpose()?.unwrap_or(0);
                let rank = a.shape.len() as i64 + 1;
                let at = usize::try_from(if axis < 0 { axis + rank } else { axis }).ok().filter(|at| *at <= a.shape.len());
                a.shape.insert(at.ok_or_else(|| self.error(span, format!("axis {axis} of {rank} axes")))?, 1);
                Ok(a)
            }
            "squeeze" => {
                let mut a = a;
                a.shape.retain(|&n| n != 1);
                Ok(a)
            }
            "take" => {
                let axis = axis_of(&a, 1, 0)?;
                self.lift(span, index::take(&a, &other(0, &["index"])?, axis))
            }
            "gather" => {
                let axis = axis_of(&a, 1, 0)?;
                self.lift(span, index::gather(&a, &other(0, &["index"])?, axis))
            }
            "tril" | "triu" => {
                let diagonal = rest.get(0, &["diagonal"]).map(|e| self.int(e)).transpose()?.unwrap_or(0);
                self.lift(span, index::triangle(&a, name == "tril", diagonal))
            }
            "float" => Ok(pointwise::cast(&a, DType::F32)),
            "half" => Ok(pointwise::cast(&a, DType::F16)),
            "int" => Ok(pointwise::cast(&a, DType::I64)),
            "to" => {
                let named = rest.get(0, &["dtype"]).and_then(Expr::as_dotted);
                let dtype = named.as_deref().and_then(|path| signature::dtype(path.rsplit('.').next().unwrap_or(path)));
                Ok(pointwise::cast(&a, dtype.ok_or_else(|| self.error(span, "`to` takes an element type: x.to(f16)"))?))
            }
            _ => Err(self.unknown(span, name)),
        }
    }

    /// A reduction along one axis, several, or all.
    fn reduction(&self, span: Span, name: &str, a: Array, rest: &Rest) -> diag::Result<Array> {
        let axes = match rest.get(0, &["axis", "dim"]) {
            None => None,
            Some(Expr { kind: ExprKind::None, .. }) => None,
            Some(e) => Some(self.ints(e)?),
        };
        let keep = match rest.get(1, &["keepdims", "keepdim", "keep_dims"]) {
            Some(e) => self.int(e)? != 0,
            None => false,
        };
        let along = |a: &Array, axis: usize| match reduce::reduce(name, a, axis, self.inputs.rounding) {
            Some(array) => self.lift(span, array),
            None => Err(self.unknown(span, name)),
        };
        let Some(axes) = axes else {
            let rank = a.shape.len();
            let n = a.value.len();
            let mut all = along(&self.lift(span, a.reshaped(vec![n]))?, 0)?;
            all.shape = if keep { vec![1; rank] } else { Vec::new() };
            return Ok(all);
        };
        let mut axes = axes.iter().map(|&axis| self.lift(span, a.axis(axis))).collect::<diag::Result<Vec<_>>>()?;
        axes.sort_unstable();
        axes.dedup();
        if axes.len() > 1 && matches!(name, "var" | "std" | "argmax" | "argmin") {
            return Err(self.error(span, format!("`{name}` along several axes: reshape first")));
        }
        let mut reduced = a;
        for &axis in &axes {
            reduced = along(&reduced, axis)?;
        }
        if !keep {
            for &axis in axes.iter().rev() {
                reduced.shape.remove(axis);
            }
        }
        Ok(reduced)
    }
}

/// Prefixes that say nothing: `tl.exp`, `torch.exp`.
const MODULES: [&str; 5] = ["tl", "torch", "np", "math", "triton"];
