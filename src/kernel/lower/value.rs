//! What a Python name can stand for while a kernel is lowered, and the names in scope.

use std::sync::Arc;

use smallvec::SmallVec;

use super::builtins::Builtin;
use super::decorators::Config;
use super::region::{BlockPtr, Descriptor};
use super::types::{Scalar, Ty};
use crate::dtype::DType;
use crate::kernel::ir::Value;
use crate::syntax::Constant;
use crate::syntax::ast::{Expr, FunctionDef, Param, Stmt};

/// A run-time value with its Triton type.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub value: Value,
    pub ty: Ty,
}

/// The meaning of an expression.
#[derive(Clone, Debug)]
pub enum Val<'a> {
    /// Known at compile time; never a tuple (see [`Val::Tuple`]).
    Const(Constant),
    Tensor(Tensor),
    /// `tl.float32`, `tl.pointer_type(tl.int8)`, `x.dtype`.
    Type(Scalar),
    /// The type of a block: `x.type`.
    BlockType(Ty),
    Tuple(Vec<Val<'a>>),
    /// A `@triton.jit` function.
    Function(&'a FunctionDef),
    /// A Python function that runs at compile time.
    Host(&'a FunctionDef),
    /// A lambda, which only modules have.
    Lambda(&'a [Param], &'a Expr),
    /// A class of a module, by name and body.
    Class(&'a str, &'a [Stmt]),
    /// A dict, which only modules have.
    Dict(Vec<(Constant, Val<'a>)>),
    /// A `triton.Config`.
    Config(Box<Config>),
    /// What a heuristic sees of an argument: a tensor's element type and shape.
    HostTensor(DType, Vec<i64>),
    /// A block of memory with its place: `tl.make_block_ptr`.
    BlockPtr(Box<BlockPtr>),
    /// A tensor in memory, of which blocks are loaded and stored: `tl.make_tensor_descriptor`.
    Descriptor(Box<Descriptor>),
    Builtin(&'static Builtin),
    /// A method bound to its object: `x.to`, `x.sum`.
    Method(Box<Val<'a>>, &'static Builtin),
    /// A method of a string.
    TextMethod(String, String),
    /// A question to a type: `x.dtype.is_floating`, `x.type.get_block_shapes`.
    TypeMethod(Ty, String),
    /// A module or something in it that is not resolved yet, by its full dotted name.
    Path(String),
    /// `a:b:c` in a subscript; the bounds that are not None.
    Slice(Box<[Option<Val<'a>>; 3]>),
}

impl<'a> Val<'a> {
    pub fn int(value: i64) -> Val<'a> {
        Val::Const(Constant::Int(value))
    }

    pub fn bool(value: bool) -> Val<'a> {
        Val::Const(Constant::Bool(value))
    }

    /// A constant, with tuples as [`Val::Tuple`].
    pub fn constant(constant: Constant) -> Val<'a> {
        match constant {
            Constant::Tuple(items) => Val::Tuple(items.into_iter().map(Val::constant).collect()),
            other => Val::Const(other),
        }
    }

    /// The compile-time value, if all of it is one.
    pub fn to_constant(&self) -> Option<Constant> {
        match self {
            Val::Const(constant) => Some(constant.clone()),
            Val::Tuple(items) => items.iter().map(Val::to_constant).collect::<Option<Vec<_>>>().map(Constant::Tuple),
            Val::Tensor(_)
            | Val::Type(_)
            | Val::BlockType(_)
            | Val::Function(_)
            | Val::Builtin(_)
            | Val::Method(..)
            | Val::TypeMethod(..)
            | Val::TextMethod(..)
            | Val::Path(_)
            | Val::Host(_)
            | Val::Lambda(..)
            | Val::Class(..)
            | Val::Dict(_)
            | Val::Config(_)
            | Val::HostTensor(..)
            | Val::BlockPtr(_)
            | Val::Descriptor(_)
            | Val::Slice(_) => None,
        }
    }

    pub fn is_none(&self) -> bool {
        matches!(self, Val::Const(Constant::None))
    }

    /// The run-time values inside, in order.
    pub fn flatten(&self, out: &mut SmallVec<[Tensor; 2]>) {
        match self {
            Val::Tensor(tensor) => out.push(tensor.clone()),
            Val::Tuple(items) => items.iter().for_each(|item| item.flatten(out)),
            Val::BlockPtr(pointer) => pointer.parts().for_each(|part| out.push(part.clone())),
            Val::Descriptor(descriptor) => descriptor.parts().for_each(|part| out.push(part.clone())),
            Val::Const(_)
            | Val::Type(_)
            | Val::BlockType(_)
            | Val::Function(_)
            | Val::Builtin(_)
            | Val::Method(..)
            | Val::TypeMethod(..)
            | Val::TextMethod(..)
            | Val::Path(_)
            | Val::Host(_)
            | Val::Lambda(..)
            | Val::Class(..)
            | Val::Dict(_)
            | Val::Config(_)
            | Val::HostTensor(..)
            | Val::Slice(_) => {}
        }
    }

    pub fn flattened(&self) -> SmallVec<[Tensor; 2]> {
        let mut out = SmallVec::new();
        self.flatten(&mut out);
        out
    }

    /// The same structure over other run-time values, taken from an iterator.
    pub fn rebuild(&self, values: &mut impl Iterator<Item = Value>) -> Val<'a> {
        match self {
            Val::Tensor(tensor) => match values.next() {
                Some(value) => Val::Tensor(Tensor { value, ty: tensor.ty.clone() }),
                None => self.clone(),
            },
            Val::Tuple(items) => Val::Tuple(items.iter().map(|item| item.rebuild(values)).collect()),
            Val::BlockPtr(pointer) => {
                let mut pointer = pointer.clone();
                pointer.parts_mut().zip(values).for_each(|(part, value)| part.value = value);
                Val::BlockPtr(pointer)
            }
            Val::Descriptor(descriptor) => {
                let mut descriptor = descriptor.clone();
                descriptor.parts_mut().zip(values).for_each(|(part, value)| part.value = value);
                Val::Descriptor(descriptor)
            }
            Val::Const(_)
            | Val::Type(_)
            | Val::BlockType(_)
            | Val::Function(_)
            | Val::Builtin(_)
            | Val::Method(..)
            | Val::TypeMethod(..)
            | Val::TextMethod(..)
            | Val::Path(_)
            | Val::Host(_)
            | Val::Lambda(..)
            | Val::Class(..)
            | Val::Dict(_)
            | Val::Config(_)
            | Val::HostTensor(..)
            | Val::Slice(_) => self.clone(),
        }
    }

    /// Which of the run-time values inside are not those of another value of the same structure. The parts of
    /// block pointers and descriptors are told apart; what else changes, changes as a whole.
    pub fn changed_parts(&self, other: &Val<'a>, out: &mut Vec<bool>) {
        match (self, other) {
            (Val::Tuple(a), Val::Tuple(b)) if a.len() == b.len() => a.iter().zip(b).for_each(|(a, b)| a.changed_parts(b, out)),
            (Val::BlockPtr(a), Val::BlockPtr(b)) => out.extend(a.parts().zip(b.parts()).map(|(a, b)| a != b)),
            (Val::Descriptor(a), Val::Descriptor(b)) => out.extend(a.parts().zip(b.parts()).map(|(a, b)| a != b)),
            (value, _) => out.extend(value.flattened().iter().map(|_| true)),
        }
    }

    /// The run-time values inside of which `parts` says so.
    pub fn pick(&self, parts: &[bool]) -> SmallVec<[Tensor; 2]> {
        self.flattened().into_iter().zip(parts).filter(|(_, picked)| **picked).map(|(tensor, _)| tensor).collect()
    }

    /// The same value with others for those of which `parts` says so, taken from an iterator.
    pub fn replace(&self, parts: &[bool], values: &mut impl Iterator<Item = Value>) -> Val<'a> {
        let all: Vec<Value> = self
            .flattened()
            .iter()
            .zip(parts)
            .map(|(tensor, picked)| if *picked { values.next().unwrap_or(tensor.value) } else { tensor.value })
            .collect();
        self.rebuild(&mut all.into_iter())
    }

    /// Whether two values have the same structure, types and compile-time parts.
    pub fn same_type(&self, other: &Val<'a>) -> bool {
        match (self, other) {
            (Val::Tensor(a), Val::Tensor(b)) => a.ty == b.ty,
            (Val::Tuple(a), Val::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_type(b)),
            (Val::Const(a), Val::Const(b)) => a.type_name() == b.type_name() && a == b,
            (Val::Type(a), Val::Type(b)) => a == b,
            (Val::BlockType(a), Val::BlockType(b)) => a == b,
            (Val::Function(a), Val::Function(b)) => std::ptr::eq(*a, *b),
            (Val::Builtin(a), Val::Builtin(b)) => std::ptr::eq(*a, *b),
            (Val::Path(a), Val::Path(b)) => a == b,
            (Val::Host(a), Val::Host(b)) => std::ptr::eq(*a, *b),
            (Val::BlockPtr(a), Val::BlockPtr(b)) => a.same_type(b),
            (Val::Descriptor(a), Val::Descriptor(b)) => a.same_type(b),
            _ => false,
        }
    }

    /// For messages: `fp32[64×32]`, `constexpr 4`, `a tuple`.
    pub fn describe(&self) -> String {
        match self {
            Val::Const(Constant::None) => "None".to_owned(),
            Val::Const(constant) => format!("the constant {constant}"),
            Val::Tensor(tensor) => tensor.ty.to_string(),
            Val::Type(_) | Val::BlockType(_) => "a type".to_owned(),
            Val::Tuple(items) => format!("a tuple of {}", items.len()),
            Val::Function(function) => format!("the function `{}`", function.name),
            Val::Builtin(builtin) | Val::Method(_, builtin) => format!("the function `{}`", builtin.name),
            Val::TypeMethod(_, name) | Val::TextMethod(_, name) => format!("the function `{name}`"),
            Val::Path(path) => format!("`{path}`"),
            Val::Host(function) => format!("the Python function `{}`", function.name),
            Val::Class(name, _) => format!("the class `{name}`"),
            Val::Lambda(..) => "a lambda".to_owned(),
            Val::Dict(_) => "a dict".to_owned(),
            Val::Config(_) => "a triton.Config".to_owned(),
            Val::HostTensor(..) => "a tensor of the host".to_owned(),
            Val::BlockPtr(pointer) => format!("a block pointer to {}", pointer.block_type()),
            Val::Descriptor(descriptor) => format!("a descriptor of {}", descriptor.block_type()),
            Val::Slice(_) => "a slice".to_owned(),
        }
    }
}

/// The names of one function's scope, in the order in which they were first bound: that is the
/// order of loop-carried variables.
#[derive(Clone, Debug, Default)]
pub struct Scope<'a> {
    entries: Vec<(Arc<str>, Val<'a>)>,
}

impl<'a> Scope<'a> {
    pub fn get(&self, name: &str) -> Option<&Val<'a>> {
        self.entries.iter().find(|(known, _)| &**known == name).map(|(_, value)| value)
    }

    pub fn set(&mut self, name: &str, value: Val<'a>) {
        match self.entries.iter_mut().find(|(known, _)| &**known == name) {
            Some((_, slot)) => *slot = value,
            None => self.entries.push((Arc::from(name), value)),
        }
    }

    pub fn remove(&mut self, name: &str) {
        self.entries.retain(|(known, _)| &**known != name);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Val<'a>)> {
        self.entries.iter().map(|(name, value)| (name, value))
    }

    pub fn names(&self) -> Vec<String> {
        self.entries.iter().map(|(name, _)| name.to_string()).collect()
    }
}
