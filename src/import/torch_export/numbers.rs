//! Nodes that compute with numbers instead of tensors: sizes, and conditions on sizes.

use super::arguments::Arg;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Add,
    Sub,
    Mul,
    FloorDiv,
    TrueDiv,
    Mod,
    Pow,
    Neg,
    Max,
    Min,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    Not,
    Float,
    Floor,
    Ceil,
}

/// The function that a target names.
pub fn function(target: &str) -> Option<Function> {
    let (module, name) = target.rsplit_once('.')?;
    if !matches!(module, "_operator" | "operator" | "math" | "torch" | "builtins") {
        return None;
    }
    Some(match name {
        "add" => Function::Add,
        "sub" => Function::Sub,
        "mul" => Function::Mul,
        "floordiv" => Function::FloorDiv,
        "truediv" => Function::TrueDiv,
        "mod" => Function::Mod,
        "pow" => Function::Pow,
        "neg" => Function::Neg,
        "sym_max" | "max" => Function::Max,
        "sym_min" | "min" => Function::Min,
        "eq" => Function::Eq,
        "ne" => Function::Ne,
        "lt" => Function::Lt,
        "le" => Function::Le,
        "gt" => Function::Gt,
        "ge" => Function::Ge,
        "and_" => Function::And,
        "or_" => Function::Or,
        "not_" | "sym_not" => Function::Not,
        "sym_float" => Function::Float,
        "floor" | "trunc" | "sym_int" => Function::Floor,
        "ceil" => Function::Ceil,
        _ => return None,
    })
}

/// The value as Python computes it; `None` for overflow, division by zero and operands of another kind.
pub fn apply(function: Function, args: &[Arg]) -> Option<Arg> {
    let float = |arg: &Arg| match arg {
        Arg::Int(i) => Some(*i as f64),
        Arg::Float(f) => Some(*f),
        Arg::Bool(b) => Some(f64::from(u8::from(*b))),
        _ => None,
    };
    match (function, args) {
        (Function::Neg, [Arg::Int(a)]) => a.checked_neg().map(Arg::Int),
        (Function::Neg, [Arg::Float(a)]) => Some(Arg::Float(-a)),
        (Function::Not, [Arg::Bool(a)]) => Some(Arg::Bool(!a)),
        (Function::Float, [a]) => float(a).map(Arg::Float),
        (Function::Floor | Function::Ceil, [Arg::Int(a)]) => Some(Arg::Int(*a)),
        (Function::Floor, [Arg::Float(a)]) => Some(Arg::Int(a.floor() as i64)),
        (Function::Ceil, [Arg::Float(a)]) => Some(Arg::Int(a.ceil() as i64)),
        (Function::And, [Arg::Bool(a), Arg::Bool(b)]) => Some(Arg::Bool(*a && *b)),
        (Function::Or, [Arg::Bool(a), Arg::Bool(b)]) => Some(Arg::Bool(*a || *b)),
        (_, [Arg::Int(a), Arg::Int(b)]) => integers(function, *a, *b),
        (_, [a, b]) => floats(function, float(a)?, float(b)?),
        _ => None,
    }
}

fn integers(function: Function, a: i64, b: i64) -> Option<Arg> {
    let floor = |a: i64, b: i64| {
        let quotient = a.checked_div(b)?;
        Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
    };
    Some(match function {
        Function::Add => Arg::Int(a.checked_add(b)?),
        Function::Sub => Arg::Int(a.checked_sub(b)?),
        Function::Mul => Arg::Int(a.checked_mul(b)?),
        Function::FloorDiv => Arg::Int(floor(a, b)?),
        Function::Mod => Arg::Int(a - floor(a, b)? * b),
        Function::Pow => Arg::Int(a.checked_pow(u32::try_from(b).ok()?)?),
        Function::Max => Arg::Int(a.max(b)),
        Function::Min => Arg::Int(a.min(b)),
        Function::TrueDiv => return floats(function, a as f64, b as f64),
        Function::Eq => Arg::Bool(a == b),
        Function::Ne => Arg::Bool(a != b),
        Function::Lt => Arg::Bool(a < b),
        Function::Le => Arg::Bool(a <= b),
        Function::Gt => Arg::Bool(a > b),
        Function::Ge => Arg::Bool(a >= b),
        Function::And | Function::Or | Function::Not | Function::Neg => return None,
        Function::Float | Function::Floor | Function::Ceil => return None,
    })
}

fn floats(function: Function, a: f64, b: f64) -> Option<Arg> {
    Some(match function {
        Function::Add => Arg::Float(a + b),
        Function::Sub => Arg::Float(a - b),
        Function::Mul => Arg::Float(a * b),
        Function::TrueDiv if b != 0.0 => Arg::Float(a / b),
        Function::FloorDiv if b != 0.0 => Arg::Float((a / b).floor()),
        Function::Pow => Arg::Float(a.powf(b)),
        Function::Max => Arg::Float(a.max(b)),
        Function::Min => Arg::Float(a.min(b)),
        Function::Eq => Arg::Bool(a == b),
        Function::Ne => Arg::Bool(a != b),
        Function::Lt => Arg::Bool(a < b),
        Function::Le => Arg::Bool(a <= b),
        Function::Gt => Arg::Bool(a > b),
        Function::Ge => Arg::Bool(a >= b),
        Function::TrueDiv | Function::FloorDiv | Function::Mod => return None,
        Function::And | Function::Or | Function::Not | Function::Neg => return None,
        Function::Float | Function::Floor | Function::Ceil => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_pythons() {
        let of = |target, args: &[Arg]| apply(function(target).unwrap(), args);
        assert_eq!(of("_operator.floordiv", &[Arg::Int(-7), Arg::Int(2)]), Some(Arg::Int(-4)));
        assert_eq!(of("_operator.mod", &[Arg::Int(-7), Arg::Int(2)]), Some(Arg::Int(1)));
        assert_eq!(of("_operator.truediv", &[Arg::Int(7), Arg::Int(2)]), Some(Arg::Float(3.5)));
        assert_eq!(of("_operator.floordiv", &[Arg::Int(1), Arg::Int(0)]), None);
        assert_eq!(of("_operator.mul", &[Arg::Int(i64::MAX), Arg::Int(2)]), None);
        assert_eq!(of("math.ceil", &[Arg::Float(0.5)]), Some(Arg::Int(1)));
        assert!(function("torch.ops.aten.add.Tensor").is_none());
    }
}
