//! Atomics: `tl.atomic_add` and its kind, and compare-and-swap.
//!
//! A float maximum or minimum is made of integer ones, as Triton makes it: floats of one sign are ordered as
//! their bits are, negative ones the other way round. Lanes whose value has no sign bit take a signed integer
//! maximum (minimum), the others an unsigned minimum (maximum).
//!
//! Not offered: `atomic_load`, `atomic_store` and `atomic_poll` of Triton 3.9.

use super::memory::check_mask;
use super::{Builtin, Lower, member_function};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{AtomicOp, InstKind, IntBinary, IntPredicate, Literal, MemoryOrder, MemoryScope};
use crate::kernel::lower::call::Args;
use crate::kernel::lower::types::{Scalar, Ty};
use crate::kernel::lower::value::{Tensor, Val};
use crate::syntax::Constant;

const RMW: &[&str] = &["pointer", "val", "mask=", "sem=", "scope="];

pub static TABLE: &[Builtin] = &[
    member_function("atomic_add", RMW, |l, a| rmw(l, a, Name::Add)),
    member_function("atomic_max", RMW, |l, a| rmw(l, a, Name::Max)),
    member_function("atomic_min", RMW, |l, a| rmw(l, a, Name::Min)),
    member_function("atomic_and", RMW, |l, a| rmw(l, a, Name::And)),
    member_function("atomic_or", RMW, |l, a| rmw(l, a, Name::Or)),
    member_function("atomic_xor", RMW, |l, a| rmw(l, a, Name::Xor)),
    member_function("atomic_xchg", RMW, |l, a| rmw(l, a, Name::Exchange)),
    member_function("atomic_cas", &["pointer", "cmp", "val", "sem=", "scope="], cas),
];

/// What the program asks for; the type of the element decides which operation that is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Add,
    Max,
    Min,
    And,
    Or,
    Xor,
    Exchange,
}

fn order(lower: &Lower<'_, '_>, args: &Args<'_>) -> Result<MemoryOrder> {
    match lower.str_arg(args, "sem")?.as_deref() {
        None | Some("" | "acq_rel") => Ok(MemoryOrder::AcquireRelease),
        Some("relaxed") => Ok(MemoryOrder::Relaxed),
        Some("acquire") => Ok(MemoryOrder::Acquire),
        Some("release") => Ok(MemoryOrder::Release),
        Some(other) => Err(lower.rejected(args.span, format!("the memory semantic `{other}`"))),
    }
}

fn scope(lower: &Lower<'_, '_>, args: &Args<'_>) -> Result<MemoryScope> {
    match lower.str_arg(args, "scope")?.as_deref() {
        None | Some("" | "gpu") => Ok(MemoryScope::Gpu),
        Some("cta") => Ok(MemoryScope::Cta),
        Some("sys") => Ok(MemoryScope::System),
        Some(other) => Err(lower.rejected(args.span, format!("the memory scope `{other}`"))),
    }
}

fn pointer<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<(Tensor, DType)> {
    let ptr = lower.tensor_arg(args, "pointer")?;
    match ptr.ty.scalar {
        Scalar::Ptr(to) => Ok((ptr, to)),
        Scalar::Num(_) => Err(lower.type_error(args.span, format!("`tl.{}` through {}", args.builtin.name, ptr.ty))),
    }
}

/// A value or mask in the pointer's shape.
fn fit<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, what: &str, ptr: &Tensor, tensor: Tensor) -> Result<Tensor> {
    if !ptr.ty.is_block() {
        if tensor.ty.is_block() {
            return Err(lower.type_error(args.span, format!("a block as {what} of a scalar atomic")));
        }
        return Ok(tensor);
    }
    let (to, from) = (ptr.ty.shape.clone(), tensor.ty.shape.clone());
    let refused = |lower: &Lower<'a, '_>| {
        let (to, from) = (crate::shape::display(&to), crate::shape::display(&from));
        lower.type_error(args.span, format!("a {what} of {from} does not broadcast to a pointer of {to}"))
    };
    if from.len() > to.len() {
        return Err(refused(lower));
    }
    let mut tensor = tensor;
    while tensor.ty.is_block() && tensor.ty.shape.len() < to.len() {
        tensor = lower.expand_dims(&tensor, 0);
    }
    lower.broadcast_to(args.span, &tensor, &to).map_err(|_| refused(lower))
}

fn rmw<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, name: Name) -> Result<Val<'a>> {
    let (ptr, element) = pointer(lower, args)?;
    let value = lower.tensor_arg(args, "val")?;
    let mask = lower.optional_tensor(args, "mask")?;
    let value = fit(lower, args, "value", &ptr, value)?;
    let mask = mask.map(|mask| fit(lower, args, "mask", &ptr, mask)).transpose()?;
    let value = lower.cast(args.span, &value, Scalar::Num(element))?;
    let mask = match mask {
        Some(mask) => {
            check_mask(lower, args.span, &mask)?;
            mask
        }
        None => {
            let every = lower.b.constant(Literal::Int(1), Ty::num(DType::Bool).ir());
            let every = lower.tensor(every, Ty::num(DType::Bool));
            if ptr.ty.is_block() { lower.splat(&every, &ptr.ty.shape) } else { every }
        }
    };
    let half = matches!(element, DType::F16 | DType::BF16);
    if half && name != Name::Add || Scalar::Num(element).bits() < if half { 16 } else { 32 } {
        return Err(lower.rejected(args.span, format!("`tl.{}` of {}", args.builtin.name, Scalar::Num(element))));
    }
    let (order, scope) = (order(lower, args)?, scope(lower, args)?);
    let atomic = Atomic { order, scope };
    let float = element.is_float();
    let unsigned = element.is_unsigned();
    let op = match name {
        Name::Add if float => AtomicOp::FAdd,
        Name::Add => AtomicOp::Add,
        Name::Max | Name::Min if float => return of_floats(lower, args, &atomic, name, [ptr, value, mask]),
        Name::Max if unsigned => AtomicOp::UMax,
        Name::Max => AtomicOp::Max,
        Name::Min if unsigned => AtomicOp::UMin,
        Name::Min => AtomicOp::Min,
        Name::And => AtomicOp::And,
        Name::Or => AtomicOp::Or,
        Name::Xor => AtomicOp::Xor,
        Name::Exchange => AtomicOp::Exchange,
    };
    Ok(Val::Tensor(atomic.emit(lower, op, &ptr, &value, &mask)))
}

struct Atomic {
    order: MemoryOrder,
    scope: MemoryScope,
}

impl Atomic {
    fn emit<'a>(&self, lower: &mut Lower<'a, '_>, op: AtomicOp, ptr: &Tensor, value: &Tensor, mask: &Tensor) -> Tensor {
        let (order, scope) = (self.order, self.scope);
        let kind = InstKind::AtomicRmw { op, order, scope, ptr: ptr.value, value: value.value, mask: Some(mask.value) };
        let result = lower.b.inst(kind, value.ty.ir());
        lower.tensor(result, value.ty.clone())
    }
}

/// The greater or lesser of floats, by the order of their bits.
fn of_floats<'a>(
    lower: &mut Lower<'a, '_>,
    args: &Args<'a>,
    atomic: &Atomic,
    name: Name,
    [ptr, value, mask]: [Tensor; 3],
) -> Result<Val<'a>> {
    let span = args.span;
    let float = value.ty.scalar;
    let (signed, unsigned) = if float.bits() == 32 { (DType::I32, DType::U32) } else { (DType::I64, DType::U64) };
    let (for_positive, for_negative) =
        if name == Name::Max { (AtomicOp::Max, AtomicOp::UMin) } else { (AtomicOp::Min, AtomicOp::UMax) };
    let bits = lower.bitcast(span, &value, Scalar::Num(signed))?;
    let place = lower.bitcast(span, &ptr, Scalar::Ptr(signed))?;
    let unsigned_bits = lower.bitcast(span, &value, Scalar::Num(unsigned))?;
    let unsigned_place = lower.bitcast(span, &ptr, Scalar::Ptr(unsigned))?;
    let negative = sign_bit(lower, args, &value, unsigned)?;
    let every = lower.b.constant(Literal::Int(1), Ty::num(DType::Bool).ir());
    let every = lower.tensor(every, Ty::num(DType::Bool));
    let every = if negative.ty.is_block() { lower.splat(&every, &negative.ty.shape) } else { every };
    let combine = |lower: &mut Lower<'a, '_>, op: IntBinary, a: &Tensor, b: &Tensor| {
        let value = lower.b.inst(InstKind::Int(op, a.value, b.value), a.ty.ir());
        lower.tensor(value, a.ty.clone())
    };
    let positive = combine(lower, IntBinary::Xor, &negative, &every);
    let active = combine(lower, IntBinary::And, &mask, &positive);
    let first = atomic.emit(lower, for_positive, &place, &bits, &active);
    let active = combine(lower, IntBinary::And, &mask, &negative);
    let second = atomic.emit(lower, for_negative, &unsigned_place, &unsigned_bits, &active);
    let kind = InstKind::Select { condition: positive.value, then: first.value, other: second.value };
    let old = lower.b.inst(kind, first.ty.ir());
    let old = lower.tensor(old, first.ty);
    Ok(Val::Tensor(lower.bitcast(span, &old, float)?))
}

/// Whether the highest bit is set.
fn sign_bit<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, value: &Tensor, unsigned: DType) -> Result<Tensor> {
    let bits = lower.bitcast(args.span, value, Scalar::Num(unsigned))?;
    let splat = |lower: &mut Lower<'a, '_>, number: i64| -> Result<Tensor> {
        let constant = lower.number(args.span, &Constant::Int(number), unsigned)?;
        Ok(if bits.ty.is_block() { lower.splat(&constant, &bits.ty.shape) } else { constant })
    };
    let distance = splat(lower, i64::from(bits.ty.scalar.bits()) - 1)?;
    let shifted = lower.b.inst(InstKind::Int(IntBinary::ShrU, bits.value, distance.value), bits.ty.ir());
    let zero = splat(lower, 0)?;
    let ty = bits.ty.with(Scalar::Num(DType::Bool));
    let set = lower.b.inst(InstKind::CompareInt(IntPredicate::Ne, shifted, zero.value), ty.ir());
    Ok(lower.tensor(set, ty))
}

fn cas<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let (ptr, element) = pointer(lower, args)?;
    let expected = lower.tensor_arg(args, "cmp")?;
    let value = lower.tensor_arg(args, "val")?;
    if !matches!(Scalar::Num(element).bits(), 16 | 32 | 64) {
        return Err(lower.rejected(args.span, format!("`tl.atomic_cas` of {}", Scalar::Num(element))));
    }
    // Triton converts nothing here: the operands must have the pointer's type and shape already.
    let want = ptr.ty.with(Scalar::Num(element));
    for (what, operand) in [("cmp", &expected), ("val", &value)] {
        if operand.ty.ir() != want.ir() {
            let message = format!("`{what}` of `tl.atomic_cas` is {} and must be {want}, as the pointer says", operand.ty);
            return Err(lower.type_error(args.span, message));
        }
    }
    let (order, scope) = (order(lower, args)?, scope(lower, args)?);
    let kind = InstKind::AtomicCas { order, scope, ptr: ptr.value, expected: expected.value, value: value.value };
    let old = lower.b.inst(kind, value.ty.ir());
    Ok(Val::Tensor(lower.tensor(old, value.ty)))
}
