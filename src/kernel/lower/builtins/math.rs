//! Elementwise functions.

use super::{Builtin, Lower, call, function, member_function};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{FloatBinary, FloatUnary, InstKind, IntBinary};
use crate::kernel::lower::call::Args;
use crate::kernel::lower::operands::Pointers;
use crate::kernel::lower::types::Scalar;
use crate::kernel::lower::value::{Tensor, Val};
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, UnaryOp};
use crate::syntax::{Constant, eval};

pub static TABLE: &[Builtin] = &[
    member_function("exp", &["x"], |l, a| unary(l, a, FloatUnary::Exp)),
    member_function("exp2", &["x"], |l, a| unary(l, a, FloatUnary::Exp2)),
    member_function("log", &["x"], |l, a| unary(l, a, FloatUnary::Log)),
    member_function("log2", &["x"], |l, a| unary(l, a, FloatUnary::Log2)),
    member_function("sqrt", &["x"], |l, a| unary(l, a, FloatUnary::Sqrt)),
    member_function("sqrt_rn", &["x"], |l, a| unary(l, a, FloatUnary::SqrtRn)),
    member_function("rsqrt", &["x"], |l, a| unary(l, a, FloatUnary::Rsqrt)),
    member_function("sin", &["x"], |l, a| unary(l, a, FloatUnary::Sin)),
    member_function("cos", &["x"], |l, a| unary(l, a, FloatUnary::Cos)),
    member_function("erf", &["x"], |l, a| unary(l, a, FloatUnary::Erf)),
    member_function("floor", &["x"], |l, a| unary(l, a, FloatUnary::Floor)),
    member_function("ceil", &["x"], |l, a| unary(l, a, FloatUnary::Ceil)),
    member_function("abs", &["x"], abs),
    member_function("sigmoid", &["x"], sigmoid),
    member_function("softmax", &["x", "dim=", "keep_dims=", "ieee_rounding="], softmax),
    member_function("cdiv", &["x", "div"], cdiv),
    member_function("logical_and", &["self", "other"], |l, a| logical(l, a, BinaryOp::BitAnd)),
    member_function("logical_or", &["self", "other"], |l, a| logical(l, a, BinaryOp::BitOr)),
    function("fma", &["x", "y", "z"], fma),
    function("fdiv", &["x", "y", "ieee_rounding=", "approx="], fdiv),
    function("div_rn", &["x", "y"], div_rn),
    function("umulhi", &["x", "y"], umulhi),
    function("add", &["x", "y", "sanitize_overflow="], |l, a| binary(l, a, BinaryOp::Add)),
    function("sub", &["x", "y", "sanitize_overflow="], |l, a| binary(l, a, BinaryOp::Sub)),
    function("mul", &["x", "y", "sanitize_overflow="], |l, a| binary(l, a, BinaryOp::Mul)),
    function("maximum", &["x", "y", "propagate_nan="], |l, a| extreme(l, a, true)),
    function("minimum", &["x", "y", "propagate_nan="], |l, a| extreme(l, a, false)),
    function("clamp", &["x", "min", "max", "propagate_nan="], clamp),
    function("where", &["condition", "x", "y"], where_),
    function("next_power_of_2", &["n"], next_power_of_2),
    function("_log2", &["i"], |l, a| {
        let i = l.int_arg(a, "i")?;
        Ok(Val::int(if i > 1 { i64::from(i.ilog2()) } else { 0 }))
    }),
    function("_is_power_of_two", &["i"], |l, a| {
        let i = l.int_arg(a, "i")?;
        Ok(Val::bool(i != 0 && i & (i - 1) == 0))
    }),
    function("python.max", &["*args"], |l, a| python_extreme(l, a, true)),
    function("python.min", &["*args"], |l, a| python_extreme(l, a, false)),
];

fn unary<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, op: FloatUnary) -> Result<Val<'a>> {
    let x = lower.tensor_arg(args, "x")?;
    let allowed: &[DType] = if op == FloatUnary::SqrtRn { &[DType::F32] } else { &[DType::F32, DType::F64] };
    if !allowed.iter().any(|&d| x.ty.scalar == Scalar::Num(d)) {
        let names: Vec<String> = allowed.iter().map(|&d| Scalar::Num(d).short_name()).collect();
        let message = format!("`tl.{}` takes {}, not {}", args.builtin.name, names.join(" or "), x.ty.scalar);
        let mut diagnostic = lower.type_error(args.span, message);
        diagnostic.help = Some("convert it: `x.to(tl.float32)`".to_owned());
        return Err(diagnostic);
    }
    let value = lower.b.inst(InstKind::Unary(op, x.value), x.ty.ir());
    Ok(Val::Tensor(lower.tensor(value, x.ty)))
}

fn abs<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let x = lower.tensor_arg(args, "x")?;
    match x.ty.scalar {
        Scalar::Ptr(_) => Err(lower.type_error(args.span, "the absolute value of a pointer")),
        Scalar::Num(d) if d.is_float() => {
            lower.no_eight(args.span, &x)?;
            let value = lower.b.inst(InstKind::Unary(FloatUnary::Abs, x.value), x.ty.ir());
            Ok(Val::Tensor(lower.tensor(value, x.ty)))
        }
        Scalar::Num(d) if d.is_unsigned() || d == DType::Bool => Ok(Val::Tensor(x)),
        Scalar::Num(_) => {
            let value = lower.b.inst(InstKind::AbsInt(x.value), x.ty.ir());
            Ok(Val::Tensor(lower.tensor(value, x.ty)))
        }
    }
}

/// The upper half of the product of two integers of 32 or 64 bits, taken as unsigned.
fn umulhi<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let (x, y) = (lower.arg(args, "x")?.val.clone(), lower.arg(args, "y")?.val.clone());
    for val in [&x, &y] {
        if let Val::Tensor(t) = val
            && !(t.ty.scalar.is_int() && t.ty.scalar.bits() >= 32)
        {
            return Err(lower.type_error(args.span, format!("`tl.umulhi` of {}; it takes 32 or 64 bits", t.ty.scalar)));
        }
    }
    let (a, b) = lower.operands(args.span, &x, &y, Pointers::Refused, false)?;
    Ok(lower.int_op(IntBinary::MulHiU, &a, &b))
}

fn binary<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, op: BinaryOp) -> Result<Val<'a>> {
    let (x, y) = (lower.arg(args, "x")?.val.clone(), lower.arg(args, "y")?.val.clone());
    if !lower.bool_arg(args, "sanitize_overflow", true)? {
        return lower.wrapping(args.span, op, &x, &y);
    }
    lower.binary(args.span, op, &x, &y)
}

/// `1 / (1 + exp(-x))`.
fn sigmoid<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let x = Val::Tensor(lower.tensor_arg(args, "x")?);
    let negative = lower.unary(args.span, UnaryOp::Neg, &x)?;
    let e = call(lower, args.span, "exp", vec![negative])?;
    let sum = lower.binary(args.span, BinaryOp::Add, &Val::int(1), &e)?;
    lower.binary(args.span, BinaryOp::Div, &Val::int(1), &sum)
}

/// `exp(x - max) / sum(exp(x - max))` along `dim`, which is 0 when it is not given.
fn softmax<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let x = Val::Tensor(lower.tensor_arg(args, "x")?);
    let dim = args.given("dim").map_or(Val::int(0), |arg| arg.val.clone());
    let none = Val::Const(Constant::None);
    let max_args = vec![x.clone(), dim.clone(), Val::bool(false), Val::bool(true), Val::bool(true)];
    let largest = call(lower, args.span, "max", max_args)?;
    let shifted = lower.binary(args.span, BinaryOp::Sub, &x, &largest)?;
    let e = call(lower, args.span, "exp", vec![shifted])?;
    let sum = call(lower, args.span, "sum", vec![e.clone(), dim, Val::bool(true), none])?;
    lower.binary(args.span, BinaryOp::Div, &e, &sum)
}

/// `(x + (div - 1)) // div`; truncating on run-time values, flooring on constants, as written.
fn cdiv<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let (x, div) = (lower.arg(args, "x")?.val.clone(), lower.arg(args, "div")?.val.clone());
    let less = lower.binary(args.span, BinaryOp::Sub, &div, &Val::int(1))?;
    let sum = lower.binary(args.span, BinaryOp::Add, &x, &less)?;
    lower.binary(args.span, BinaryOp::FloorDiv, &sum, &div)
}

/// `x.logical_and(y)`: of int1, as which other types of one bit are read.
fn logical<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, op: BinaryOp) -> Result<Val<'a>> {
    let span = args.span;
    if let (Val::Const(x), other) = (&lower.arg(args, "self")?.val, &lower.arg(args, "other")?.val) {
        // Of a Python number, these are Python's `and` and `or`.
        let first = x.truthy() == (op == BinaryOp::BitOr);
        return Ok(if first { Val::Const(x.clone()) } else { other.clone() });
    }
    let (x, y) = (lower.tensor_arg(args, "self")?, lower.tensor_arg(args, "other")?);
    let (x, y) = (lower.bitcast(span, &x, Scalar::Num(DType::Bool))?, lower.bitcast(span, &y, Scalar::Num(DType::Bool))?);
    lower.binary(span, op, &Val::Tensor(x), &Val::Tensor(y))
}

fn fma<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let [x, y, z] = three(lower, args, ["x", "y", "z"])?;
    if !x.ty.scalar.is_float() {
        return Err(lower.type_error(args.span, format!("`tl.fma` of {}", x.ty.scalar)));
    }
    let value = lower.b.inst(InstKind::Fma(x.value, y.value, z.value), x.ty.ir());
    Ok(Val::Tensor(lower.tensor(value, x.ty)))
}

/// Three operands of a common type and shape.
fn three<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, params: [&str; 3]) -> Result<[Tensor; 3]> {
    let span = args.span;
    let mut vals = Vec::with_capacity(3);
    for param in params {
        vals.push(lower.arg(args, param)?.val.clone());
    }
    // Run-time operands decide the type together; numbers follow them.
    let mut order: Vec<usize> = (0..3).collect();
    order.sort_by_key(|&i| matches!(vals[i], Val::Const(_)));
    let (a, _) = lower.operands(span, &vals[order[0]], &vals[order[1]], Pointers::Refused, false)?;
    let (a, _) = lower.operands(span, &Val::Tensor(a), &vals[order[2]], Pointers::Refused, false)?;
    let Scalar::Num(dtype) = a.ty.scalar else { return Err(lower.type_error(span, "operands that are pointers")) };
    let mut out = Vec::with_capacity(3);
    for val in &vals {
        let tensor = match val {
            Val::Const(constant) => lower.number(span, constant, dtype)?,
            other => {
                let tensor = lower.tensor_of(span, other)?;
                lower.cast(span, &tensor, a.ty.scalar)?
            }
        };
        let (tensor, _) = lower.broadcast(span, tensor, a.clone())?;
        out.push(tensor);
    }
    let [x, y, z] = <[Tensor; 3]>::try_from(out).map_err(|_| lower.type_error(span, "three operands"))?;
    Ok([x, y, z])
}

fn fdiv<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let (x, y) = (lower.arg(args, "x")?.val.clone(), lower.arg(args, "y")?.val.clone());
    let (a, b) = lower.operands(args.span, &x, &y, Pointers::Refused, true)?;
    if !a.ty.scalar.is_float() {
        return Err(lower.type_error(args.span, format!("`tl.{}` of {}", args.builtin.name, a.ty.scalar)));
    }
    lower.float_op(args.span, FloatBinary::Div, &a, &b)
}

/// As `fdiv`, of fp32 alone; every division of ours is rounded to nearest.
fn div_rn<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    for param in ["x", "y"] {
        if let Val::Tensor(t) = &lower.arg(args, param)?.val
            && t.ty.scalar != Scalar::Num(DType::F32)
        {
            let message = format!("`tl.div_rn` takes fp32, not {}", t.ty.scalar);
            return Err(lower.type_error(args.span, message));
        }
    }
    fdiv(lower, args)
}

/// Whether `propagate_nan` asks to keep NaN.
fn keeps_nan<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<bool> {
    match args.given("propagate_nan").map(|arg| &arg.val) {
        None => Ok(false),
        Some(Val::Const(Constant::Str(text))) if text == "PropagateNan.ALL" => Ok(true),
        Some(Val::Const(Constant::Str(text))) if text == "PropagateNan.NONE" => Ok(false),
        Some(other) => {
            let message = format!("propagate_nan must be tl.PropagateNan.ALL or NONE, not {}", other.describe());
            Err(lower.rejected(args.span, message))
        }
    }
}

pub fn maximum<'a>(lower: &mut Lower<'a, '_>, span: Span, x: &Val<'a>, y: &Val<'a>, max: bool, nan: bool) -> Result<Val<'a>> {
    let (a, b) = lower.operands(span, x, y, Pointers::Refused, false)?;
    if a.ty.scalar.is_float() {
        let op = match (max, nan) {
            (true, true) => FloatBinary::Maximum,
            (true, false) => FloatBinary::MaxNum,
            (false, true) => FloatBinary::Minimum,
            (false, false) => FloatBinary::MinNum,
        };
        return lower.float_op(span, op, &a, &b);
    }
    let op = match (max, a.ty.scalar.is_unsigned()) {
        (true, true) => IntBinary::MaxU,
        (true, false) => IntBinary::MaxS,
        (false, true) => IntBinary::MinU,
        (false, false) => IntBinary::MinS,
    };
    Ok(lower.int_op(op, &a, &b))
}

fn extreme<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, max: bool) -> Result<Val<'a>> {
    let nan = keeps_nan(lower, args)?;
    let (x, y) = (lower.arg(args, "x")?.val.clone(), lower.arg(args, "y")?.val.clone());
    maximum(lower, args.span, &x, &y, max, nan)
}

fn clamp<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let nan = keeps_nan(lower, args)?;
    let [x, low, high] = three(lower, args, ["x", "min", "max"])?;
    if x.ty.scalar.is_float() {
        lower.no_eight(args.span, &x)?;
        let kind = InstKind::ClampFloat { value: x.value, min: low.value, max: high.value, keeps_nan: nan };
        let value = lower.b.inst(kind, x.ty.ir());
        return Ok(Val::Tensor(lower.tensor(value, x.ty)));
    }
    let above = maximum(lower, args.span, &Val::Tensor(x), &Val::Tensor(low), true, nan)?;
    maximum(lower, args.span, &above, &Val::Tensor(high), false, nan)
}

fn where_<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let condition = lower.tensor_arg(args, "condition")?;
    let mut condition = lower.cast(args.span, &condition, Scalar::Num(DType::Bool))?;
    let (x, y) = (lower.arg(args, "x")?.val.clone(), lower.arg(args, "y")?.val.clone());
    let (mut x, mut y) = lower.operands(args.span, &x, &y, Pointers::Both, false)?;
    if condition.ty.is_block() {
        (condition, x) = lower.broadcast(args.span, condition, x)?;
        (x, y) = lower.broadcast(args.span, x, y)?;
    } else {
        (condition, _) = lower.broadcast(args.span, condition, x.clone())?;
    }
    let kind = InstKind::Select { condition: condition.value, then: x.value, other: y.value };
    let value = lower.b.inst(kind, x.ty.ir());
    Ok(Val::Tensor(lower.tensor(value, x.ty)))
}

fn next_power_of_2<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let n = lower.int_arg(args, "n")?;
    match eval::call_builtin("next_power_of_2", &[Constant::Int(n)]) {
        Some(Ok(value)) => Ok(Val::Const(value)),
        Some(Err(error)) => Err(lower.rejected(args.span, error.to_string())),
        None => Err(lower.unsupported(args.span, "next_power_of_2")),
    }
}

/// Python's `min` and `max`: of constants as Python, else pairwise.
fn python_extreme<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, max: bool) -> Result<Val<'a>> {
    let values: Vec<Val<'a>> = match args.rest.as_slice() {
        [one] => match &one.val {
            Val::Tuple(items) => items.clone(),
            other => vec![other.clone()],
        },
        many => many.iter().map(|arg| arg.val.clone()).collect(),
    };
    if let Some(constants) = values.iter().map(Val::to_constant).collect::<Option<Vec<_>>>() {
        let name = if max { "max" } else { "min" };
        return match eval::call_builtin(name, &constants) {
            Some(Ok(value)) => Ok(Val::constant(value)),
            Some(Err(error)) => Err(lower.rejected(args.span, error.to_string())),
            None => Err(lower.unsupported(args.span, name)),
        };
    }
    let mut values = values.into_iter();
    let Some(mut best) = values.next() else { return Err(lower.rejected(args.span, "min or max of nothing")) };
    for value in values {
        best = maximum(lower, args.span, &best, &value, max, false)?;
    }
    Ok(best)
}
