//! Scans: `associative_scan`, `cumsum`, `cumprod`. Their combine functions become regions, as those of reductions.

use smallvec::SmallVec;

use super::reduce::{Combine, combine_region, inputs_of, sum_type};
use super::{Builtin, Lower, member_function};
use crate::diag::Result;
use crate::kernel::ir::{InstKind, Type};
use crate::kernel::lower::call::Args;
use crate::kernel::lower::types::Ty;
use crate::kernel::lower::value::{Tensor, Val};
use crate::syntax::ast::BinaryOp;

pub static TABLE: &[Builtin] = &[
    member_function("associative_scan", &["input", "axis", "combine_fn", "reverse="], associative_scan),
    member_function("cumsum", &["input", "axis=", "reverse=", "dtype="], |l, a| cumulative(l, a, BinaryOp::Add)),
    member_function("cumprod", &["input", "axis=", "reverse=", "dtype="], |l, a| cumulative(l, a, BinaryOp::Mul)),
];

fn cumulative<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, op: BinaryOp) -> Result<Val<'a>> {
    let input = lower.tensor_arg(args, "input")?;
    let to = sum_type(lower, args, &input)?;
    let input = lower.cast(args.span, &input, to)?;
    let mut scanned = scan(lower, args, vec![input], Combine::Binary(op))?;
    Ok(Val::Tensor(scanned.remove(0)))
}

fn associative_scan<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let Val::Function(function) = lower.arg(args, "combine_fn")?.val.clone() else {
        return Err(lower.rejected(args.span, "combine_fn must be a @triton.jit function of this file"));
    };
    let (inputs, one) = inputs_of(lower, args)?;
    let mut scanned = scan(lower, args, inputs, Combine::Function(function))?;
    Ok(if one { Val::Tensor(scanned.remove(0)) } else { Val::Tuple(scanned.into_iter().map(Val::Tensor).collect()) })
}

fn scan<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, inputs: Vec<Tensor>, combine: Combine<'a>) -> Result<Vec<Tensor>> {
    let rank = inputs[0].ty.shape.len();
    if rank == 0 {
        return Err(lower.type_error(args.span, "a scan of a scalar"));
    }
    let axis = match args.given("axis") {
        Some(axis) => lower.axis_of(axis, rank)?,
        None => 0,
    };
    let reverse = lower.bool_arg(args, "reverse", false)?;
    let combine = combine_region(lower, args.span, combine, &inputs)?;
    let operands: SmallVec<_> = inputs.iter().map(|t| t.value).collect();
    let types: Vec<Ty> = inputs.into_iter().map(|t| t.ty).collect();
    let ir_types: Vec<Type> = types.iter().map(Ty::ir).collect();
    let results = lower.b.insts_with(InstKind::Scan { operands, axis: axis as u8, reverse, combine }, &ir_types);
    Ok(results.into_iter().zip(types).map(|(value, ty)| lower.tensor(value, ty)).collect())
}
