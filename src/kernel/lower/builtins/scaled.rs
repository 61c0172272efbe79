//! `dot_scaled`: matrix products of blocks with a scale for every group of elements along K.

use super::{Builtin, Lower, function};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{DotScaled, InstKind, ScaledFormat};
use crate::kernel::lower::call::Args;
use crate::kernel::lower::types::{Scalar, Ty};
use crate::kernel::lower::value::{Tensor, Val};
use crate::syntax::Constant;

const DOT_SCALED: &[&str] = &[
    "lhs",
    "lhs_scale",
    "lhs_format",
    "rhs",
    "rhs_scale",
    "rhs_format",
    "acc=",
    "fast_math=",
    "lhs_k_pack=",
    "rhs_k_pack=",
    "out_dtype=",
];

pub static TABLE: &[Builtin] = &[function("dot_scaled", DOT_SCALED, dot_scaled)];

/// An operand in the type of its format: bytes are taken as their bits.
fn operand<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, side: &str) -> Result<(Tensor, ScaledFormat)> {
    let value = lower.tensor_arg(args, side)?;
    let name = lower.str_arg(args, &format!("{side}_format"))?.unwrap_or_default();
    let (format, dtype, bits) = match name.as_str() {
        "e2m1" => (ScaledFormat::E2M1, DType::U8, DType::U8),
        "e4m3" => (ScaledFormat::E4M3, DType::F8E4M3, DType::U8),
        "e5m2" => (ScaledFormat::E5M2, DType::F8E5M2, DType::U8),
        "bf16" => (ScaledFormat::BF16, DType::BF16, DType::U16),
        "fp16" => (ScaledFormat::F16, DType::F16, DType::U16),
        other => return Err(lower.rejected(args.span, format!("the format \"{other}\" of `{side}`"))),
    };
    if value.ty.scalar != Scalar::Num(dtype) && value.ty.scalar != Scalar::Num(bits) {
        return Err(lower.type_error(args.span, format!("`{side}` of {} in the format {name}", value.ty.scalar)));
    }
    Ok((lower.bitcast(args.span, &value, Scalar::Num(dtype))?, format))
}

fn dot_scaled<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let span = args.span;
    let ((a, a_format), (b, b_format)) = (operand(lower, args, "lhs")?, operand(lower, args, "rhs")?);
    let (a_scale, b_scale) = (lower.optional_tensor(args, "lhs_scale")?, lower.optional_tensor(args, "rhs_scale")?);
    let fast_math = lower.bool_arg(args, "fast_math", false)?;
    let (a_k_pack, b_k_pack) = (lower.bool_arg(args, "lhs_k_pack", true)?, lower.bool_arg(args, "rhs_k_pack", true)?);
    if !a_k_pack && a_format != ScaledFormat::E2M1 || !b_k_pack && b_format != ScaledFormat::E2M1 {
        return Err(lower.rejected(span, "only e2m1 operands can be packed along another axis than K"));
    }
    if let Some(out) = args.given("out_dtype")
        && lower.type_of(out)? != Scalar::Num(DType::F32)
    {
        return Err(lower.rejected(span, "out_dtype of a scaled dot must be float32"));
    }
    let rank = a.ty.shape.len();
    if !(rank == 2 || rank == 3) || b.ty.shape.len() != rank {
        return Err(lower.type_error(span, format!("a scaled dot of {} and {}; both must have two or three axes", a.ty, b.ty)));
    }
    let packed = |format: ScaledFormat| if format == ScaledFormat::E2M1 { 2 } else { 1 };
    let (pa, pb) = (packed(a_format), packed(b_format));
    let (sa, sb) = (&a.ty.shape, &b.ty.shape);
    let (m, k) = if a_k_pack { (sa[rank - 2], sa[rank - 1] * pa) } else { (sa[rank - 2] * pa, sa[rank - 1]) };
    let (kb, n) = if b_k_pack { (sb[rank - 2] * pb, sb[rank - 1]) } else { (sb[rank - 2], sb[rank - 1] * pb) };
    if k != kb {
        return Err(lower.type_error(span, format!("a scaled dot of {} and {}: {k} and {kb} elements along K", a.ty, b.ty)));
    }
    for (side, scale, rows) in [("lhs_scale", &a_scale, m), ("rhs_scale", &b_scale, n)] {
        let Some(scale) = scale else { continue };
        let shape = &scale.ty.shape;
        let fits = shape.len() == rank
            && shape[rank - 2] == rows
            && (shape[rank - 1] * 32 == k || shape[rank - 1] * 16 == k)
            && (scale.ty.scalar.bits() == 8);
        if !fits {
            let message =
                format!("`{side}` is {}; it must be 8-bit scales of {rows}×{} (or of {rows}×{})", scale.ty, k / 32, k / 16);
            return Err(lower.type_error(span, message));
        }
    }
    let mut shape = sa.clone();
    (shape[rank - 2], shape[rank - 1]) = (m, n);
    let ty = Ty::block(Scalar::Num(DType::F32), &shape);
    let acc = match lower.optional_tensor(args, "acc")? {
        Some(acc) if acc.ty == ty => acc,
        Some(acc) => return Err(lower.type_error(span, format!("the accumulator is {}, the dot gives {ty}", acc.ty))),
        None => {
            let zero = lower.number(span, &Constant::Int(0), DType::F32)?;
            lower.splat(&zero, &shape)
        }
    };
    let dot = DotScaled {
        a: a.value,
        a_scale: a_scale.map(|t| t.value),
        a_format,
        b: b.value,
        b_scale: b_scale.map(|t| t.value),
        b_format,
        acc: acc.value,
        fast_math,
        a_k_pack,
        b_k_pack,
    };
    let value = lower.b.inst(InstKind::DotScaled(Box::new(dot)), ty.ir());
    Ok(Val::Tensor(lower.tensor(value, ty)))
}
