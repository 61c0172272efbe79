//! What the ban knows of a value, and what may be done with one: tensors, numbers (metadata and what is computed of it), kernels,
//! modules, functions, and what is not known.
//!
//! Parameters of forward are tensors unless their annotation or default says otherwise. Of alternatives (`a if c else b`,
//! branches, entries of a list chosen at run time) every one is kept. Does not catch: an operator between two values that are
//! both unknown (parameters of `__init__`, results of functions of other files without a tensor among their arguments).

use crate::syntax::ast::{Expr, FunctionDef, Param};

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
        let mut seen = std::collections::BTreeSet::new();
        all.retain(|value| seen.insert(format!("{value:?}").chars().take(400).collect::<String>()));
        Value::any(all)
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
