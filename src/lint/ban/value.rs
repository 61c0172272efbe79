//! What the ban knows of a value, and what may be done with one: tensors, numbers (metadata and what is computed of it), kernels,
//! modules, functions, and what is not known.
//!
//! Parameters of forward are tensors unless their annotation or default says otherwise. Of alternatives (`a if c else b`,
//! branches, entries of a list chosen at run time) every one is kept. Does not catch: an operator between two values that are
//! both unknown (parameters of `__init__`, results of functions of other files without a tensor among their arguments), and
//! what is put into a list or a dict under another name of it.

use crate::syntax::ast::{Expr, FunctionDef, Param};

/// Arguments by name; without one, what `**values` gives.
pub type Named<'a> = Vec<(Option<&'a str>, Value<'a>)>;

#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// Whether its strides were permuted, so that a reshape copies.
    Tensor {
        permuted: bool,
    },
    /// Metadata, and whatever else holds no tensor: numbers, shapes, texts, `None`.
    Number,
    Kernel(&'a str),
    Module,
    /// A member of an imported module, by its full name.
    Path(String),
    /// With the object that it is bound to.
    Function(&'a FunctionDef, Option<&'a str>),
    Lambda(&'a [Param], &'a Expr),
    /// A function with its first arguments and those by name: `functools.partial`.
    Partial(Box<Value<'a>>, Vec<Value<'a>>, Named<'a>),
    /// A method of a list or a dict that gives this.
    Gives(Box<Value<'a>>),
    Class(&'a str),
    Instance(&'a str),
    /// `super()` of a class.
    Super(&'a str),
    Method {
        name: String,
        permuted: bool,
    },
    /// What `torch.compile`, `load_inline` and their like returned.
    Bypass(String),
    List(Vec<Value<'a>>),
    /// One of these.
    Any(Vec<Value<'a>>),
    Unknown,
}

pub const TENSOR: Value<'static> = Value::Tensor { permuted: false };

impl<'a> Value<'a> {
    /// Whether it is a tensor, or may be one by one of its alternatives.
    pub fn is_tensor(&self) -> bool {
        match self {
            Value::Tensor { .. } => true,
            Value::Any(values) => values.iter().any(Value::is_tensor),
            _ => false,
        }
    }

    /// Whether a tensor is in it.
    pub fn holds_tensor(&self) -> bool {
        match self {
            Value::List(values) | Value::Any(values) => values.iter().any(Value::holds_tensor),
            Value::Partial(_, args, named) => args.iter().chain(named.iter().map(|(_, v)| v)).any(Value::holds_tensor),
            other => other.is_tensor(),
        }
    }

    pub fn any(mut values: Vec<Value<'a>>) -> Value<'a> {
        match values.len() {
            0 => Value::Unknown,
            1 => values.remove(0),
            _ if values.iter().all(|v| matches!(v, Value::Number)) => Value::Number,
            _ if values.iter().all(|v| matches!(v, Value::Tensor { .. })) => {
                Value::Tensor { permuted: values.iter().any(|v| matches!(v, Value::Tensor { permuted: true })) }
            }
            _ => Value::Any(values),
        }
    }

    /// What one of two branches left.
    pub fn join(self, other: Value<'a>) -> Value<'a> {
        let mut all = Vec::new();
        for value in [self, other] {
            match value {
                Value::Any(values) => all.extend(values),
                value => all.push(value),
            }
        }
        let mut seen: Vec<Value<'a>> = Vec::new();
        for value in all {
            if !seen.iter().any(|other| other.is_same(&value)) {
                seen.push(value);
            }
        }
        Value::any(seen)
    }

    /// Whether they are alike in all that is known of them.
    fn is_same(&self, other: &Value<'a>) -> bool {
        match (self, other) {
            (Value::Tensor { permuted: a }, Value::Tensor { permuted: b }) => a == b,
            (Value::Number, Value::Number) | (Value::Module, Value::Module) | (Value::Unknown, Value::Unknown) => true,
            (Value::Kernel(a), Value::Kernel(b))
            | (Value::Class(a), Value::Class(b))
            | (Value::Instance(a), Value::Instance(b))
            | (Value::Super(a), Value::Super(b)) => a == b,
            (Value::Path(a), Value::Path(b)) | (Value::Bypass(a), Value::Bypass(b)) => a == b,
            (Value::Function(a, on), Value::Function(b, other_on)) => std::ptr::eq(*a, *b) && on == other_on,
            (Value::Lambda(_, a), Value::Lambda(_, b)) => std::ptr::eq(*a, *b),
            (Value::Method { name: a, permuted: p }, Value::Method { name: b, permuted: q }) => a == b && p == q,
            (Value::List(a), Value::List(b)) | (Value::Any(a), Value::Any(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_same(b))
            }
            (Value::Partial(a, args, named), Value::Partial(b, other_args, other_named)) => {
                let all = |x: &[Value<'a>], y: &[Value<'a>]| x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.is_same(y));
                a.is_same(b)
                    && all(args, other_args)
                    && named.len() == other_named.len()
                    && named.iter().zip(other_named).all(|((m, x), (n, y))| m == n && x.is_same(y))
            }
            (Value::Gives(a), Value::Gives(b)) => a.is_same(b),
            (
                Value::Tensor { .. }
                | Value::Number
                | Value::Partial(..)
                | Value::Gives(_)
                | Value::Kernel(_)
                | Value::Module
                | Value::Path(_)
                | Value::Function(..)
                | Value::Lambda(..)
                | Value::Class(_)
                | Value::Instance(_)
                | Value::Super(_)
                | Value::Method { .. }
                | Value::Bypass(_)
                | Value::List(_)
                | Value::Any(_)
                | Value::Unknown,
                _,
            ) => false,
        }
    }

    /// How many values are in it, itself counted.
    pub fn parts(&self) -> usize {
        match self {
            Value::List(values) | Value::Any(values) => 1 + values.iter().map(Value::parts).sum::<usize>(),
            Value::Partial(callee, args, named) => {
                let bound = args.iter().chain(named.iter().map(|(_, v)| v));
                1 + callee.parts() + bound.map(Value::parts).sum::<usize>()
            }
            Value::Gives(value) => 1 + value.parts(),
            _ => 1,
        }
    }

    /// What an iteration or an index chosen at run time gives.
    pub fn element(&self) -> Value<'a> {
        match self {
            Value::List(values) => Value::any(values.clone()),
            Value::Any(values) => Value::any(values.iter().map(Value::element).collect()),
            Value::Tensor { .. } => TENSOR,
            Value::Number => Value::Number,
            Value::Module => Value::Module,
            Value::Bypass(name) => Value::Bypass(name.clone()),
            _ => Value::Unknown,
        }
    }
}

/// `torch.…` that allocate buffers.
pub const ALLOCATIONS: &[&str] = &["empty", "zeros", "ones", "empty_like", "zeros_like", "ones_like"];
/// … that the lenient ban takes, too.
pub const LENIENT_FUNCTIONS: &[&str] = &["full", "full_like", "arange", "tensor"];
/// … that ask about types and devices.
pub const QUERIES: &[&str] = &[
    "Size",
    "device",
    "finfo",
    "iinfo",
    "is_tensor",
    "is_floating_point",
    "cuda.current_device",
    "cuda.device_count",
    "cuda.get_device_properties",
    "cuda.get_device_capability",
    "cuda.is_available",
    "npu.current_device",
];
/// Methods that give the same elements by other strides.
pub const SHAPE_METHODS: &[&str] = &["view", "reshape", "permute", "transpose"];
pub const LENIENT_METHODS: &[&str] =
    &["contiguous", "clone", "expand", "flatten", "squeeze", "unsqueeze", "detach", "to", "new_empty", "new_zeros", "new_ones"];
/// Methods that ask.
pub const METADATA_METHODS: &[&str] = &[
    "size",
    "stride",
    "dim",
    "numel",
    "nelement",
    "ndimension",
    "element_size",
    "is_contiguous",
    "data_ptr",
    "get_device",
    "storage_offset",
    "is_floating_point",
    "is_complex",
];
/// Attributes that ask.
pub const METADATA: &[&str] =
    &["shape", "dtype", "device", "ndim", "is_cuda", "is_npu", "requires_grad", "layout", "itemsize", "nbytes", "is_sparse"];
/// Attributes that are tensors of other elements or strides.
pub const VIEWS: &[&str] = &["T", "mT", "H", "mH", "real", "imag", "grad"];
/// Tensors of modules; what else a module has is not known.
pub const PARAMETERS: &[&str] = &["weight", "bias", "running_mean", "running_var", "in_proj_weight", "in_proj_bias"];
/// Names of torch and of others that run code which nobody reads here.
pub const BYPASSES: &[&str] = &[
    "torch.ops",
    "torch.compile",
    "torch.jit",
    "torch.utils.cpp_extension",
    "torch._C",
    "torch._dynamo",
    "torch._inductor",
    "torch.fx",
    "torch.autograd.Function",
    "torch.classes",
    "torch.library",
    "ctypes",
    "cffi",
    "cupy",
    "importlib",
    "subprocess",
];
