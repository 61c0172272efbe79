//! Types and compile-time values: casts, `tl.constexpr`, Python's `int`, `float`, `len`.

use super::{Builtin, Lower, function, member_function};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::lower::call::Args;
use crate::kernel::lower::types::Scalar;
use crate::kernel::lower::value::Val;
use crate::syntax::{Constant, eval};

pub static TABLE: &[Builtin] = &[
    member_function("cast", &["input", "dtype", "fp_downcast_rounding=", "bitcast="], cast),
    member_function("to", &["input", "dtype", "fp_downcast_rounding=", "bitcast="], cast),
    function("to_tensor", &["x"], |l, a| Ok(Val::Tensor(l.tensor_arg(a, "x")?))),
    function("get_int_dtype", &["bitwidth", "signed"], int_dtype),
    function("constexpr", &["value"], constexpr),
    function("pointer_type", &["element_ty"], pointer_type),
    function("python.int", &["value"], |l, a| python(l, a, "int")),
    function("python.float", &["value"], |l, a| python(l, a, "float")),
    function("python.len", &["value"], |l, a| python(l, a, "len")),
    function("python.bit_length", &["value"], bit_length),
];

fn cast<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let input = lower.tensor_arg(args, "input")?;
    let to = lower.type_of(lower.arg(args, "dtype")?)?;
    let zero = match lower.str_arg(args, "fp_downcast_rounding")?.as_deref() {
        None => false,
        // Nothing is converted, and nothing is asked of the rounding.
        Some(_) if input.ty.scalar == to => false,
        Some(mode @ ("rtne" | "rtz")) => {
            let narrows = input.ty.scalar.is_float() && to.is_float() && to.bits() < input.ty.scalar.bits();
            // A cast that changes nothing is none, whatever its rounding.
            if !narrows && input.ty.scalar != to {
                let message = format!("fp_downcast_rounding with a cast of {} to {to}", input.ty.scalar);
                return Err(lower.rejected(args.span, message));
            }
            narrows && mode == "rtz"
        }
        Some(mode) => return Err(lower.rejected(args.span, format!("fp_downcast_rounding \"{mode}\"; it is rtne or rtz"))),
    };
    let tensor = if lower.bool_arg(args, "bitcast", false)? {
        lower.bitcast(args.span, &input, to)?
    } else if zero {
        lower.cast_toward_zero(args.span, &input, to)?
    } else {
        lower.cast(args.span, &input, to)?
    };
    Ok(Val::Tensor(tensor))
}

/// The integer type of a width.
fn int_dtype<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let (bits, signed) = (lower.int_arg(args, "bitwidth")?, lower.bool_arg(args, "signed", true)?);
    let name = if signed && bits != 1 { format!("int{bits}") } else { format!("uint{bits}") };
    let dtype = DType::ALL.into_iter().find(|d| d.triton_name() == name || bits == 1 && *d == DType::Bool);
    match dtype {
        Some(dtype) => Ok(Val::Type(Scalar::Num(dtype))),
        None => Err(lower.rejected(args.span, format!("no integer type of {bits} bits"))),
    }
}

fn constexpr<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    match &args.given("value").map(|arg| arg.val.clone()) {
        Some(Val::Tensor(_)) => Err(lower.rejected(args.span, "tl.constexpr of a run-time value")),
        Some(value) => Ok(value.clone()),
        None => Ok(Val::Const(Constant::None)),
    }
}

fn pointer_type<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    match lower.type_of(lower.arg(args, "element_ty")?)? {
        Scalar::Num(dtype) => Ok(Val::Type(Scalar::Ptr(dtype))),
        Scalar::Ptr(_) => Err(lower.unsupported(args.span, "pointers to pointers")),
    }
}

/// `n.bit_length()`, of Python's integers.
fn bit_length<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let value = lower.int_arg(args, "value")?;
    Ok(Val::int(i64::from(64 - value.unsigned_abs().leading_zeros())))
}

fn python<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, name: &str) -> Result<Val<'a>> {
    let value = &lower.arg(args, "value")?.val;
    if let (Val::Tuple(items), "len") = (value, name) {
        return Ok(Val::int(items.len() as i64));
    }
    let Some(constant) = value.to_constant() else {
        return Err(lower.rejected(args.span, format!("`{name}` of a run-time value; use `.to(…)`")));
    };
    match eval::call_builtin(name, &[constant]) {
        Some(Ok(result)) => Ok(Val::constant(result)),
        Some(Err(error)) => Err(lower.rejected(args.span, error.to_string())),
        None => Err(lower.unsupported(args.span, format!("`{name}`"))),
    }
}
