//! Block pointers: `make_block_ptr`, `advance`, and loads and stores through them (see `region`).
//!
//! An axis outside `boundary_check` is not masked: a lane outside the tensor is a plain access, which the
//! bounds check sees. A checked lane without `padding_option` is poison.

use super::{Builtin, Lower, function, member_function};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::lower::call::Args;
use crate::kernel::lower::region::{Axis, BlockPtr};
use crate::kernel::lower::shape_text;
use crate::kernel::lower::types::{Scalar, Ty};
use crate::kernel::lower::value::Val;
use crate::source::Span;
use crate::syntax::ast::BinaryOp;

pub static TABLE: &[Builtin] = &[
    function("make_block_ptr", &["base", "shape", "strides", "offsets", "block_shape", "order"], make_block_ptr),
    member_function("advance", &["base", "offsets"], advance),
];

fn make_block_ptr<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let span = args.span;
    let base = lower.tensor_arg(args, "base")?;
    if !base.ty.scalar.is_ptr() || base.ty.is_block() {
        return Err(lower.type_error(span, format!("a block pointer is made from a scalar pointer, not {}", base.ty)));
    }
    let shape = lower.arg(args, "shape")?.val.clone();
    let shape = lower.scalars(span, &shape, "the sizes of a block pointer", DType::I64)?;
    let strides = lower.arg(args, "strides")?.val.clone();
    let strides = lower.scalars(span, &strides, "the strides of a block pointer", DType::I64)?;
    let offsets = lower.arg(args, "offsets")?.val.clone();
    let offsets = lower.offsets(span, &offsets, "the offsets of a block pointer")?;
    let block = lower.shape_of(std::slice::from_ref(lower.arg(args, "block_shape")?), args)?;
    let rank = block.len();
    if [shape.len(), strides.len(), offsets.len()] != [rank; 3] {
        let message = format!(
            "a block pointer of {rank} axes with {} sizes, {} strides, {} offsets",
            shape.len(),
            strides.len(),
            offsets.len()
        );
        return Err(lower.type_error(span, message));
    }
    let mut order = lower.ints_of(std::slice::from_ref(lower.arg(args, "order")?), "an order of axes")?;
    order.sort_unstable();
    if !order.iter().copied().eq(0..rank as i64) {
        return Err(lower.type_error(span, format!("`order` must be 0 to {} in some order", rank - 1)));
    }
    Ok(Val::BlockPtr(Box::new(BlockPtr { base, shape, strides, offsets, block })))
}

fn advance<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let Val::BlockPtr(mut pointer) = lower.arg(args, "base")?.val.clone() else {
        return Err(lower.type_error(args.span, "`tl.advance` of something other than a block pointer"));
    };
    let by = lower.arg(args, "offsets")?.val.clone();
    let by = lower.offsets(args.span, &by, "the offsets of a block pointer")?;
    if by.len() != pointer.offsets.len() {
        let message = format!("{} offsets for a block pointer of {} axes", by.len(), pointer.offsets.len());
        return Err(lower.type_error(args.span, message));
    }
    for (offset, by) in pointer.offsets.iter_mut().zip(by) {
        // Adding zero would make every axis a carried one.
        if lower.b.literal(by.value) == Some(crate::kernel::ir::Literal::Int(0)) {
            continue;
        }
        let sum = lower.binary(args.span, BinaryOp::Add, &Val::Tensor(offset.clone()), &Val::Tensor(by))?;
        *offset = lower.tensor_of(args.span, &sum)?;
    }
    Ok(Val::BlockPtr(pointer))
}

/// The axes of a block, masked where they are checked.
fn axes<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, pointer: &BlockPtr) -> Result<Vec<Axis>> {
    let rank = pointer.block.len();
    let checked = match args.given("boundary_check") {
        Some(arg) => lower.ints_of(std::slice::from_ref(arg), "an axis of boundary_check")?,
        None => Default::default(),
    };
    if let Some(&axis) = checked.iter().find(|&&axis| !(0..rank as i64).contains(&axis)) {
        return Err(lower.rejected(args.span, format!("boundary_check of axis {axis}; the block has {rank} axes")));
    }
    let mut axes = Vec::with_capacity(rank);
    for i in 0..rank {
        let index = lower.coordinates(args.span, &pointer.offsets[i], pointer.block[i])?;
        let bound = checked.contains(&(i as i64)).then(|| pointer.shape[i].clone());
        axes.push(Axis { index, bound, stride: pointer.strides[i].clone() });
    }
    Ok(axes)
}

/// What lanes outside read: `padding_option`.
pub fn padding<'a>(lower: &Lower<'a, '_>, args: &Args<'a>, element: Scalar) -> Result<Option<f64>> {
    match lower.str_arg(args, "padding_option")?.as_deref() {
        None | Some("") => Ok(None),
        Some("zero") => Ok(Some(0.0)),
        Some("nan") if element.is_int() => Err(lower.rejected(args.span, "padding_option \"nan\" for integers")),
        Some("nan") => Ok(Some(f64::NAN)),
        Some(other) => Err(lower.rejected(args.span, format!("padding_option \"{other}\"; it is \"zero\" or \"nan\""))),
    }
}

pub fn load<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, pointer: &BlockPtr) -> Result<Val<'a>> {
    for name in ["mask", "other"] {
        if let Some(arg) = args.given(name) {
            return Err(lower.rejected(arg.span, format!("`{name}` with a block pointer; use boundary_check")));
        }
    }
    let fill = padding(lower, args, pointer.block_type().scalar)?;
    let axes = axes(lower, args, pointer)?;
    lower.load_region(args.span, &pointer.base, &axes, fill)
}

pub fn store<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, pointer: &BlockPtr) -> Result<Val<'a>> {
    if let Some(arg) = args.given("mask") {
        return Err(lower.rejected(arg.span, "`mask` with a block pointer; use boundary_check"));
    }
    let ty = pointer.block_type();
    let value = lower.arg(args, "value")?.clone();
    let value = match &value.val {
        // A Python number takes the element type.
        Val::Const(constant) => match ty.scalar {
            Scalar::Num(dtype) => lower.number(value.span, constant, dtype)?,
            Scalar::Ptr(_) => return Err(lower.unsupported(value.span, "a block of pointers")),
        },
        other => lower.tensor_of(value.span, other)?,
    };
    let value = if value.ty.is_block() { value } else { lower.splat(&value, &ty.shape) };
    check_value(lower, args.span, &value.ty, &ty)?;
    let axes = axes(lower, args, pointer)?;
    lower.store_region(args.span, &pointer.base, &axes, &value)
}

/// A block pointer converts nothing: shape and element type must fit.
fn check_value(lower: &Lower<'_, '_>, span: Span, value: &Ty, block: &Ty) -> Result<()> {
    if value.shape != block.shape {
        let message =
            format!("a value of {} stored through a block pointer of {}", shape_text(&value.shape), shape_text(&block.shape));
        return Err(lower.type_error(span, message));
    }
    if value.scalar != block.scalar {
        let mut diagnostic =
            lower.type_error(span, format!("a value of {} stored through a block pointer to {}", value.scalar, block.scalar));
        diagnostic.help = Some("convert it: `.to(…)`".to_owned());
        return Err(diagnostic);
    }
    Ok(())
}
