//! Assertions, prints, hints, and the loop heads.
//!
//! Hints (`multiple_of`, `assume`, …) promise facts to the compiler and change no value. As in Triton, one about a
//! value belongs to the instruction that defines it, wherever the call stands.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Builtin, Lower, function};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{Hint, HintKind, InstKind};
use crate::kernel::lower::call::Args;
use crate::kernel::lower::types::{Scalar, Ty};
use crate::kernel::lower::value::Val;
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::{BinaryOp, UnaryOp};

pub static TABLE: &[Builtin] = &[
    function("static_assert", &["cond", "msg="], static_assert),
    function("device_assert", &["cond", "msg=", "mask="], device_assert),
    function("static_print", &["*values", "sep=", "end="], nothing),
    function("device_print", &["prefix", "*args", "hex="], nothing),
    function("debug_barrier", &[], barrier),
    function("assume", &["cond"], assume),
    function("multiple_of", &["input", "values"], |l, a| hint(l, a, HintKind::Divisibility)),
    function("max_contiguous", &["input", "values"], |l, a| hint(l, a, HintKind::Contiguity)),
    function("max_constancy", &["input", "values"], |l, a| hint(l, a, HintKind::Constancy)),
    function("range", &["*args"], loop_head),
    function("static_range", &["*args"], loop_head),
];

fn nothing<'a>(_: &mut Lower<'a, '_>, _: &Args<'a>) -> Result<Val<'a>> {
    Ok(Val::Const(Constant::None))
}

fn barrier<'a>(lower: &mut Lower<'a, '_>, _: &Args<'a>) -> Result<Val<'a>> {
    lower.b.effect(InstKind::Barrier);
    Ok(Val::Const(Constant::None))
}

fn assume<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let condition = lower.tensor_arg(args, "cond")?;
    if condition.ty != Ty::num(DType::Bool) {
        return Err(lower.rejected(args.span, format!("`tl.assume` of {}; it must be one int1", condition.ty)));
    }
    lower.b.effect(InstKind::Assume(condition.value));
    Ok(Val::Const(Constant::None))
}

fn hint<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, kind: HintKind) -> Result<Val<'a>> {
    let input = lower.arg(args, "input")?.val.clone();
    let given = lower.arg(args, "values")?.clone();
    let values: SmallVec<[i64; 2]> = lower.ints_of(&[given], "a hint's number")?.into_iter().collect();
    let Val::Tensor(tensor) = &input else { return Ok(input) };
    let rank = tensor.ty.shape.len();
    // A scalar may be a multiple of one number; it has no axis along which lanes could lie.
    let wanted = if kind == HintKind::Divisibility { rank.max(1) } else { rank };
    if values.len() != wanted {
        let message = format!("`tl.{}` with {} numbers for {}", args.builtin.name, values.len(), tensor.ty);
        return Err(lower.rejected(args.span, message));
    }
    if values.iter().any(|&value| value <= 0) {
        return Err(lower.unsupported(args.span, format!("`tl.{}` with a number below one", args.builtin.name)));
    }
    if !values.is_empty() {
        lower.b.hint(tensor.value, Hint { kind, values, span: args.span });
    }
    Ok(input)
}

fn loop_head<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    Err(lower.rejected(args.span, format!("`{}` outside the head of a loop", args.builtin.name)))
}

fn static_assert<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    match &lower.arg(args, "cond")?.val {
        Val::Const(Constant::Bool(true)) => Ok(Val::Const(Constant::None)),
        Val::Const(Constant::Bool(false)) => {
            let said = lower.str_arg(args, "msg")?.map_or_else(String::new, |msg| format!(": {msg}"));
            Err(lower.rejected(args.span, format!("static assertion failed{said}")))
        }
        other => {
            let message = format!("a static assertion of {}; it must be a compile-time bool", other.describe());
            Err(lower.rejected(args.span, message))
        }
    }
}

fn device_assert<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let mut condition = lower.arg(args, "cond")?.val.clone();
    let message = lower.str_arg(args, "msg")?.unwrap_or_default();
    if let Some(mask) = args.given("mask") {
        // Lanes outside the mask hold by definition.
        let off = match &mask.val {
            Val::Tensor(_) => lower.unary(args.span, UnaryOp::Not, &mask.val)?,
            other => Val::bool(!other.to_constant().is_some_and(|c| c.truthy())),
        };
        condition = lower.binary(args.span, BinaryOp::BitOr, &condition, &off)?;
    }
    lower.device_assert(args.span, &condition, &message)?;
    Ok(Val::Const(Constant::None))
}

impl<'a> Lower<'a, '_> {
    /// A check at run time; nothing when it is known to hold.
    pub fn device_assert(&mut self, span: Span, condition: &Val<'a>, message: &str) -> Result<()> {
        if matches!(condition, Val::Const(constant) if constant.truthy()) {
            return Ok(());
        }
        let tensor = self.tensor_of(span, condition)?;
        let tensor = self.cast(span, &tensor, Scalar::Num(DType::Bool))?;
        self.b.effect(InstKind::Assert { condition: tensor.value, message: Arc::from(message) });
        Ok(())
    }
}
