//! Inline assembly, the registers of a GPU that Triton reads with it, and what else stands below `tl.extra.cuda`.
//!
//! Launches here follow each other, so a program need not wait for an earlier grid (`gdc_wait`) and lets no later one in.

use std::sync::Arc;

use super::{Builtin, Lower, function};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{InlineAsm, InstKind, Type};
use crate::kernel::lower::call::{Arg, Args};
use crate::kernel::lower::types::{Scalar, Ty};
use crate::kernel::lower::value::Val;
use crate::syntax::Constant;

pub static TABLE: &[Builtin] = &[
    function("inline_asm_elementwise", &["asm", "constraints", "args", "dtype", "is_pure", "pack"], inline_asm),
    function("extra.globaltimer", &[], |l, a| special(l, a, "mov.u64 $0, %globaltimer;", "=l", DType::I64, false)),
    function("extra.smid", &[], |l, a| special(l, a, "mov.u32 $0, %smid;", "=r", DType::I32, true)),
    function("extra.num_warps", &[], |l, _| Ok(Val::int(i64::from(l.target.num_warps)))),
    function("extra.num_threads", &[], |l, _| Ok(Val::int(i64::from(l.target.num_warps) * THREADS_PER_WARP))),
    function("extra.gdc_wait", &[], |_, _| Ok(Val::Const(Constant::None))),
    function("extra.gdc_launch_dependents", &[], |_, _| Ok(Val::Const(Constant::None))),
];

/// On NVIDIA GPUs, whose functions these are.
const THREADS_PER_WARP: i64 = 32;

fn text<'a>(lower: &Lower<'a, '_>, args: &Args<'a>, param: &str) -> Result<String> {
    lower
        .str_arg(args, param)?
        .ok_or_else(|| lower.rejected(args.span, format!("argument `{param}` must be a compile-time string")))
}

fn inline_asm<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let (asm, constraints) = (text(lower, args, "asm")?, text(lower, args, "constraints")?);
    let pure = lower.bool_arg(args, "is_pure", false)?;
    let Some(pack) = u32::try_from(lower.int_arg(args, "pack")?).ok().filter(|&pack| pack > 0) else {
        return Err(lower.rejected(args.span, "argument `pack` must be a positive count"));
    };
    let given = lower.arg(args, "args")?.clone();
    let Val::Tuple(items) = &given.val else {
        return Err(lower.type_error(given.span, format!("{} where a list of arguments is needed", given.val.describe())));
    };
    let operands = items.iter().map(|item| lower.tensor_of(given.span, item)).collect::<Result<Vec<_>>>()?;
    let operands = lower.one_shape(args, operands)?;
    let dtype = lower.arg(args, "dtype")?.clone();
    let (scalars, one) = match &dtype.val {
        Val::Tuple(types) => {
            let of = |val: &Val<'a>| lower.type_of(&Arg { val: val.clone(), span: dtype.span });
            (types.iter().map(of).collect::<Result<Vec<_>>>()?, false)
        }
        _ => (vec![lower.type_of(&dtype)?], true),
    };
    if scalars.is_empty() {
        return Err(lower.rejected(args.span, "inline assembly must have a result"));
    }
    let shape = operands.first().map(|t| t.ty.shape.clone()).unwrap_or_default();
    let types: Vec<Ty> = scalars.into_iter().map(|scalar| Ty::block(scalar, &shape)).collect();
    let ir_types: Vec<Type> = types.iter().map(Ty::ir).collect();
    let asm = Arc::new(InlineAsm { text: asm, constraints, pack, pure });
    let kind = InstKind::InlineAsm { asm, operands: operands.iter().map(|t| t.value).collect() };
    let results = lower.b.insts_with(kind, &ir_types);
    let mut vals: Vec<Val<'a>> = results.into_iter().zip(types).map(|(value, ty)| Val::Tensor(lower.tensor(value, ty))).collect();
    Ok(if one { vals.swap_remove(0) } else { Val::Tuple(vals) })
}

/// A register of the machine, as a scalar.
fn special<'a>(
    lower: &mut Lower<'a, '_>,
    _args: &Args<'a>,
    text: &str,
    constraints: &str,
    dtype: DType,
    pure: bool,
) -> Result<Val<'a>> {
    let asm = Arc::new(InlineAsm { text: text.to_owned(), constraints: constraints.to_owned(), pack: 1, pure });
    let ty = Ty::scalar(Scalar::Num(dtype));
    let value = lower.b.inst(InstKind::InlineAsm { asm, operands: Vec::new() }, ty.ir());
    Ok(Val::Tensor(lower.tensor(value, ty)))
}
