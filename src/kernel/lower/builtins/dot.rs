//! Matrix products of blocks.

use super::{Builtin, Lower, function};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{DotPrecision, InstKind};
use crate::kernel::lower::call::Args;
use crate::kernel::lower::shape_text;
use crate::kernel::lower::types::{Scalar, Ty};
use crate::kernel::lower::value::Val;
use crate::syntax::Constant;

const DOT: &[&str] = &["input", "other", "acc=", "input_precision=", "allow_tf32=", "max_num_imprecise_acc=", "out_dtype="];

pub static TABLE: &[Builtin] = &[function("dot", DOT, dot)];

fn precision<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<DotPrecision> {
    let by_name = lower.str_arg(args, "input_precision")?;
    if by_name.is_some() && args.given("allow_tf32").is_some() {
        return Err(lower.rejected(args.span, "both input_precision and allow_tf32"));
    }
    match by_name.as_deref() {
        None if args.given("allow_tf32").is_some() => {
            Ok(if lower.bool_arg(args, "allow_tf32", true)? { lower.target.dot_precision } else { DotPrecision::Ieee })
        }
        None => Ok(lower.target.dot_precision),
        Some("ieee") => Ok(DotPrecision::Ieee),
        Some("tf32") => Ok(DotPrecision::Tf32),
        Some("tf32x3") => Ok(DotPrecision::Tf32x3),
        Some("bf16x3") => Ok(DotPrecision::Bf16x3),
        Some("bf16x6") => Ok(DotPrecision::Bf16x6),
        Some(other) => Err(lower.rejected(args.span, format!("input_precision \"{other}\""))),
    }
}

/// The least K that a dot of operands of this width takes on CUDA targets.
fn min_k(bits: u32) -> usize {
    match bits {
        8 => 32,
        16 => 16,
        32 => 8,
        _ => 4,
    }
}

fn dot<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let span = args.span;
    let (a, b) = (lower.tensor_arg(args, "input")?, lower.tensor_arg(args, "other")?);
    let acc = lower.optional_tensor(args, "acc")?;
    let precision = precision(lower, args)?;
    let (Scalar::Num(da), Scalar::Num(db)) = (a.ty.scalar, b.ty.scalar) else {
        return Err(lower.type_error(span, "a dot of pointers"));
    };
    let allowed =
        |d: DType| d.is_fp8() || matches!(d, DType::I8 | DType::U8 | DType::F16 | DType::BF16 | DType::F32 | DType::F64);
    if !allowed(da) || !allowed(db) || (da != db && !(da.is_fp8() && db.is_fp8())) {
        return Err(lower.type_error(span, format!("a dot of {} and {}; both operands must have one type", a.ty, b.ty)));
    }
    let rank = a.ty.shape.len();
    if b.ty.shape.len() != rank || !(rank == 2 || rank == 3) {
        let message = format!("a dot of {} and {}; both must have two axes, or three", a.ty, b.ty);
        return Err(lower.type_error(span, message));
    }
    let (k, n) = (a.ty.shape[rank - 1], b.ty.shape[rank - 1]);
    if b.ty.shape[rank - 2] != k {
        let (x, y) = (shape_text(&a.ty.shape), shape_text(&b.ty.shape));
        let other = b.ty.shape[rank - 2];
        return Err(lower.type_error(span, format!("a dot of {x} and {y}: inner sizes {k} and {other} differ")));
    }
    if a.ty.shape[..rank - 2] != b.ty.shape[..rank - 2] {
        let (x, y) = (shape_text(&a.ty.shape), shape_text(&b.ty.shape));
        return Err(lower.type_error(span, format!("a dot of {x} and {y}: the first sizes differ")));
    }
    let mut shape = a.ty.shape.clone();
    shape[rank - 1] = n;
    let least = min_k(a.ty.scalar.bits());
    if k < least {
        return Err(lower.rejected(span, format!("a dot of {da} operands needs K of at least {least}, not {k}")));
    }
    let out = match args.given("out_dtype") {
        Some(arg) => Some(lower.type_of(arg)?),
        None => None,
    };
    let default = acc.as_ref().map_or(Scalar::Num(DType::F32), |acc| acc.ty.scalar);
    let out = out.unwrap_or(default);
    let result = if da.is_integer() {
        if da != DType::I8 {
            return Err(lower.type_error(span, "an integer dot takes int8 only"));
        }
        DType::I32
    } else {
        match (out, da) {
            (Scalar::Num(DType::BF16), _) => {
                return Err(lower.rejected(span, "out_dtype bfloat16; use float32 and convert the result"));
            }
            (_, DType::F64) => DType::F64,
            (_, DType::F32 | DType::BF16) => DType::F32,
            (Scalar::Num(DType::F16), _) => DType::F16,
            _ => DType::F32,
        }
    };
    let ty = Ty::block(Scalar::Num(result), &shape);
    let acc = match acc {
        Some(acc) if acc.ty == ty => acc,
        Some(acc) => {
            return Err(lower.type_error(span, format!("the accumulator is {}, the dot gives {ty}", acc.ty)));
        }
        None => {
            let zero = lower.number(span, &Constant::Int(0), result)?;
            lower.splat(&zero, &shape)
        }
    };
    let kind = InstKind::Dot { a: a.value, b: b.value, acc: acc.value, precision };
    let value = lower.b.inst(kind, ty.ir());
    Ok(Val::Tensor(lower.tensor(value, ty)))
}
