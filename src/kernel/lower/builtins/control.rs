//! Assertions, prints, hints, and the loop heads.
//!
//! Hints (`multiple_of`, `assume`, …) promise facts to the compiler and change no value; a promise
//! that does not hold is not found here.

use std::sync::Arc;

use super::{Builtin, Lower, function};
use crate::diag::Result;
use crate::kernel::ir::InstKind;
use crate::kernel::lower::call::Args;
use crate::kernel::lower::types::Scalar;
use crate::kernel::lower::value::Val;
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::{BinaryOp, UnaryOp};

pub static TABLE: &[Builtin] = &[
    function("static_assert", &["cond", "msg="], static_assert),
    function("device_assert", &["cond", "msg=", "mask="], device_assert),
    function("static_print", &["*values", "sep=", "end="], nothing),
    function("device_print", &["prefix", "*args", "hex="], nothing),
    function("debug_barrier", &[], nothing),
    function("assume", &["cond"], nothing),
    function("multiple_of", &["input", "values"], hint),
    function("max_contiguous", &["input", "values"], hint),
    function("max_constancy", &["input", "values"], hint),
    function("range", &["*args"], loop_head),
    function("static_range", &["*args"], loop_head),
];

fn nothing<'a>(_: &mut Lower<'a, '_>, _: &Args<'a>) -> Result<Val<'a>> {
    Ok(Val::Const(Constant::None))
}

fn hint<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    Ok(lower.arg(args, "input")?.val.clone())
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
        let tensor = self.cast(span, &tensor, Scalar::Num(crate::dtype::DType::Bool))?;
        self.b.effect(InstKind::Assert { condition: tensor.value, message: Arc::from(message) });
        Ok(())
    }
}
