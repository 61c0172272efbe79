//! `libdevice.…`: the functions of `kernel::libdevice` by name.
//!
//! The types of the arguments must be one of the function's lists as they are; shapes broadcast.

use super::{Builtin, Lower, function};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::InstKind;
use crate::kernel::libdevice::Symbol;
use crate::kernel::lower::call::Args;
use crate::kernel::lower::types::{Scalar, Ty};
use crate::kernel::lower::value::{Tensor, Val};

const ONE: &[&str] = &["arg0"];
const TWO: &[&str] = &["arg0", "arg1"];
const THREE: &[&str] = &["arg0", "arg1", "arg2"];
const FOUR: &[&str] = &["arg0", "arg1", "arg2", "arg3"];

const fn call(name: &'static str, params: &'static [&'static str]) -> Builtin {
    function(name, params, extern_call)
}

/// The prefix that keeps `libdevice.exp` apart from `exp`.
pub const PREFIX: &str = "libdevice.";

fn extern_call<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let name = args.builtin.name.strip_prefix(PREFIX).unwrap_or(args.builtin.name);
    let mut operands = Vec::with_capacity(args.builtin.params.len());
    for param in args.builtin.params {
        operands.push(lower.tensor_arg(args, param)?);
    }
    let mut dtypes = Vec::with_capacity(operands.len());
    for operand in &operands {
        match operand.ty.scalar {
            Scalar::Num(dtype) => dtypes.push(dtype),
            Scalar::Ptr(_) => return Err(lower.type_error(args.span, format!("`{}` of a pointer", args.builtin.name))),
        }
    }
    let list = |dtypes: &[DType]| dtypes.iter().map(|&d| Scalar::Num(d).short_name()).collect::<Vec<_>>().join(", ");
    let Some(symbol) = Symbol::of(name, &dtypes) else {
        let mut diagnostic = lower.type_error(args.span, format!("`{}` does not take {}", args.builtin.name, list(&dtypes)));
        let known: Vec<String> = Symbol::overloads(name).map(|types| format!("({})", list(types))).collect();
        diagnostic.notes.push(format!("it takes {}", known.join(" or ")));
        diagnostic.help = Some("convert the arguments: `x.to(tl.float32)`".to_owned());
        return Err(diagnostic);
    };
    let operands = lower.one_shape(args, operands)?;
    let ty = Ty::block(Scalar::Num(symbol.row().result), &operands[0].ty.shape);
    let kind = InstKind::Extern { symbol, operands: operands.iter().map(|t| t.value).collect() };
    let value = lower.b.inst(kind, ty.ir());
    let result = lower.tensor(value, ty);
    // These answer with a truth value.
    if matches!(name, "isnan" | "isinf" | "finitef" | "isfinited") {
        return Ok(Val::Tensor(lower.cast(args.span, &result, Scalar::Num(DType::Bool))?));
    }
    Ok(Val::Tensor(result))
}

impl<'a> Lower<'a, '_> {
    /// Values in a common shape; their types stay.
    pub fn one_shape(&mut self, args: &Args<'a>, mut values: Vec<Tensor>) -> Result<Vec<Tensor>> {
        let Some(mut common) = values.first().cloned() else { return Ok(values) };
        for value in &values[1..] {
            (common, _) = self.broadcast(args.span, common, value.clone())?;
        }
        for value in &mut values {
            (*value, _) = self.broadcast(args.span, value.clone(), common.clone())?;
        }
        Ok(values)
    }
}

pub static TABLE: &[Builtin] = &[
    call("libdevice.clz", ONE),
    call("libdevice.popc", ONE),
    call("libdevice.byte_perm", THREE),
    call("libdevice.mulhi", TWO),
    call("libdevice.mul24", TWO),
    call("libdevice.brev", ONE),
    call("libdevice.sad", THREE),
    call("libdevice.abs", ONE),
    call("libdevice.floor", ONE),
    call("libdevice.rcp64h", ONE),
    call("libdevice.rsqrt", ONE),
    call("libdevice.ceil", ONE),
    call("libdevice.trunc", ONE),
    call("libdevice.exp2", ONE),
    call("libdevice.saturatef", ONE),
    call("libdevice.fma_rn", THREE),
    call("libdevice.fma_rz", THREE),
    call("libdevice.fma_rd", THREE),
    call("libdevice.fma_ru", THREE),
    call("libdevice.fast_dividef", TWO),
    call("libdevice.div_rn", TWO),
    call("libdevice.div_rz", TWO),
    call("libdevice.div_rd", TWO),
    call("libdevice.div_ru", TWO),
    call("libdevice.rcp_rn", ONE),
    call("libdevice.rcp_rz", ONE),
    call("libdevice.rcp_rd", ONE),
    call("libdevice.rcp_ru", ONE),
    call("libdevice.sqrt_rn", ONE),
    call("libdevice.sqrt_rz", ONE),
    call("libdevice.sqrt_rd", ONE),
    call("libdevice.sqrt_ru", ONE),
    call("libdevice.sqrt", ONE),
    call("libdevice.add_rn", TWO),
    call("libdevice.add_rz", TWO),
    call("libdevice.add_rd", TWO),
    call("libdevice.add_ru", TWO),
    call("libdevice.mul_rn", TWO),
    call("libdevice.mul_rz", TWO),
    call("libdevice.mul_rd", TWO),
    call("libdevice.mul_ru", TWO),
    call("libdevice.double2float_rn", ONE),
    call("libdevice.double2float_rz", ONE),
    call("libdevice.double2float_rd", ONE),
    call("libdevice.double2float_ru", ONE),
    call("libdevice.double2int_rn", ONE),
    call("libdevice.double2int_rz", ONE),
    call("libdevice.double2int_rd", ONE),
    call("libdevice.double2int_ru", ONE),
    call("libdevice.double2uint_rn", ONE),
    call("libdevice.double2uint_rz", ONE),
    call("libdevice.double2uint_rd", ONE),
    call("libdevice.double2uint_ru", ONE),
    call("libdevice.int2double_rn", ONE),
    call("libdevice.uint2double_rn", ONE),
    call("libdevice.float2int_rn", ONE),
    call("libdevice.float2int_rz", ONE),
    call("libdevice.float2int_rd", ONE),
    call("libdevice.float2int_ru", ONE),
    call("libdevice.float2uint_rn", ONE),
    call("libdevice.float2uint_rz", ONE),
    call("libdevice.float2uint_rd", ONE),
    call("libdevice.float2uint_ru", ONE),
    call("libdevice.int2float_rn", ONE),
    call("libdevice.int2float_rz", ONE),
    call("libdevice.int2float_rd", ONE),
    call("libdevice.int2float_ru", ONE),
    call("libdevice.uint2float_rn", ONE),
    call("libdevice.uint2float_rz", ONE),
    call("libdevice.uint2float_rd", ONE),
    call("libdevice.uint2float_ru", ONE),
    call("libdevice.hiloint2double", TWO),
    call("libdevice.double2loint", ONE),
    call("libdevice.double2hiint", ONE),
    call("libdevice.float2ll_rn", ONE),
    call("libdevice.float2ll_rz", ONE),
    call("libdevice.float2ll_rd", ONE),
    call("libdevice.float2ll_ru", ONE),
    call("libdevice.float2ull_rn", ONE),
    call("libdevice.float2ull_rz", ONE),
    call("libdevice.float2ull_rd", ONE),
    call("libdevice.float2ull_ru", ONE),
    call("libdevice.double2ll_rn", ONE),
    call("libdevice.double2ll_rz", ONE),
    call("libdevice.double2ll_rd", ONE),
    call("libdevice.double2ll_ru", ONE),
    call("libdevice.double2ull_rn", ONE),
    call("libdevice.double2ull_rz", ONE),
    call("libdevice.double2ull_rd", ONE),
    call("libdevice.double2ull_ru", ONE),
    call("libdevice.ll2float_rn", ONE),
    call("libdevice.ll2float_rz", ONE),
    call("libdevice.ll2float_rd", ONE),
    call("libdevice.ll2float_ru", ONE),
    call("libdevice.ull2float_rn", ONE),
    call("libdevice.ull2float_rz", ONE),
    call("libdevice.ull2float_rd", ONE),
    call("libdevice.ull2float_ru", ONE),
    call("libdevice.ll2double_rn", ONE),
    call("libdevice.ll2double_rz", ONE),
    call("libdevice.ll2double_rd", ONE),
    call("libdevice.ll2double_ru", ONE),
    call("libdevice.ull2double_rn", ONE),
    call("libdevice.ull2double_rz", ONE),
    call("libdevice.ull2double_rd", ONE),
    call("libdevice.ull2double_ru", ONE),
    call("libdevice.int_as_float", ONE),
    call("libdevice.float_as_int", ONE),
    call("libdevice.uint_as_float", ONE),
    call("libdevice.float_as_uint", ONE),
    call("libdevice.longlong_as_double", ONE),
    call("libdevice.double_as_longlong", ONE),
    call("libdevice.fast_sinf", ONE),
    call("libdevice.fast_cosf", ONE),
    call("libdevice.fast_log2f", ONE),
    call("libdevice.fast_logf", ONE),
    call("libdevice.fast_expf", ONE),
    call("libdevice.fast_tanf", ONE),
    call("libdevice.fast_exp10f", ONE),
    call("libdevice.fast_log10f", ONE),
    call("libdevice.fast_powf", TWO),
    call("libdevice.hadd", TWO),
    call("libdevice.rhadd", TWO),
    call("libdevice.sub_rn", TWO),
    call("libdevice.sub_rz", TWO),
    call("libdevice.sub_rd", TWO),
    call("libdevice.sub_ru", TWO),
    call("libdevice.rsqrt_rn", ONE),
    call("libdevice.ffs", ONE),
    call("libdevice.rint", ONE),
    call("libdevice.llrint", ONE),
    call("libdevice.nearbyint", ONE),
    call("libdevice.isnan", ONE),
    call("libdevice.signbit", ONE),
    call("libdevice.copysign", TWO),
    call("libdevice.finitef", ONE),
    call("libdevice.isinf", ONE),
    call("libdevice.nextafter", TWO),
    call("libdevice.sin", ONE),
    call("libdevice.cos", ONE),
    call("libdevice.sinpi", ONE),
    call("libdevice.cospi", ONE),
    call("libdevice.tan", ONE),
    call("libdevice.log2", ONE),
    call("libdevice.exp", ONE),
    call("libdevice.exp10", ONE),
    call("libdevice.cosh", ONE),
    call("libdevice.sinh", ONE),
    call("libdevice.tanh", ONE),
    call("libdevice.atan2", TWO),
    call("libdevice.atan", ONE),
    call("libdevice.asin", ONE),
    call("libdevice.acos", ONE),
    call("libdevice.log", ONE),
    call("libdevice.log10", ONE),
    call("libdevice.log1p", ONE),
    call("libdevice.acosh", ONE),
    call("libdevice.asinh", ONE),
    call("libdevice.atanh", ONE),
    call("libdevice.expm1", ONE),
    call("libdevice.hypot", TWO),
    call("libdevice.rhypot", TWO),
    call("libdevice.norm3d", THREE),
    call("libdevice.rnorm3d", THREE),
    call("libdevice.norm4d", FOUR),
    call("libdevice.rnorm4d", FOUR),
    call("libdevice.cbrt", ONE),
    call("libdevice.rcbrt", ONE),
    call("libdevice.j0", ONE),
    call("libdevice.j1", ONE),
    call("libdevice.y0", ONE),
    call("libdevice.y1", ONE),
    call("libdevice.yn", TWO),
    call("libdevice.jn", TWO),
    call("libdevice.cyl_bessel_i0", ONE),
    call("libdevice.cyl_bessel_i1", ONE),
    call("libdevice.erf", ONE),
    call("libdevice.erfinv", ONE),
    call("libdevice.erfc", ONE),
    call("libdevice.erfcx", ONE),
    call("libdevice.erfcinv", ONE),
    call("libdevice.normcdfinv", ONE),
    call("libdevice.normcdf", ONE),
    call("libdevice.lgamma", ONE),
    call("libdevice.ldexp", TWO),
    call("libdevice.scalbn", TWO),
    call("libdevice.fmod", TWO),
    call("libdevice.remainder", TWO),
    call("libdevice.fma", THREE),
    call("libdevice.pow", TWO),
    call("libdevice.tgamma", ONE),
    call("libdevice.round", ONE),
    call("libdevice.llround", ONE),
    call("libdevice.fdim", TWO),
    call("libdevice.ilogb", ONE),
    call("libdevice.logb", ONE),
    call("libdevice.isfinited", ONE),
];
