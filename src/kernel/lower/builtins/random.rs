//! Random numbers: Philox 4×32 and 4×64 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) with
//! Triton's use of it: the seed is the key, the offset the counter. Every number equals compiled Triton's.

use super::{Builtin, Lower, call, function};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::lower::call::Args;
use crate::kernel::lower::types::Scalar;
use crate::kernel::lower::value::{Tensor, Val};
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::{BinaryOp, CompareOp, UnaryOp};

const DRAW: &[&str] = &["seed", "offset", "n_rounds="];
const DRAW4: &[&str] = &["seed", "offsets", "n_rounds="];

pub static TABLE: &[Builtin] = &[
    function("philox_impl", &["c0", "c1", "c2", "c3", "k0", "k1", "n_rounds="], philox_impl),
    function("philox", &["seed", "c0", "c1", "c2", "c3", "n_rounds="], philox),
    function("randint", DRAW, |l, a| Ok(Val::Tensor(words(l, a, "offset")?.swap_remove(0)))),
    function("randint4x", DRAW, |l, a| Ok(tuple(words(l, a, "offset")?))),
    function("rand", DRAW, |l, a| {
        let word = words(l, a, "offset")?.swap_remove(0);
        Ok(Val::Tensor(uniform(l, a.span, word)?))
    }),
    function("rand4x", DRAW4, |l, a| Ok(tuple(uniforms(l, a)?))),
    function("randn", DRAW, |l, a| {
        let words = words(l, a, "offset")?;
        let (u1, u2) = (uniform(l, a.span, words[0].clone())?, uniform(l, a.span, words[1].clone())?);
        let [n1, _] = normal(l, a.span, &u1, &u2)?;
        Ok(n1)
    }),
    function("randn4x", DRAW4, |l, a| {
        let u = uniforms(l, a)?;
        let ([n1, n2], [n3, n4]) = (normal(l, a.span, &u[0], &u[1])?, normal(l, a.span, &u[2], &u[3])?);
        Ok(Val::Tuple(vec![n1, n2, n3, n4]))
    }),
    function("uint_to_uniform_float", &["x"], |l, a| {
        let x = l.tensor_arg(a, "x")?;
        Ok(Val::Tensor(uniform(l, a.span, x)?))
    }),
    function("pair_uniform_to_normal", &["u1", "u2"], |l, a| {
        let (u1, u2) = (l.tensor_arg(a, "u1")?, l.tensor_arg(a, "u2")?);
        Ok(Val::Tuple(normal(l, a.span, &u1, &u2)?.into()))
    }),
];

fn tuple<'a>(list: Vec<Tensor>) -> Val<'a> {
    Val::Tuple(list.into_iter().map(Val::Tensor).collect())
}

fn rounds<'a>(lower: &Lower<'a, '_>, args: &Args<'a>) -> Result<i64> {
    if args.given("n_rounds").is_some() { lower.int_arg(args, "n_rounds") } else { Ok(10) }
}

/// The four counters and two keys of a call, which are of 32 or 64 bits.
fn philox_impl<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let mut counters = Vec::with_capacity(4);
    for param in ["c0", "c1", "c2", "c3"] {
        counters.push(Val::Tensor(lower.tensor_arg(args, param)?));
    }
    let keys = ["k0", "k1"].map(|param| lower.tensor_arg(args, param));
    let [k0, k1] = keys;
    let rounds = rounds(lower, args)?;
    Ok(tuple(run(lower, args.span, counters, [Val::Tensor(k0?), Val::Tensor(k1?)], rounds)?))
}

/// `n` rounds.
fn run<'a>(lower: &mut Lower<'a, '_>, span: Span, counters: Vec<Val<'a>>, keys: [Val<'a>; 2], n: i64) -> Result<Vec<Tensor>> {
    let first = lower.tensor_of(span, &counters[0])?;
    // Multipliers and Weyl constants of the paper.
    let (multipliers, steps, dtype): ([u64; 2], [u64; 2], DType) = match first.ty.scalar {
        Scalar::Num(DType::U32) => ([0xD251_1F53, 0xCD9E_8D57], [0x9E37_79B9, 0xBB67_AE85], DType::U32),
        Scalar::Num(DType::U64) => {
            ([0xD2E7_470E_E14C_6C93, 0xCA5A_8263_9512_1157], [0x9E37_79B9_7F4A_7C15, 0xBB67_AE85_84CA_A73B], DType::U64)
        }
        other => return Err(lower.rejected(span, format!("philox on {other}; it takes uint32 or uint64"))),
    };
    let number = |lower: &mut Lower<'a, '_>, bits: u64| -> Result<Val<'a>> {
        // Constants of 64 bits are kept as the bits of i64.
        let constant =
            if dtype == DType::U64 { lower.bits64(bits) } else { lower.number(span, &Constant::Int(bits as i64), dtype)? };
        Ok(Val::Tensor(constant))
    };
    let [a, b] = [number(lower, multipliers[0])?, number(lower, multipliers[1])?];
    let [step0, step1] = [number(lower, steps[0])?, number(lower, steps[1])?];
    let [mut c0, mut c1, mut c2, mut c3] = [0, 1, 2, 3].map(|i| counters[i].clone());
    let [mut k0, mut k1] = keys;
    for _ in 0..n {
        let (old0, old2) = (c0, c2);
        let high = call(lower, span, "umulhi", vec![b.clone(), old2.clone()])?;
        let mixed = lower.binary(span, BinaryOp::BitXor, &high, &c1)?;
        c0 = lower.binary(span, BinaryOp::BitXor, &mixed, &k0)?;
        let high = call(lower, span, "umulhi", vec![a.clone(), old0.clone()])?;
        let mixed = lower.binary(span, BinaryOp::BitXor, &high, &c3)?;
        c2 = lower.binary(span, BinaryOp::BitXor, &mixed, &k1)?;
        c1 = lower.wrapping(span, BinaryOp::Mul, &b, &old2)?;
        c3 = lower.wrapping(span, BinaryOp::Mul, &a, &old0)?;
        k0 = lower.wrapping(span, BinaryOp::Add, &k0, &step0)?;
        k1 = lower.wrapping(span, BinaryOp::Add, &k1, &step1)?;
    }
    [c0, c1, c2, c3].iter().map(|c| lower.tensor_of(span, c)).collect()
}

fn philox<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let seed = lower.tensor_arg(args, "seed")?;
    let mut counters = Vec::with_capacity(4);
    for param in ["c0", "c1", "c2", "c3"] {
        counters.push(lower.tensor_arg(args, param)?);
    }
    let rounds = rounds(lower, args)?;
    Ok(tuple(seeded(lower, args.span, &seed, counters, rounds)?))
}

/// The generator with a seed as its key.
fn seeded<'a>(lower: &mut Lower<'a, '_>, span: Span, seed: &Tensor, counters: Vec<Tensor>, rounds: i64) -> Result<Vec<Tensor>> {
    if !seed.ty.scalar.is_int() {
        return Err(lower.rejected(span, format!("a seed of {}; it must be an integer", seed.ty.scalar)));
    }
    let seed = lower.cast(span, seed, Scalar::Num(DType::U64))?;
    let (dtype, low, high) = match counters[0].ty.scalar.bits() {
        32 => {
            let wide = Val::Tensor(seed.clone());
            let mask = Val::int(0xffff_ffff);
            let shifted = lower.binary(span, BinaryOp::Shr, &wide, &Val::int(32))?;
            let high = lower.binary(span, BinaryOp::BitAnd, &shifted, &mask)?;
            let low = lower.binary(span, BinaryOp::BitAnd, &wide, &mask)?;
            let word = Scalar::Num(DType::U32);
            let (high, low) = (lower.tensor_of(span, &high)?, lower.tensor_of(span, &low)?);
            (DType::U32, lower.cast(span, &low, word)?, lower.cast(span, &high, word)?)
        }
        64 => {
            let zero = lower.number(span, &Constant::Int(0), DType::U64)?;
            (DType::U64, seed, lower.splat(&zero, &[1]))
        }
        bits => return Err(lower.rejected(span, format!("philox on counters of {bits} bits; it takes 32 or 64"))),
    };
    let mut list = Vec::with_capacity(4);
    for counter in &counters {
        list.push(Val::Tensor(lower.bitcast(span, counter, Scalar::Num(dtype))?));
    }
    run(lower, span, list, [Val::Tensor(low), Val::Tensor(high)], rounds)
}

/// Four random words for each offset.
fn words<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, offset: &str) -> Result<Vec<Tensor>> {
    let span = args.span;
    let (seed, offset) = (lower.tensor_arg(args, "seed")?, lower.tensor_arg(args, offset)?);
    let rounds = rounds(lower, args)?;
    let word = Scalar::Num(DType::U32);
    let low = lower.cast(span, &offset, word)?;
    let zero = lower.binary(span, BinaryOp::Mul, &Val::Tensor(low.clone()), &Val::int(0))?;
    let zero = lower.tensor_of(span, &zero)?;
    let high = if offset.ty.scalar.bits() > 32 {
        let shifted = lower.binary(span, BinaryOp::Shr, &Val::Tensor(offset), &Val::int(32))?;
        let shifted = lower.tensor_of(span, &shifted)?;
        lower.cast(span, &shifted, word)?
    } else {
        zero.clone()
    };
    seeded(lower, span, &seed, vec![low, high, zero.clone(), zero], rounds)
}

fn uniforms<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Vec<Tensor>> {
    let words = words(lower, args, "offsets")?;
    words.into_iter().map(|word| uniform(lower, args.span, word)).collect()
}

/// A word as a float in [0, 1): its magnitude, scaled so that the largest one stays below 1.
fn uniform<'a>(lower: &mut Lower<'a, '_>, span: Span, word: Tensor) -> Result<Tensor> {
    let (signed, scale) = match word.ty.scalar {
        Scalar::Num(DType::U32 | DType::I32) => (DType::I32, 4.656_612_734_2e-10),
        Scalar::Num(DType::U64 | DType::I64) => (DType::I64, 1.084_202_043_238_533_7e-19),
        other => return Err(lower.rejected(span, format!("a uniform float from {other}"))),
    };
    let x = Val::Tensor(lower.bitcast(span, &word, Scalar::Num(signed))?);
    let negative = lower.compare(span, CompareOp::Lt, &x, &Val::int(0))?;
    let inverted = lower.unary(span, UnaryOp::Invert, &x)?;
    let magnitude = call(lower, span, "where", vec![negative, inverted, x])?;
    let scaled = lower.binary(span, BinaryOp::Mul, &magnitude, &Val::Const(Constant::Float(scale)))?;
    lower.tensor_of(span, &scaled)
}

/// Two normal numbers of two uniform ones (Box and Muller 1958).
fn normal<'a>(lower: &mut Lower<'a, '_>, span: Span, u1: &Tensor, u2: &Tensor) -> Result<[Val<'a>; 2]> {
    let float = |x: f64| Val::Const(Constant::Float(x));
    let u1 = call(lower, span, "maximum", vec![float(1.0e-7), Val::Tensor(u1.clone())])?;
    let angle = lower.binary(span, BinaryOp::Mul, &float(std::f64::consts::TAU), &Val::Tensor(u2.clone()))?;
    let log = call(lower, span, "log", vec![u1])?;
    let square = lower.binary(span, BinaryOp::Mul, &float(-2.0), &log)?;
    let radius = call(lower, span, "sqrt", vec![square])?;
    let cos = call(lower, span, "cos", vec![angle.clone()])?;
    let first = lower.binary(span, BinaryOp::Mul, &radius, &cos)?;
    let sin = call(lower, span, "sin", vec![angle])?;
    let second = lower.binary(span, BinaryOp::Mul, &radius, &sin)?;
    Ok([first, second])
}
