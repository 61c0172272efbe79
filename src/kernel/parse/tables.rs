//! Operations of one form each, in groups.

use crate::kernel::ir::{
    AtomicOp, CastKind, DotPrecision, FloatBinary, FloatPredicate, FloatUnary, IntBinary, IntPredicate, MemoryOrder, MemoryScope,
};

pub(super) const INT_BINARY: [IntBinary; 18] = [
    IntBinary::Add,
    IntBinary::Sub,
    IntBinary::Mul,
    IntBinary::DivS,
    IntBinary::DivU,
    IntBinary::RemS,
    IntBinary::RemU,
    IntBinary::And,
    IntBinary::Or,
    IntBinary::Xor,
    IntBinary::Shl,
    IntBinary::ShrS,
    IntBinary::ShrU,
    IntBinary::MinS,
    IntBinary::MinU,
    IntBinary::MaxS,
    IntBinary::MaxU,
    IntBinary::MulHiU,
];

pub(super) const FLOAT_BINARY: [FloatBinary; 9] = [
    FloatBinary::Add,
    FloatBinary::Sub,
    FloatBinary::Mul,
    FloatBinary::Div,
    FloatBinary::Rem,
    FloatBinary::MinNum,
    FloatBinary::MaxNum,
    FloatBinary::Minimum,
    FloatBinary::Maximum,
];

pub(super) const FLOAT_UNARY: [FloatUnary; 14] = [
    FloatUnary::Neg,
    FloatUnary::Abs,
    FloatUnary::Exp,
    FloatUnary::Exp2,
    FloatUnary::Log,
    FloatUnary::Log2,
    FloatUnary::Sqrt,
    FloatUnary::SqrtRn,
    FloatUnary::Rsqrt,
    FloatUnary::Sin,
    FloatUnary::Cos,
    FloatUnary::Erf,
    FloatUnary::Floor,
    FloatUnary::Ceil,
];

pub(super) const CASTS: [CastKind; 9] = [
    CastKind::Trunc,
    CastKind::ExtS,
    CastKind::ExtU,
    CastKind::IntToFloatS,
    CastKind::IntToFloatU,
    CastKind::FloatToIntS,
    CastKind::FloatToIntU,
    CastKind::FloatExt,
    CastKind::FloatTrunc,
];

pub(super) const INT_PREDICATES: [IntPredicate; 10] = [
    IntPredicate::Eq,
    IntPredicate::Ne,
    IntPredicate::LtS,
    IntPredicate::LeS,
    IntPredicate::GtS,
    IntPredicate::GeS,
    IntPredicate::LtU,
    IntPredicate::LeU,
    IntPredicate::GtU,
    IntPredicate::GeU,
];

pub(super) const FLOAT_PREDICATES: [FloatPredicate; 7] = [
    FloatPredicate::Oeq,
    FloatPredicate::One,
    FloatPredicate::Olt,
    FloatPredicate::Ole,
    FloatPredicate::Ogt,
    FloatPredicate::Oge,
    FloatPredicate::Une,
];

pub(super) const PRECISIONS: [DotPrecision; 5] =
    [DotPrecision::Ieee, DotPrecision::Tf32, DotPrecision::Tf32x3, DotPrecision::Bf16x3, DotPrecision::Bf16x6];

pub(super) const ATOMICS: [AtomicOp; 10] = [
    AtomicOp::Add,
    AtomicOp::FAdd,
    AtomicOp::Max,
    AtomicOp::Min,
    AtomicOp::UMax,
    AtomicOp::UMin,
    AtomicOp::And,
    AtomicOp::Or,
    AtomicOp::Xor,
    AtomicOp::Exchange,
];

pub(super) const ORDERS: [MemoryOrder; 4] =
    [MemoryOrder::Relaxed, MemoryOrder::Acquire, MemoryOrder::Release, MemoryOrder::AcquireRelease];

pub(super) const SCOPES: [MemoryScope; 3] = [MemoryScope::Cta, MemoryScope::Gpu, MemoryScope::System];
