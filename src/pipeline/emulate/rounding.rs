//! How a kernel rounds, as far as a formula's error bound depends on it: the coarsest float type that it computes in, and the
//! coarsest class of its dots.
//!
//! A conversion to a narrower type counts where anything but a store uses it (an attention kernel rounds its weights before
//! the second dot). Not seen: in which of several operators the coarse type occurs; the bound takes it for all.

use std::collections::HashSet;

use crate::dtype::DType;
use crate::kernel::ir::{CastKind, DotPrecision, Elem, Inst, InstKind, Kernel, Value};
use crate::kernel::walk;
use crate::launch::formula::pointwise::Rounding;
use crate::tolerance::{self, Precision, UNIT};

pub fn of(kernel: &Kernel) -> Rounding {
    let mut computed: HashSet<Value> = HashSet::new();
    let mut rounding = Rounding { unit: 0.0, operand: 0.0 };
    let mut seen = |inst: &Inst| {
        if !matches!(inst.kind, InstKind::Store { .. }) {
            computed.extend(walk::operands(&inst.kind));
        }
    };
    for block in &kernel.blocks {
        walk::each_inst(&block.insts, &mut seen);
    }
    let mut note = |inst: &Inst| {
        let Some(&result) = inst.results.first() else { return };
        let own = match &inst.kind {
            InstKind::Float(..) | InstKind::Unary(..) | InstKind::Fma(..) | InstKind::Reduce { .. } => true,
            InstKind::Dot { a, precision, .. } => {
                if kernel.ty(*a).elem == Elem::F32 {
                    rounding.operand = rounding.operand.max(class(*precision).operand_error());
                }
                true
            }
            InstKind::Cast(CastKind::FloatTrunc | CastKind::IntToFloatS | CastKind::IntToFloatU, _) => computed.contains(&result),
            _ => false,
        };
        if let (true, Some(dtype)) = (own, float(kernel.ty(result).elem)) {
            rounding.unit = rounding.unit.max(tolerance::rounding(dtype));
        }
    };
    for block in &kernel.blocks {
        walk::each_inst(&block.insts, &mut note);
    }
    if rounding.unit == 0.0 {
        rounding.unit = UNIT;
    }
    rounding
}

fn class(precision: DotPrecision) -> Precision {
    match precision {
        DotPrecision::Ieee => Precision::Ieee,
        DotPrecision::Tf32 => Precision::Tf32,
        DotPrecision::Tf32x3 => Precision::Tf32x3,
        DotPrecision::Bf16x3 => Precision::Bf16x3,
        DotPrecision::Bf16x6 => Precision::Bf16x6,
    }
}

fn float(elem: Elem) -> Option<DType> {
    DType::ALL.into_iter().find(|dtype| dtype.is_float() && Elem::of(*dtype) == elem)
}
