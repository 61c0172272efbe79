//! Instructions: what a name with its suffixes means.

use super::number::Ty;
use crate::emulate::exec::libdevice::Rounding;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// True on NaN.
    NotEqual,
    Unordered,
    Ordered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Add,
    Sub,
    MulLow,
    MulHigh,
    MulWide,
    Div,
    Rem,
    Min,
    Max,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Neg,
    Abs,
    Not,
    Popc,
    Clz,
    Brev,
    Sqrt,
    Rsqrt,
    Rcp,
    Exp2,
    Log2,
    Sin,
    Cos,
    Tanh,
}

/// Suffixes of float operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    pub rounding: Rounding,
    /// Rounded to a whole number (`.rni` and its like).
    pub whole: bool,
    pub flush: bool,
    /// Into [0, 1], or what the type holds.
    pub saturate: bool,
    pub relu: bool,
    pub nan: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Operands' bits one behind the other, cut again into results.
    Move,
    Binary(Binary),
    Unary(Unary),
    /// a·b + c; `true` for double the width.
    MulAdd(bool),
    Fma,
    Set(Compare),
    Select,
    Permute,
    Lop3,
    /// Bits `c` at `b`.
    Extract,
    Insert,
    /// `true`: left.
    Funnel(bool),
    /// From this type.
    Convert(Ty),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opcode {
    pub kind: Kind,
    pub ty: Ty,
    pub mode: Mode,
}

/// An instruction by its name and suffixes, as `["add", "rn", "f32"]`; `None`: not in the table.
pub fn opcode(words: &[&str]) -> Option<Opcode> {
    let (name, suffixes) = words.split_first()?;
    let types: Vec<Ty> = suffixes.iter().filter_map(|word| Ty::named(word)).collect();
    let rest: Vec<&str> = suffixes.iter().copied().filter(|word| Ty::named(word).is_none()).collect();
    let mut mode = Mode {
        rounding: if *name == "cvt" { Rounding::Zero } else { Rounding::Nearest },
        whole: false,
        flush: false,
        saturate: false,
        relu: false,
        nan: false,
    };
    let mut flags = Vec::new();
    for word in rest {
        let (rounding, whole) = match word {
            "rn" | "rna" => (Rounding::Nearest, false),
            "rz" => (Rounding::Zero, false),
            "rm" => (Rounding::Down, false),
            "rp" => (Rounding::Up, false),
            "rni" => (Rounding::Nearest, true),
            "rzi" => (Rounding::Zero, true),
            "rmi" => (Rounding::Down, true),
            "rpi" => (Rounding::Up, true),
            other => {
                match other {
                    "ftz" => mode.flush = true,
                    "sat" | "satfinite" => mode.saturate = true,
                    "relu" => mode.relu = true,
                    "NaN" => mode.nan = true,
                    "approx" | "full" => {}
                    other => flags.push(other),
                }
                continue;
            }
        };
        (mode.rounding, mode.whole) = (rounding, whole);
    }
    let ty = *types.first()?;
    let one = types.len() == 1;
    let plain = flags.is_empty() && one;
    let integer = !ty.is_float() && ty != Ty::Pred;
    let arithmetic = |op: Binary| (plain && ty != Ty::Pred && !matches!(ty, Ty::B(_))).then_some(Kind::Binary(op));
    let logic = |op: Binary| (plain && !ty.is_float()).then_some(Kind::Binary(op));
    let bits = |op: Unary| (plain && integer).then_some(Kind::Unary(op));
    let function = |op: Unary| (plain && ty.is_float()).then_some(Kind::Unary(op));
    let product = |float: Kind, low: Kind, high: Kind, wide: Kind| match (flags.as_slice(), integer && one) {
        ([], false) if one && ty.is_float() => Some(float),
        (["lo"], true) => Some(low),
        (["hi"], true) => Some(high),
        (["wide"], true) => Some(wide),
        _ => None,
    };
    let kind = match *name {
        "mov" => plain.then_some(Kind::Move),
        "add" => arithmetic(Binary::Add),
        "sub" => arithmetic(Binary::Sub),
        "div" => arithmetic(Binary::Div),
        "rem" => (plain && integer).then_some(Kind::Binary(Binary::Rem)),
        "min" => arithmetic(Binary::Min),
        "max" => arithmetic(Binary::Max),
        "mul" => product(
            Kind::Binary(Binary::MulLow),
            Kind::Binary(Binary::MulLow),
            Kind::Binary(Binary::MulHigh),
            Kind::Binary(Binary::MulWide),
        ),
        "mad" if flags == ["hi"] => None,
        "mad" => product(Kind::Fma, Kind::MulAdd(false), Kind::MulAdd(false), Kind::MulAdd(true)),
        "fma" => (plain && ty.is_float()).then_some(Kind::Fma),
        "and" => logic(Binary::And),
        "or" => logic(Binary::Or),
        "xor" => logic(Binary::Xor),
        "not" => logic(Binary::And).map(|_| Kind::Unary(Unary::Not)),
        "shl" => logic(Binary::ShiftLeft),
        "shr" => logic(Binary::ShiftRight),
        "neg" => (plain && ty != Ty::Pred).then_some(Kind::Unary(Unary::Neg)),
        "abs" => (plain && ty != Ty::Pred).then_some(Kind::Unary(Unary::Abs)),
        "popc" => bits(Unary::Popc),
        "clz" => bits(Unary::Clz),
        "brev" => bits(Unary::Brev),
        "sqrt" => function(Unary::Sqrt),
        "rsqrt" => function(Unary::Rsqrt),
        "rcp" => function(Unary::Rcp),
        "ex2" => function(Unary::Exp2),
        "lg2" => function(Unary::Log2),
        "sin" => function(Unary::Sin),
        "cos" => function(Unary::Cos),
        "tanh" => function(Unary::Tanh),
        "setp" => match (flags.as_slice(), one) {
            ([word], true) => compare(word, ty).map(Kind::Set),
            _ => None,
        },
        "selp" => plain.then_some(Kind::Select),
        "prmt" => (plain && ty == Ty::B(32)).then_some(Kind::Permute),
        "lop3" => (plain && ty == Ty::B(32)).then_some(Kind::Lop3),
        "bfe" => (plain && integer).then_some(Kind::Extract),
        "bfi" => (plain && integer).then_some(Kind::Insert),
        "shf" => match flags.as_slice() {
            ["l", "wrap"] => Some(Kind::Funnel(true)),
            ["r", "wrap"] => Some(Kind::Funnel(false)),
            _ => None,
        },
        "cvt" => match (flags.as_slice(), types.as_slice()) {
            ([], [to, from]) if convertible(*to, *from) => Some(Kind::Convert(*from)),
            _ => None,
        },
        _ => None,
    }?;
    if mode.rounding != Rounding::Nearest && *name != "cvt" && !matches!(ty, Ty::F32 | Ty::F64) {
        return None;
    }
    Some(Opcode { kind, ty, mode })
}

fn compare(word: &str, ty: Ty) -> Option<Compare> {
    Some(match word {
        "eq" => Compare::Eq,
        "ne" => Compare::Ne,
        "lt" | "lo" => Compare::Lt,
        "le" | "ls" => Compare::Le,
        "gt" | "hi" => Compare::Gt,
        "ge" | "hs" => Compare::Ge,
        "neu" if ty.is_float() => Compare::NotEqual,
        "nan" if ty.is_float() => Compare::Unordered,
        "num" if ty.is_float() => Compare::Ordered,
        _ => return None,
    })
}

/// Pairs are made from two f32, or from a pair of 16-bit floats, and back.
fn convertible(to: Ty, from: Ty) -> bool {
    let small = |ty: Ty| matches!(ty, Ty::E4M3x2 | Ty::E5M2x2 | Ty::E2M1x2);
    let scalar = |ty: Ty| !small(ty) && !ty.is_pair() && !matches!(ty, Ty::Pred | Ty::B(_) | Ty::Tf32);
    match (to, from) {
        (Ty::Tf32, Ty::F32) => true,
        (Ty::F16x2 | Ty::BF16x2, Ty::F32) => true,
        (Ty::F16x2, from) if small(from) => true,
        (to, Ty::F32 | Ty::F16x2 | Ty::BF16x2) if small(to) => true,
        (to, from) => scalar(to) && scalar(from),
    }
}
