//! N021 to N025: element types that the NPU's compiler lacks.
//!
//! Loads and stores have no uint16, uint32, uint64 and fp64 (N021); `tl.dot` has int8, fp16, bf16 and fp32 (N022);
//! exp, log, sqrt, rsqrt, sin, cos, erf and what is made of them have fp16, bf16 and fp32 (N023); there are no 8-bit
//! floats (N024); `tl.atomic_add` has no int64, fp64 and bool (N025). Source: triton-ascend's tables of API support. The types are those of the specialisation.
//! Does not catch: element types that the specialisation does not have (`--arg x_ptr=*fp64`).

use crate::dtype::DType;
use crate::kernel::ir::{AtomicOp, Elem, FloatUnary, Inst, InstKind};
use crate::lint::live::{access, each};
use crate::lint::rule::Found;
use crate::lint::specialise::Lowered;
use crate::target::Target;

pub fn memory(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    each(&lowered.kernel, &mut |inst| {
        let Some((pointer, what)) = access(inst) else { return };
        if let Elem::Ptr(to @ (DType::U16 | DType::U32 | DType::U64 | DType::F64)) = lowered.kernel.ty(pointer).elem {
            let message = format!("a {what} of {}, which {} lacks", to.triton_name(), target.name);
            found.at(inst.span, message).help("take a signed integer of the same width, or fp32");
        }
    });
}

pub fn dot(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    each(&lowered.kernel, &mut |inst| {
        let InstKind::Dot { a, b, acc: _, precision: _ } = &inst.kind else { return };
        for operand in [a, b] {
            let elem = lowered.kernel.ty(*operand).elem;
            if !matches!(elem, Elem::I8 | Elem::F16 | Elem::BF16 | Elem::F32) {
                found
                    .at(inst.span, format!("a dot of {elem}, which {} lacks", target.name))
                    .help("cast the operands to fp16, bf16 or fp32");
                return;
            }
        }
    });
}

pub fn function(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    each(&lowered.kernel, &mut |inst| {
        let InstKind::Unary(function, value) = &inst.kind else { return };
        let elem = lowered.kernel.ty(*value).elem;
        if is_special(*function) && !matches!(elem, Elem::F16 | Elem::BF16 | Elem::F32) {
            found.at(inst.span, format!("a function of {elem}, which {} lacks", target.name)).help("cast to fp32 before it");
        }
    });
}

/// What is no plain arithmetic.
fn is_special(function: FloatUnary) -> bool {
    !matches!(function, FloatUnary::Neg | FloatUnary::Abs | FloatUnary::Floor | FloatUnary::Ceil)
}

pub fn fp8(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    each(&lowered.kernel, &mut |inst| {
        if let InstKind::Cast(_, value) = &inst.kind {
            let is_fp8 = |inst: &Inst| {
                let to = inst.results.iter().map(|r| lowered.kernel.ty(*r).elem);
                [lowered.kernel.ty(*value).elem].into_iter().chain(to).find(|elem| elem.is_fp8())
            };
            if let Some(elem) = is_fp8(inst) {
                found
                    .at(inst.span, format!("a cast of {elem}, which {} lacks", target.name))
                    .help("keep the values in fp16 or bf16");
            }
        }
    });
}

pub fn atomic(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    each(&lowered.kernel, &mut |inst| {
        let InstKind::AtomicRmw { op: AtomicOp::Add | AtomicOp::FAdd, order: _, scope: _, ptr: _, value, mask: _ } = &inst.kind
        else {
            return;
        };
        let elem = lowered.kernel.ty(*value).elem;
        if matches!(elem, Elem::I64 | Elem::F64 | Elem::I1) {
            found
                .at(inst.span, format!("an atomic addition of {elem}, which {} lacks", target.name))
                .help("add in int32 or fp32");
        }
    });
}
