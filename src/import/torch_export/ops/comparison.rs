//! Comparisons, logic and choice, with broadcasting and type promotion.

use crate::dtype::DType;
use crate::expr::{Binary, Compare, ExprBuilder, ExprId, Unary};
use crate::import::build::Failure;
use crate::import::build::activation::converted;
use crate::import::torch_export::call::{Call, Outs};
use crate::import::torch_export::promote::Value;

fn compared(call: &mut Call, op: Compare) -> Result<Outs, Failure> {
    let values = [call.value("self")?, call.value("other")?];
    let dtype = call.promoted(&values);
    Ok(call.joined(op.name(), &values, dtype, |b, args| b.compare(op, args[0], args[1]))?.into())
}

/// Of truth values, or bit by bit of bools.
fn connected(call: &mut Call, op: Binary) -> Result<Outs, Failure> {
    let values = [call.value("self")?, call.value("other")?];
    Ok(call.joined(op.name(), &values, DType::Bool, |b, args| b.binary(op, args[0], args[1]))?.into())
}

fn bitwise(call: &mut Call, op: Binary) -> Result<Outs, Failure> {
    let values = [call.value("self")?, call.value("other")?];
    match call.promoted(&values) {
        DType::Bool => connected(call, op),
        other => Err(Failure::unsupported(format!("bits of {other}"))),
    }
}

macro_rules! functions {
    ($($kind:ident { $($name:ident = $op:expr),* $(,)? })*) => {
        $($(pub fn $name(call: &mut Call) -> Result<Outs, Failure> {
            $kind(call, $op)
        })*)*
    };
}

functions! {
    compared { eq = Compare::Eq, ne = Compare::Ne, lt = Compare::Lt, le = Compare::Le, gt = Compare::Gt, ge = Compare::Ge }
    connected { logical_and = Binary::And, logical_or = Binary::Or, logical_xor = Binary::Xor }
    bitwise { bitwise_and = Binary::And, bitwise_or = Binary::Or }
}

/// The opposite of each bool.
pub fn not_bits(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    match call.ty(&x).dtype {
        DType::Bool => Ok(call.unary("not", &x, |b, x| b.unary(Unary::Not, x))?.into()),
        other => Err(Failure::unsupported(format!("bits of {other}"))),
    }
}

/// condition ? self : other.
pub fn select(call: &mut Call) -> Result<Outs, Failure> {
    let (condition, x, y) = (call.value("condition")?, call.value("self")?, call.value("other")?);
    chosen(call, "where", condition, x, y)
}

/// mask ? value : self, in self's type.
pub fn masked_fill(call: &mut Call) -> Result<Outs, Failure> {
    let (mask, x, value) = (call.value("mask")?, call.value("self")?, call.value("value")?);
    let x_type = call.promoted(std::slice::from_ref(&x));
    let value = match value {
        Value::Tensor(operand) => match operand.number() {
            Some(number) => Value::Float(number),
            None => Value::Tensor(operand),
        },
        number => number,
    };
    let value = match value {
        Value::Float(f) if x_type.is_integer() => Value::Int(f as i64),
        other => other,
    };
    chosen(call, "masked_fill", mask, value, x)
}

fn chosen(call: &mut Call, label: &str, condition: Value, x: Value, y: Value) -> Result<Outs, Failure> {
    let dtype = call.promoted(&[x.clone(), y.clone()]);
    let condition = call.operand(&condition, DType::Bool);
    let (x, y) = (call.operand(&x, dtype), call.operand(&y, dtype));
    let build = |b: &mut ExprBuilder, args: &[ExprId]| {
        let condition = converted(b, args[0], DType::Bool);
        let (x, y) = (converted(b, args[1], dtype), converted(b, args[2], dtype));
        b.select(condition, x, y)
    };
    Ok(call.map(label, &[condition, x, y], build)?.into())
}
