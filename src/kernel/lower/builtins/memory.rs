//! Loads and stores through pointers.
//!
//! Cache and eviction hints do not change values: they are looked at as far as Triton does, then forgotten. A bool element is loaded and
//! stored as an i1 (Triton goes through i8: the element is one byte, 0 or 1).

use super::{Builtin, Lower, block_ptr, member_function};
use crate::diag::Result;
use crate::kernel::ir::InstKind;
use crate::kernel::lower::call::{Arg, Args};
use crate::kernel::lower::types::Scalar;
use crate::kernel::lower::value::{Tensor, Val};
use crate::source::Span;

const LOAD: &[&str] =
    &["pointer", "mask=", "other=", "boundary_check=", "padding_option=", "cache_modifier=", "eviction_policy=", "volatile="];

pub static TABLE: &[Builtin] = &[
    member_function("load", LOAD, load),
    member_function("store", &["pointer", "value", "mask=", "boundary_check=", "cache_modifier=", "eviction_policy="], store),
];

fn pointer<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<(Tensor, Scalar)> {
    let checked = |arg: &&Arg<'a>| !matches!(&arg.val, Val::Tuple(axes) if axes.is_empty());
    if let Some(check) = args.given("boundary_check").filter(checked) {
        return Err(lower.rejected(check.span, "boundary_check without a block pointer; use `mask`"));
    }
    let ptr = lower.tensor_arg(args, "pointer")?;
    match ptr.ty.scalar {
        Scalar::Ptr(to) => Ok((ptr, Scalar::Num(to))),
        Scalar::Num(_) => Err(lower.type_error(args.span, format!("`tl.{}` through {}", args.builtin.name, ptr.ty))),
    }
}

/// Refuses a cache modifier or an eviction policy that Triton does not know.
fn cache_hints(lower: &Lower<'_, '_>, args: &Args<'_>) -> Result<()> {
    let modifiers: &[&str] =
        if args.builtin.name == "load" { &["", ".ca", ".cg", ".cv"] } else { &["", ".wb", ".cg", ".cs", ".wt"] };
    let policies: &[&str] = &["", "evict_last", "evict_first"];
    for (param, known) in [("cache_modifier", modifiers), ("eviction_policy", policies)] {
        if let Some(given) = lower.str_arg(args, param)?
            && !known.contains(&given.as_str())
        {
            return Err(lower.rejected(args.span, format!("the {} `{given}`", param.replace('_', " "))));
        }
    }
    Ok(())
}

pub(super) fn check_mask(lower: &Lower<'_, '_>, span: Span, mask: &Tensor) -> Result<()> {
    if mask.ty.scalar.is_bool() {
        return Ok(());
    }
    Err(lower.type_error(span, format!("a mask of {}; it must be of int1, such as a comparison gives", mask.ty.scalar)))
}

fn load<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    if let Val::BlockPtr(pointer) = &lower.arg(args, "pointer")?.val {
        return block_ptr::load(lower, args, pointer);
    }
    let (mut ptr, element) = pointer(lower, args)?;
    let mut mask = lower.optional_tensor(args, "mask")?;
    let mut other = lower.optional_tensor(args, "other")?;
    if mask.is_none() && other.is_some() {
        return Err(lower.rejected(args.span, "`other` without `mask`"));
    }
    for extra in [&mask, &other].into_iter().flatten() {
        if extra.ty.is_block() && !ptr.ty.is_block() {
            return Err(lower.type_error(args.span, "a block as mask or other of a scalar load"));
        }
    }
    if let Some(m) = mask.take() {
        check_mask(lower, args.span, &m)?;
        let (p, m) = lower.broadcast(args.span, ptr, m)?;
        ptr = p;
        mask = Some(m);
    }
    if let Some(o) = other.take() {
        let (p, o) = lower.broadcast(args.span, ptr, o)?;
        ptr = p;
        other = Some(lower.cast(args.span, &o, element)?);
    }
    let ty = ptr.ty.with(element);
    if mask.as_ref().is_some_and(|m| m.ty.shape != ptr.ty.shape) {
        return Err(lower.type_error(args.span, "mask and pointer do not broadcast to one shape"));
    }
    cache_hints(lower, args)?;
    let (ptr, mask, other) = (ptr.value, mask.map(|m| m.value), other.map(|o| o.value));
    let kind = match lower.bool_arg(args, "volatile", false)? {
        true => InstKind::VolatileLoad { ptr, mask, other },
        false => InstKind::Load { ptr, mask, other },
    };
    let value = lower.b.inst(kind, ty.ir());
    Ok(Val::Tensor(lower.tensor(value, ty)))
}

fn store<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    if let Val::BlockPtr(pointer) = &lower.arg(args, "pointer")?.val {
        return block_ptr::store(lower, args, pointer);
    }
    let (ptr, element) = pointer(lower, args)?;
    let mut value = lower.tensor_arg(args, "value")?;
    let mut mask = lower.optional_tensor(args, "mask")?;
    let shape = ptr.ty.shape.clone();
    if !ptr.ty.is_block() && (value.ty.is_block() || mask.as_ref().is_some_and(|m| m.ty.is_block())) {
        return Err(lower.type_error(args.span, "a block as value or mask of a scalar store"));
    }
    if let Some(m) = &mask {
        check_mask(lower, args.span, m)?;
    }
    if ptr.ty.is_block() {
        let refused = |lower: &Lower<'a, '_>, what: &str, shape: &[usize]| {
            let (to, from) = (super::super::shape_text(&ptr.ty.shape), super::super::shape_text(shape));
            lower.type_error(args.span, format!("a {what} of {from} does not broadcast to a pointer of {to}"))
        };
        let fit = |lower: &mut Lower<'a, '_>, what: &str, mut tensor: Tensor| -> Result<Tensor> {
            if tensor.ty.shape.len() > shape.len() {
                return Err(refused(lower, what, &tensor.ty.shape));
            }
            while tensor.ty.is_block() && tensor.ty.shape.len() < shape.len() {
                tensor = lower.expand_dims(&tensor, 0);
            }
            let from = tensor.ty.shape.clone();
            lower.broadcast_to(args.span, &tensor, &shape).map_err(|_| refused(lower, what, &from))
        };
        value = fit(lower, "value", value)?;
        mask = mask.map(|m| fit(lower, "mask", m)).transpose()?;
    }
    cache_hints(lower, args)?;
    let value = lower.cast(args.span, &value, element)?;
    lower.b.effect(InstKind::Store { ptr: ptr.value, value: value.value, mask: mask.map(|m| m.value) });
    Ok(Val::Const(crate::syntax::Constant::None))
}
