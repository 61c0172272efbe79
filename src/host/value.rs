//! Values of host code: integers and tuples as Python has them, tensors as descriptors.

use std::collections::BTreeMap;
use std::fmt;

use super::HostArg;
use super::modules::HostModule;
use super::trace::HostTensor;
use crate::dtype::DType;
use crate::syntax::ast::{Expr, FunctionDef, Param};

/// What an expression gives. `'m` is the life of the parsed files.
#[derive(Clone, Debug)]
pub(super) enum Value<'m> {
    Int(i64),
    Float(f64),
    Bool(bool),
    Str(String),
    None,
    /// Also `torch.Size`.
    Tuple(Vec<Value<'m>>),
    /// `range(start, stop, step)`.
    Range(i64, i64, i64),
    DType(DType),
    /// The device of every tensor.
    Device,
    Tensor(HostTensor),
    /// In `prepare`: the tensor that a step gives.
    Prepared(usize),
    /// `weights`: values by name.
    Mapping(Vec<(String, Value<'m>)>),
    /// `self`: attributes by name.
    Object(Vec<(String, Value<'m>)>),
    /// A file of the set.
    Module(&'m HostModule),
    Function(&'m HostModule, &'m FunctionDef),
    Kernel(&'m HostModule, &'m FunctionDef),
    /// A function of one expression, with the names that it sees.
    Lambda(Box<Lambda<'m>>),
    /// A dotted name outside the set of files, or a built-in: `torch.empty`, `len`.
    External(String),
    /// A method before it is called: `x.view`.
    Method(Box<Value<'m>>, String),
}

/// A lambda, as the function left its names that makes it: none of these is bound again there.
#[derive(Clone, Debug)]
pub(super) struct Lambda<'m> {
    pub module: &'m HostModule,
    pub def: &'m FunctionDef,
    pub params: &'m [Param],
    pub body: &'m Expr,
    pub locals: BTreeMap<&'m str, Value<'m>>,
}

impl Value<'_> {
    /// Of a literal, which holds no tensor.
    pub fn literal(constant: &HostArg) -> Value<'static> {
        match constant {
            HostArg::Int(v) => Value::Int(*v),
            HostArg::Float(v) => Value::Float(*v),
            HostArg::Bool(v) => Value::Bool(*v),
            HostArg::Str(v) => Value::Str(v.clone()),
            HostArg::Tuple(items) => Value::Tuple(items.iter().map(Value::literal).collect()),
            HostArg::None | HostArg::Tensor(_) | HostArg::Mapping(_) | HostArg::Object(_) => Value::None,
        }
    }

    /// What it is, for messages: `an integer`.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Int(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Bool(_) => "a bool",
            Value::Str(_) => "a string",
            Value::None => "None",
            Value::Tuple(_) => "a tuple",
            Value::Range(..) => "a range",
            Value::DType(_) => "a dtype",
            Value::Device => "a device",
            Value::Tensor(_) => "a tensor",
            Value::Prepared(_) => "a weight",
            Value::Mapping(_) => "a mapping",
            Value::Object(_) => "an object",
            Value::Module(_) => "a module",
            Value::Function(..) | Value::Lambda(_) => "a function",
            Value::Kernel(..) => "a kernel",
            Value::External(_) => "an external name",
            Value::Method(..) => "a method",
        }
    }

    /// Values inside, tuples in tuples counted out: what a copy costs.
    pub fn items(&self) -> usize {
        match self {
            Value::Tuple(items) => items.iter().map(Value::items).sum::<usize>() + 1,
            _ => 1,
        }
    }

    /// Whether Python has no arithmetic or order between this and a number.
    pub fn no_number(&self) -> bool {
        matches!(self, Value::Str(_) | Value::None)
    }

    pub fn is_tensor(&self) -> bool {
        matches!(self, Value::Tensor(_) | Value::Prepared(_))
    }

    /// Python's `==` on the values that have one here; `None` where comparing is not in the subset.
    pub fn equals(&self, other: &Value) -> Option<bool> {
        Some(match (self, other) {
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a == b,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::DType(a), Value::DType(b)) => a == b,
            (Value::Device, Value::Device) => true,
            (Value::Tuple(a), Value::Tuple(b)) => {
                if a.len() != b.len() {
                    return Some(false);
                }
                let pairs: Option<Vec<bool>> = a.iter().zip(b).map(|(x, y)| x.equals(y)).collect();
                pairs?.into_iter().all(|equal| equal)
            }
            (Value::None, Value::None) => true,
            (Value::None, v) | (v, Value::None) if v.is_plain() => false,
            (a, b) if a.is_plain() && b.is_plain() && a.kind() != b.kind() && !(a.is_number() && b.is_number()) => false,
            _ => return None,
        })
    }

    fn is_number(&self) -> bool {
        matches!(self, Value::Int(_) | Value::Float(_) | Value::Bool(_))
    }

    fn is_plain(&self) -> bool {
        self.is_number() || matches!(self, Value::Str(_) | Value::Tuple(_) | Value::DType(_) | Value::Device)
    }

    /// Python's truth value, or `None` where it is not in the subset (tensors).
    pub fn truth(&self) -> Option<bool> {
        match self {
            Value::Int(v) => Some(*v != 0),
            Value::Float(v) => Some(*v != 0.0),
            Value::Bool(v) => Some(*v),
            Value::Str(s) => Some(!s.is_empty()),
            Value::None => Some(false),
            Value::Tuple(items) => Some(!items.is_empty()),
            _ => None,
        }
    }
}

/// As Python's `str` writes it inside an f-string.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(v) => write!(f, "{v}"),
            Value::Float(v) => write!(f, "{v:?}"),
            Value::Bool(true) => f.write_str("True"),
            Value::Bool(false) => f.write_str("False"),
            Value::Str(s) => f.write_str(s),
            Value::None => f.write_str("None"),
            Value::Tuple(items) => {
                let inner: Vec<String> = items.iter().map(Value::to_string).collect();
                let comma = if inner.len() == 1 { "," } else { "" };
                write!(f, "({}{comma})", inner.join(", "))
            }
            Value::Range(start, stop, step) => write!(f, "range({start}, {stop}, {step})"),
            Value::DType(dtype) => write!(f, "torch.{}", dtype.torch_name()),
            Value::External(name) => f.write_str(name),
            other => write!(f, "<{}>", other.kind().trim_start_matches("an ").trim_start_matches("a ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_and_compare_as_in_python() {
        let one = Value::Tuple(vec![Value::Int(1)]);
        assert_eq!(one.to_string(), "(1,)");
        assert_eq!(Value::Tuple(vec![one.clone(), Value::DType(DType::F32)]).to_string(), "((1,), torch.float32)");
        assert_eq!(one.equals(&Value::Tuple(vec![Value::Int(1), Value::Int(2)])), Some(false));
        assert_eq!(one.equals(&Value::None), Some(false));
        assert_eq!(Value::Tuple(vec![one.clone(), one.clone()]).items(), 5);
        assert_eq!(Value::Int(1).equals(&Value::Float(1.0)), None);
        assert_eq!(Value::Tuple(vec![]).truth(), Some(false));
        assert_eq!(Value::Device.truth(), None);
    }
}
