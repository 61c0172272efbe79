//! Tensor descriptors: made in the kernel or by the host, loaded and stored a block at a time (see `region`).
//!
//! A descriptor checks every axis: lanes outside the tensor read zero (or NaN, if it was made so) and store
//! nothing. The alignment that hardware asks of base, strides and offsets is checked where it is known at compile time.
//!
//! Does not catch: offsets and strides that are not multiples of 16 bytes at run time.

use super::{Builtin, Lower, function};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::lower::call::{Arg, Args};
use crate::kernel::lower::region::{Axis, Descriptor};
use crate::kernel::lower::shape_text;
use crate::kernel::lower::types::Scalar;
use crate::kernel::lower::value::{Tensor, Val};
use crate::syntax::Constant;

const MAKE: &[&str] = &["base", "shape", "strides", "block_shape", "padding_option="];

pub static TABLE: &[Builtin] = &[
    function("make_tensor_descriptor", MAKE, make),
    function("_experimental_make_tensor_descriptor", MAKE, make),
    function("load_tensor_descriptor", &["desc", "offsets", "cache_modifier=", "eviction_policy="], load),
    function("store_tensor_descriptor", &["desc", "offsets", "value"], store),
    function("_experimental_descriptor_load", &["desc", "offsets", "shape=", "dtype="], load),
    function("_experimental_descriptor_store", &["desc", "value", "offsets"], store),
    function("experimental_descriptor_load", &["desc", "offsets", "shape=", "dtype="], load),
    function("experimental_descriptor_store", &["desc", "value", "offsets"], store),
    // Methods of descriptors have names of their own here: a block's `load` is another function.
    function("descriptor.load", &["desc", "offsets"], load),
    function("descriptor.store", &["desc", "offsets", "value"], store),
    function("descriptor.gather", &["desc", "x_offsets", "y_offset"], gather),
    function("descriptor.scatter", &["desc", "value", "x_offsets", "y_offset"], scatter),
];

fn make<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let span = args.span;
    let base = lower.tensor_arg(args, "base")?;
    let Scalar::Ptr(element) = base.ty.scalar else {
        return Err(lower.type_error(span, format!("a descriptor is made from a pointer, not {}", base.ty)));
    };
    if base.ty.is_block() {
        return Err(lower.type_error(span, "a descriptor is made from a scalar pointer"));
    }
    let (shape, strides) = (lower.arg(args, "shape")?.val.clone(), lower.arg(args, "strides")?.val.clone());
    let last_stride = match &strides {
        Val::Tuple(items) => items.last().and_then(Val::to_constant),
        other => other.to_constant(),
    };
    let strides = lower.scalars(span, &strides, "the strides of a descriptor", DType::I64)?;
    let shape = lower.scalars(span, &shape, "the sizes of a descriptor", DType::I32)?;
    let block = lower.shape_of(std::slice::from_ref(lower.arg(args, "block_shape")?), args)?;
    let rank = shape.len();
    if !(1..=5).contains(&rank) {
        return Err(lower.rejected(span, format!("a descriptor of {rank} axes; it has 1 to 5")));
    }
    if strides.len() != rank || block.len() != rank {
        let message = format!("a descriptor of {rank} sizes, {} strides, {} block sizes", strides.len(), block.len());
        return Err(lower.rejected(span, message));
    }
    let bytes = block[rank - 1] * Scalar::Num(element).bits() as usize / 8;
    if bytes < 16 {
        return Err(lower.rejected(span, format!("a descriptor's block has at least 16 bytes along its last axis, not {bytes}")));
    }
    if last_stride != Some(Constant::Int(1)) {
        return Err(lower.rejected(span, "the last stride of a descriptor must be the constant 1"));
    }
    let nan = match lower.str_arg(args, "padding_option")?.as_deref() {
        None | Some("zero") => false,
        Some("nan") if !element.is_float() => return Err(lower.rejected(span, "padding_option \"nan\" for integers")),
        Some("nan") => true,
        Some(other) => return Err(lower.rejected(span, format!("padding_option \"{other}\"; it is \"zero\" or \"nan\""))),
    };
    Ok(Val::Descriptor(Box::new(Descriptor { base, shape, strides, block, nan })))
}

fn descriptor<'a>(lower: &Lower<'a, '_>, args: &Args<'a>) -> Result<Box<Descriptor>> {
    match &lower.arg(args, "desc")?.val {
        Val::Descriptor(descriptor) => Ok(descriptor.clone()),
        other => {
            let mut diagnostic = lower.unsupported(args.span, format!("{} as a tensor descriptor", other.describe()));
            diagnostic.help = Some("give the parameter a descriptor: its element type and block".to_owned());
            Err(diagnostic)
        }
    }
}

/// The axes of a block at some offsets, all checked.
fn axes<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, desc: &Descriptor) -> Result<Vec<Axis>> {
    let offsets = lower.arg(args, "offsets")?.val.clone();
    let offsets = lower.offsets(args.span, &offsets, "the offsets of a descriptor")?;
    if offsets.len() != desc.block.len() {
        let message = format!("{} offsets for a descriptor of {} axes", offsets.len(), desc.block.len());
        return Err(lower.type_error(args.span, message));
    }
    let mut axes = Vec::with_capacity(offsets.len());
    for (i, offset) in offsets.iter().enumerate() {
        let index = lower.coordinates(args.span, offset, desc.block[i])?;
        axes.push(Axis { index, bound: Some(desc.shape[i].clone()), stride: desc.strides[i].clone() });
    }
    Ok(axes)
}

fn fill(desc: &Descriptor) -> Option<f64> {
    Some(if desc.nan { f64::NAN } else { 0.0 })
}

fn load<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let desc = descriptor(lower, args)?;
    let axes = axes(lower, args, &desc)?;
    lower.load_region(args.span, &desc.base, &axes, fill(&desc))
}

/// A value of a given shape, cast to the element type.
fn stored<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, desc: &Descriptor, shape: &[usize]) -> Result<Tensor> {
    let value = lower.tensor_arg(args, "value")?;
    if value.ty.shape.as_slice() != shape {
        let message = format!("a value of {} for a block of {}", shape_text(&value.ty.shape), shape_text(shape));
        return Err(lower.type_error(args.span, message));
    }
    lower.cast(args.span, &value, desc.block_type().scalar)
}

fn store<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let desc = descriptor(lower, args)?;
    let value = stored(lower, args, &desc, &desc.block)?;
    let axes = axes(lower, args, &desc)?;
    lower.store_region(args.span, &desc.base, &axes, &value)
}

/// Rows at given places, one run of columns: `desc.gather(x_offsets, y_offset)`.
fn rows<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, desc: &Descriptor) -> Result<Vec<Axis>> {
    let refuse = |lower: &Lower<'a, '_>, message: String| Err(lower.rejected(args.span, message));
    let &[1, columns] = desc.block.as_slice() else {
        return refuse(
            lower,
            format!("`{}` needs a descriptor of one row, not of {}", args.builtin.name, shape_text(&desc.block)),
        );
    };
    let x = lower.tensor_arg(args, "x_offsets")?;
    if x.ty.shape.len() != 1 || !matches!(x.ty.scalar, Scalar::Num(DType::I16 | DType::I32)) {
        return refuse(lower, format!("rows to gather are a block of int16 or int32 of one axis, not {}", x.ty));
    }
    if x.ty.shape[0] < 8 {
        return refuse(lower, format!("at least 8 rows are gathered, not {}", x.ty.shape[0]));
    }
    let least = 32 / desc.block_type().scalar.bits() as usize * 8;
    if columns < least {
        return refuse(lower, format!("a gather of {} takes at least {least} columns, not {columns}", desc.block_type().scalar));
    }
    let index = lower.cast(args.span, &x, Scalar::Num(DType::I64))?;
    let y: Arg<'a> = lower.arg(args, "y_offset")?.clone();
    let y = lower.offsets(y.span, &y.val, "the offset of a descriptor")?;
    let [y] = y.as_slice() else { return refuse(lower, "one offset of columns is needed".to_owned()) };
    let along = lower.coordinates(args.span, y, columns)?;
    Ok(vec![
        Axis { index, bound: Some(desc.shape[0].clone()), stride: desc.strides[0].clone() },
        Axis { index: along, bound: Some(desc.shape[1].clone()), stride: desc.strides[1].clone() },
    ])
}

fn gather<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let desc = descriptor(lower, args)?;
    let axes = rows(lower, args, &desc)?;
    lower.load_region(args.span, &desc.base, &axes, fill(&desc))
}

fn scatter<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let desc = descriptor(lower, args)?;
    let axes = rows(lower, args, &desc)?;
    let shape = [axes[0].index.ty.shape[0], axes[1].index.ty.shape[0]];
    let value = stored(lower, args, &desc, &shape)?;
    lower.store_region(args.span, &desc.base, &axes, &value)
}
