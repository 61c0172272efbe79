//! The names of operations, predicates and precision classes, for the printer and the parser.

use crate::kernel::ir::{
    AtomicOp, CastKind, DotPrecision, FloatBinary, FloatPredicate, FloatUnary, HintKind, IntBinary, IntPredicate, MemoryOrder,
    MemoryScope, ScaledFormat,
};

pub(in crate::kernel) fn int_name(op: IntBinary) -> &'static str {
    match op {
        IntBinary::Add => "arith.addi",
        IntBinary::Sub => "arith.subi",
        IntBinary::Mul => "arith.muli",
        IntBinary::DivS => "arith.divsi",
        IntBinary::DivU => "arith.divui",
        IntBinary::RemS => "arith.remsi",
        IntBinary::RemU => "arith.remui",
        IntBinary::And => "arith.andi",
        IntBinary::Or => "arith.ori",
        IntBinary::Xor => "arith.xori",
        IntBinary::Shl => "arith.shli",
        IntBinary::ShrS => "arith.shrsi",
        IntBinary::ShrU => "arith.shrui",
        IntBinary::MinS => "arith.minsi",
        IntBinary::MinU => "arith.minui",
        IntBinary::MaxS => "arith.maxsi",
        IntBinary::MaxU => "arith.maxui",
        IntBinary::MulHiU => "tt.mulhiui",
    }
}

pub(in crate::kernel) fn float_name(op: FloatBinary) -> &'static str {
    match op {
        FloatBinary::Add => "arith.addf",
        FloatBinary::Sub => "arith.subf",
        FloatBinary::Mul => "arith.mulf",
        FloatBinary::Div => "arith.divf",
        FloatBinary::Rem => "arith.remf",
        FloatBinary::MinNum => "arith.minnumf",
        FloatBinary::MaxNum => "arith.maxnumf",
        FloatBinary::Minimum => "arith.minimumf",
        FloatBinary::Maximum => "arith.maximumf",
    }
}

pub(in crate::kernel) fn unary_name(op: FloatUnary) -> &'static str {
    match op {
        FloatUnary::Neg => "arith.negf",
        FloatUnary::Abs => "math.absf",
        FloatUnary::Exp => "math.exp",
        FloatUnary::Exp2 => "math.exp2",
        FloatUnary::Log => "math.log",
        FloatUnary::Log2 => "math.log2",
        FloatUnary::Sqrt => "math.sqrt",
        FloatUnary::SqrtRn => "tt.precise_sqrt",
        FloatUnary::Rsqrt => "math.rsqrt",
        FloatUnary::Sin => "math.sin",
        FloatUnary::Cos => "math.cos",
        FloatUnary::Erf => "math.erf",
        FloatUnary::Floor => "math.floor",
        FloatUnary::Ceil => "math.ceil",
    }
}

pub(in crate::kernel) fn int_predicate(predicate: IntPredicate) -> &'static str {
    match predicate {
        IntPredicate::Eq => "eq",
        IntPredicate::Ne => "ne",
        IntPredicate::LtS => "slt",
        IntPredicate::LeS => "sle",
        IntPredicate::GtS => "sgt",
        IntPredicate::GeS => "sge",
        IntPredicate::LtU => "ult",
        IntPredicate::LeU => "ule",
        IntPredicate::GtU => "ugt",
        IntPredicate::GeU => "uge",
    }
}

pub(in crate::kernel) fn float_predicate(predicate: FloatPredicate) -> &'static str {
    match predicate {
        FloatPredicate::Oeq => "oeq",
        FloatPredicate::One => "one",
        FloatPredicate::Olt => "olt",
        FloatPredicate::Ole => "ole",
        FloatPredicate::Ogt => "ogt",
        FloatPredicate::Oge => "oge",
        FloatPredicate::Une => "une",
    }
}

pub(in crate::kernel) fn cast_name(kind: CastKind) -> &'static str {
    match kind {
        CastKind::Trunc => "arith.trunci",
        CastKind::ExtS => "arith.extsi",
        CastKind::ExtU => "arith.extui",
        CastKind::IntToFloatS => "arith.sitofp",
        CastKind::IntToFloatU => "arith.uitofp",
        CastKind::FloatToIntS => "arith.fptosi",
        CastKind::FloatToIntU => "arith.fptoui",
        CastKind::FloatExt => "arith.extf",
        CastKind::FloatTrunc => "arith.truncf",
        CastKind::FloatTruncZero => "tt.fp_to_fp",
        CastKind::Bitcast => "tt.bitcast",
        CastKind::PtrToInt => "tt.ptr_to_int",
        CastKind::IntToPtr => "tt.int_to_ptr",
    }
}

pub(in crate::kernel) fn atomic_name(op: AtomicOp) -> &'static str {
    match op {
        AtomicOp::Add => "add",
        AtomicOp::FAdd => "fadd",
        AtomicOp::Max => "max",
        AtomicOp::Min => "min",
        AtomicOp::UMax => "umax",
        AtomicOp::UMin => "umin",
        AtomicOp::And => "and",
        AtomicOp::Or => "or",
        AtomicOp::Xor => "xor",
        AtomicOp::Exchange => "exch",
    }
}

pub(in crate::kernel) fn order_name(order: MemoryOrder) -> &'static str {
    match order {
        MemoryOrder::Relaxed => "relaxed",
        MemoryOrder::Acquire => "acquire",
        MemoryOrder::Release => "release",
        MemoryOrder::AcquireRelease => "acq_rel",
    }
}

pub(in crate::kernel) fn scope_name(scope: MemoryScope) -> &'static str {
    match scope {
        MemoryScope::Cta => "cta",
        MemoryScope::Gpu => "gpu",
        MemoryScope::System => "sys",
    }
}

/// The attribute of a hint.
pub(in crate::kernel) fn hint_name(kind: HintKind) -> &'static str {
    match kind {
        HintKind::Constancy => "tt.constancy",
        HintKind::Contiguity => "tt.contiguity",
        HintKind::Divisibility => "tt.divisibility",
    }
}

pub(in crate::kernel) fn precision_name(precision: DotPrecision) -> &'static str {
    match precision {
        DotPrecision::Ieee => "ieee",
        DotPrecision::Tf32 => "tf32",
        DotPrecision::Tf32x3 => "tf32x3",
        DotPrecision::Bf16x3 => "bf16x3",
        DotPrecision::Bf16x6 => "bf16x6",
    }
}

pub(in crate::kernel) fn scaled_format_name(format: ScaledFormat) -> &'static str {
    match format {
        ScaledFormat::E2M1 => "e2m1",
        ScaledFormat::E4M3 => "e4m3",
        ScaledFormat::E5M2 => "e5m2",
        ScaledFormat::BF16 => "bf16",
        ScaledFormat::F16 => "fp16",
    }
}
