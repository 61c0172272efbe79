//! Reductions along an axis.
//!
//! Integers narrower than 32 bits are summed in 32 bits; `max` and `min` compare them as i32 and narrow
//! floats as fp32, as Triton's library does.

use smallvec::SmallVec;

use super::create::make_range;
use super::math::maximum;
use super::{Builtin, Lower, function, member_function};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{InstKind, Region, Type};
use crate::kernel::lower::call::{Arg, Args};
use crate::kernel::lower::types::{Scalar, Ty};
use crate::kernel::lower::value::{Tensor, Val};
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::{BinaryOp, CompareOp, FunctionDef};

const EXTREME: &[&str] = &["input", "axis=", "return_indices=", "return_indices_tie_break_left=", "keep_dims="];
const ARG_EXTREME: &[&str] = &["input", "axis", "tie_break_left=", "keep_dims="];

pub static TABLE: &[Builtin] = &[
    member_function("sum", &["input", "axis=", "keep_dims=", "dtype="], sum),
    member_function("max", EXTREME, |l, a| extreme(l, a, true)),
    member_function("min", EXTREME, |l, a| extreme(l, a, false)),
    member_function("argmax", ARG_EXTREME, |l, a| arg_extreme(l, a, true)),
    member_function("argmin", ARG_EXTREME, |l, a| arg_extreme(l, a, false)),
    member_function("xor_sum", &["input", "axis=", "keep_dims="], |l, a| bitwise(l, a, BinaryOp::BitXor)),
    member_function("reduce_or", &["input", "axis", "keep_dims="], |l, a| bitwise(l, a, BinaryOp::BitOr)),
    function("reduce", &["input", "axis", "combine_fn", "keep_dims="], reduce),
];

/// How two groups of values, one an operand, become one.
#[derive(Clone, Copy)]
pub enum Combine<'a> {
    Binary(BinaryOp),
    Extreme {
        max: bool,
    },
    /// The greater (or smaller) value with its index; ties go to the smaller index, or to either.
    ExtremeIndex {
        max: bool,
        tie_left: bool,
    },
    Function(&'a FunctionDef),
}

fn input<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Tensor> {
    let input = lower.tensor_arg(args, "input")?;
    if !input.ty.is_block() {
        return Err(lower.type_error(args.span, format!("a reduction of a scalar ({})", input.ty)));
    }
    Ok(input)
}

fn sum<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let input = input(lower, args)?;
    let to = sum_type(lower, args, &input)?;
    let input = lower.cast(args.span, &input, to)?;
    finish(lower, args, vec![input], Combine::Binary(BinaryOp::Add)).map(first)
}

/// The type in which sums and products are taken: `dtype`, else one of at least 32 bits of the same sign.
pub fn sum_type<'a>(lower: &Lower<'a, '_>, args: &Args<'a>, input: &Tensor) -> Result<Scalar> {
    match args.given("dtype") {
        Some(arg) => lower.type_of(arg),
        None => Ok(match input.ty.scalar {
            Scalar::Num(DType::I8 | DType::I16) => Scalar::Num(DType::I32),
            // An int1 is unsigned to Triton.
            Scalar::Num(DType::U8 | DType::U16 | DType::Bool) => Scalar::Num(DType::U32),
            other => other,
        }),
    }
}

/// The exclusive or along an axis.
pub fn xor_of<'a>(lower: &mut Lower<'a, '_>, span: Span, input: &Tensor, axis: usize) -> Result<Tensor> {
    let inputs = [input.clone()];
    let combine = combine_region(lower, span, Combine::Binary(BinaryOp::BitXor), &inputs)?;
    Ok(reduced(lower, &inputs, axis, combine).remove(0))
}

/// The operands of a reduction or scan, and whether they were one value and no tuple.
pub fn inputs_of<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<(Vec<Tensor>, bool)> {
    let arg = lower.arg(args, "input")?.clone();
    let (inputs, one) = match &arg.val {
        Val::Tuple(items) => (items.iter().map(|item| lower.tensor_of(arg.span, item)).collect::<Result<Vec<_>>>()?, false),
        other => (vec![lower.tensor_of(arg.span, other)?], true),
    };
    let what = args.builtin.name;
    let Some(shape) = inputs.first().map(|t| t.ty.shape.clone()).filter(|shape| !shape.is_empty()) else {
        return Err(lower.type_error(args.span, format!("`tl.{what}` of a scalar")));
    };
    if inputs.iter().any(|t| t.ty.shape != shape) {
        return Err(lower.type_error(args.span, format!("operands of `tl.{what}` must have one shape")));
    }
    Ok((inputs, one))
}

fn first(mut list: Vec<Tensor>) -> Val<'static> {
    match list.len() {
        1 => Val::Tensor(list.remove(0)),
        _ => Val::Tuple(list.into_iter().map(Val::Tensor).collect()),
    }
}

/// What `max` and `min` compare in.
fn widened<'a>(lower: &mut Lower<'a, '_>, span: Span, input: &Tensor) -> Result<Tensor> {
    match input.ty.scalar {
        s if s.bits() >= 32 => Ok(input.clone()),
        s if s.is_float() => lower.cast(span, input, Scalar::Num(DType::F32)),
        _ => lower.cast(span, input, Scalar::Num(DType::I32)),
    }
}

fn extreme<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, max: bool) -> Result<Val<'a>> {
    let input = input(lower, args)?;
    if lower.bool_arg(args, "return_indices", false)? {
        let tie_left = lower.bool_arg(args, "return_indices_tie_break_left", true)?;
        return with_index(lower, args, input, Combine::ExtremeIndex { max, tie_left }).map(first);
    }
    let input = widened(lower, args.span, &input)?;
    finish(lower, args, vec![input], Combine::Extreme { max }).map(first)
}

fn arg_extreme<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, max: bool) -> Result<Val<'a>> {
    let input = input(lower, args)?;
    let tie_left = lower.bool_arg(args, "tie_break_left", true)?;
    let mut both = with_index(lower, args, input, Combine::ExtremeIndex { max, tie_left })?;
    Ok(Val::Tensor(both.remove(1)))
}

/// Reduces values together with their indices along the axis.
fn with_index<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, input: Tensor, combine: Combine<'a>) -> Result<Vec<Tensor>> {
    let rank = input.ty.shape.len();
    let Some(axis) = args.given("axis") else {
        return Err(lower.unsupported(args.span, "the index of an extreme over all axes"));
    };
    let axis = lower.axis_of(axis, rank)?;
    let size = input.ty.shape[axis];
    let mut index = make_range(lower, 0, size as i32, &[size]);
    for other in 0..rank {
        if other != axis {
            index = lower.expand_dims(&index, other);
        }
    }
    let index = lower.broadcast_to(args.span, &index, &input.ty.shape.clone())?;
    finish(lower, args, vec![input, index], combine)
}

fn bitwise<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, op: BinaryOp) -> Result<Val<'a>> {
    let input = input(lower, args)?;
    if !input.ty.scalar.is_int() {
        return Err(lower.type_error(args.span, format!("`tl.{}` of {}", args.builtin.name, input.ty.scalar)));
    }
    finish(lower, args, vec![input], Combine::Binary(op)).map(first)
}

fn reduce<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let Val::Function(function) = lower.arg(args, "combine_fn")?.val.clone() else {
        return Err(lower.rejected(args.span, "combine_fn must be a @triton.jit function of this file"));
    };
    let (inputs, one) = inputs_of(lower, args)?;
    let mut reduced = finish(lower, args, inputs, Combine::Function(function))?;
    Ok(if one { Val::Tensor(reduced.remove(0)) } else { Val::Tuple(reduced.into_iter().map(Val::Tensor).collect()) })
}

/// The reduction itself, then `keep_dims`.
fn finish<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, inputs: Vec<Tensor>, combine: Combine<'a>) -> Result<Vec<Tensor>> {
    let span = args.span;
    let keep_dims = lower.bool_arg(args, "keep_dims", false)?;
    let rank = inputs[0].ty.shape.len();
    let (axis, inputs) = match args.given("axis") {
        Some(axis) => (Some(lower.axis_of(axis, rank)?), inputs),
        // All axes: Triton flattens first.
        None => {
            let mut flat = Vec::with_capacity(inputs.len());
            for input in inputs {
                let numel = input.ty.shape.iter().product();
                flat.push(lower.reshape(&input, &[numel]));
            }
            (None, flat)
        }
    };
    let at = axis.unwrap_or(0);
    let combine = combine_region(lower, span, combine, &inputs)?;
    let results = reduced(lower, &inputs, at, combine);
    let mut out = Vec::with_capacity(results.len());
    for mut tensor in results {
        if keep_dims {
            match axis {
                Some(axis) => tensor = lower.expand_dims(&tensor, axis),
                None => {
                    for _ in 0..rank {
                        tensor = lower.expand_dims(&tensor, 0);
                    }
                }
            }
        }
        out.push(tensor);
    }
    Ok(out)
}

/// The instruction alone.
fn reduced(lower: &mut Lower<'_, '_>, inputs: &[Tensor], axis: usize, combine: Region) -> Vec<Tensor> {
    let mut rest = inputs[0].ty.shape.clone();
    rest.remove(axis);
    let types: Vec<Ty> = inputs.iter().map(|t| Ty::block(t.ty.scalar, &rest)).collect();
    let operands: SmallVec<_> = inputs.iter().map(|t| t.value).collect();
    let ir_types: Vec<Type> = types.iter().map(Ty::ir).collect();
    let results = lower.b.insts_with(InstKind::Reduce { operands, axis: axis as u8, combine }, &ir_types);
    results.into_iter().zip(types).map(|(value, ty)| lower.tensor(value, ty)).collect()
}

/// A combine function as a region over two lanes an operand.
pub fn combine_region<'a>(lower: &mut Lower<'a, '_>, span: Span, combine: Combine<'a>, inputs: &[Tensor]) -> Result<Region> {
    lower.b.open();
    let lane = |lower: &mut Lower<'a, '_>, t: &Tensor| {
        let ty = Ty::scalar(t.ty.scalar);
        let value = lower.b.value(ty.ir());
        lower.tensor(value, ty)
    };
    let left: Vec<Tensor> = inputs.iter().map(|t| lane(lower, t)).collect();
    let right: Vec<Tensor> = inputs.iter().map(|t| lane(lower, t)).collect();
    let region_args = left.iter().chain(&right).map(|t| t.value).collect();
    let combined = combine_lanes(lower, span, combine, &left, &right)?;
    for (value, input) in combined.iter().zip(inputs) {
        if value.ty != Ty::scalar(input.ty.scalar) {
            let message = format!("the combine function makes {} from {}", value.ty, input.ty.scalar);
            return Err(lower.type_error(span, message));
        }
    }
    let region = lower.b.close(region_args, combined.iter().map(|t| t.value).collect());
    lower.b.span = span;
    Ok(region)
}

fn combine_lanes<'a>(
    lower: &mut Lower<'a, '_>,
    span: Span,
    combine: Combine<'a>,
    left: &[Tensor],
    right: &[Tensor],
) -> Result<Vec<Tensor>> {
    let val = |t: &Tensor| Val::Tensor(t.clone());
    let result = match combine {
        Combine::Binary(op) => lower.binary(span, op, &val(&left[0]), &val(&right[0]))?,
        Combine::Extreme { max } => maximum(lower, span, &val(&left[0]), &val(&right[0]), max, false)?,
        Combine::ExtremeIndex { max, tie_left } => {
            let (v1, i1, v2, i2) = (val(&left[0]), val(&left[1]), val(&right[0]), val(&right[1]));
            let mut tie = None;
            if tie_left {
                let equal = lower.compare(span, CompareOp::Eq, &v1, &v2)?;
                let earlier = lower.compare(span, CompareOp::Lt, &i1, &i2)?;
                let (equal, earlier) = (lower.tensor_of(span, &equal)?, lower.tensor_of(span, &earlier)?);
                tie = Some(lower.logical(span, true, &equal, &earlier)?);
            }
            let better = lower.compare(span, if max { CompareOp::Gt } else { CompareOp::Lt }, &v1, &v2)?;
            let mut first = lower.tensor_of(span, &better)?;
            if let Some(tie) = tie {
                let tie = lower.tensor_of(span, &tie)?;
                let either = lower.logical(span, false, &first, &tie)?;
                first = lower.tensor_of(span, &either)?;
            }
            let mut select = |a: &Tensor, b: &Tensor| {
                let kind = InstKind::Select { condition: first.value, then: a.value, other: b.value };
                let value = lower.b.inst(kind, a.ty.ir());
                Val::Tensor(Tensor { value, ty: a.ty.clone() })
            };
            Val::Tuple(vec![select(&left[0], &right[0]), select(&left[1], &right[1])])
        }
        Combine::Function(function) => {
            let args = left.iter().chain(right).map(|t| Arg { val: val(t), span }).collect();
            lower.call_jit(span, function, args, Vec::new())?
        }
    };
    let list = match result {
        Val::Tuple(items) => items,
        Val::Const(Constant::None) => Vec::new(),
        one => vec![one],
    };
    if list.len() != left.len() {
        let message = format!("the combine function gives {} values for {} operands", list.len(), left.len());
        return Err(lower.type_error(span, message));
    }
    list.iter().map(|item| lower.tensor_of(span, item)).collect()
}
