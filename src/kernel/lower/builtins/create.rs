//! Blocks out of nothing: program ids, ranges, fills.

use super::{Builtin, Lower, function};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::InstKind;
use crate::kernel::lower::call::{Arg, Args};
use crate::kernel::lower::types::{Scalar, Ty};
use crate::kernel::lower::value::{Tensor, Val};
use crate::syntax::Constant;

pub static TABLE: &[Builtin] = &[
    function("program_id", &["axis"], program_id),
    function("num_programs", &["axis"], num_programs),
    function("arange", &["start", "end"], arange),
    function("full", &["shape", "value", "dtype"], full),
    function("zeros", &["shape", "dtype"], zeros),
    function("zeros_like", &["input"], zeros_like),
    function("full_like", &["input", "value"], full_like),
];

fn grid_axis<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<u8> {
    let axis = lower.int_arg(args, "axis")?;
    u8::try_from(axis)
        .ok()
        .filter(|&axis| axis < 3)
        .ok_or_else(|| lower.rejected(args.span, format!("the grid has axes 0, 1 and 2, not {axis}")))
}

fn program_id<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let axis = grid_axis(lower, args)?;
    let value = lower.b.inst(InstKind::ProgramId { axis }, Ty::num(DType::I32).ir());
    Ok(Val::Tensor(lower.tensor(value, Ty::num(DType::I32))))
}

fn num_programs<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let axis = grid_axis(lower, args)?;
    let value = lower.b.inst(InstKind::NumPrograms { axis }, Ty::num(DType::I32).ir());
    Ok(Val::Tensor(lower.tensor(value, Ty::num(DType::I32))))
}

fn arange<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let (start, end) = (lower.int_arg(args, "start")?, lower.int_arg(args, "end")?);
    let (Ok(start), Ok(end)) = (i32::try_from(start), i32::try_from(end)) else {
        return Err(lower.rejected(args.span, "tl.arange beyond 32 bits"));
    };
    if end <= start {
        return Err(lower.rejected(args.span, format!("tl.arange({start}, {end}) is empty")));
    }
    let size = i64::from(end) - i64::from(start);
    let shape = lower.shape_of(&[Arg { val: Val::int(size), span: args.span }], args)?;
    Ok(Val::Tensor(make_range(lower, start, end, &shape)))
}

/// `start, …, end - 1` as i32.
pub fn make_range(lower: &mut Lower<'_, '_>, start: i32, end: i32, shape: &[usize]) -> Tensor {
    let ty = Ty::block(Scalar::Num(DType::I32), shape);
    let value = lower.b.inst(InstKind::MakeRange { start, end }, ty.ir());
    lower.tensor(value, ty)
}

fn filled<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, shape: &[usize], value: &Arg<'a>, to: Scalar) -> Result<Val<'a>> {
    let Scalar::Num(dtype) = to else { return Err(lower.type_error(args.span, "a block filled with pointers")) };
    let scalar = match &value.val {
        Val::Const(constant) => lower.number(value.span, constant, dtype)?,
        other => {
            let tensor = lower.tensor_of(value.span, other)?;
            if tensor.ty.is_block() {
                return Err(lower.type_error(value.span, "the value that fills a block must be a scalar"));
            }
            lower.cast(value.span, &tensor, to)?
        }
    };
    Ok(Val::Tensor(lower.splat(&scalar, shape)))
}

fn full<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let shape = lower.shape_of(std::slice::from_ref(lower.arg(args, "shape")?), args)?;
    let dtype = lower.type_of(lower.arg(args, "dtype")?)?;
    let value = lower.arg(args, "value")?.clone();
    filled(lower, args, &shape, &value, dtype)
}

fn zeros<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let shape = lower.shape_of(std::slice::from_ref(lower.arg(args, "shape")?), args)?;
    let dtype = lower.type_of(lower.arg(args, "dtype")?)?;
    filled(lower, args, &shape, &Arg { val: Val::Const(Constant::Int(0)), span: args.span }, dtype)
}

fn zeros_like<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let like = lower.tensor_arg(args, "input")?;
    let zero = Arg { val: Val::Const(Constant::Int(0)), span: args.span };
    filled(lower, args, &like.ty.shape, &zero, like.ty.scalar)
}

fn full_like<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let like = lower.tensor_arg(args, "input")?;
    let value = lower.arg(args, "value")?.clone();
    filled(lower, args, &like.ty.shape, &value, like.ty.scalar)
}
