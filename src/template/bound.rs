//! What binding a template to a cluster gives: Triton text and everything a launch needs.
//!
//! A [`BoundKernel`] is independent of where in the model it is used: two layers with the same text,
//! dtypes, constexprs and shapes share one. Which values an instance reads and writes is kept in the
//! plan, in the order of [`BoundKernel::operands`].

use crate::dtype::DType;
use crate::shape::{Shape, Strides};
use crate::tolerance::Precision;

/// How an operand's elements lie in its storage, in elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The logical shape, as the graph has it.
    pub shape: Shape,
    pub strides: Strides,
    /// Of the first element, from the start of the storage.
    pub offset: i64,
    /// Elements of the whole storage (at least what the layout touches).
    pub storage: usize,
}

impl Layout {
    /// A dense row-major tensor that fills its storage.
    pub fn contiguous(shape: &[usize]) -> Layout {
        let storage = crate::shape::numel(shape).expect("invariant: sizes are checked at import");
        Layout { shape: Shape::from_slice(shape), strides: crate::shape::contiguous_strides(shape), offset: 0, storage }
    }

    /// Whether a torch tensor of this shape over the whole storage has these strides.
    pub fn is_contiguous(&self) -> bool {
        self.offset == 0
            && crate::shape::numel(&self.shape) == Some(self.storage)
            && crate::shape::is_contiguous(&self.shape, &self.strides)
    }
}

/// One tensor parameter of the wrapper `launch(…)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// The Python name in the wrapper: `x`, `w`, `y`, `r0`.
    pub name: String,
    pub dtype: DType,
    pub layout: Layout,
    pub access: OperandAccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandAccess {
    Read,
    Write,
    /// Allocated by the wrapper, written and read by its launches.
    Scratch,
}

/// A number in a launch: its value, and the host-subset Python that computes it in the wrapper.
#[derive(Clone, Debug, PartialEq)]
pub struct HostInt {
    pub value: i64,
    /// An expression over operand names, constexpr names and integers: `x.stride(1)`,
    /// `triton.cdiv(M, BM)`.
    pub text: String,
}

/// One argument of a launch, by the kernel's parameter name.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    pub param: String,
    pub value: ArgumentValue,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentValue {
    /// The storage of `operands[i]`.
    Pointer(usize),
    Int(HostInt),
    /// A compile-time constant of the kernel.
    Constexpr(HostInt),
    /// A compile-time float, such as an epsilon; printed so that Python reads the same number back.
    ConstexprFloat(f64),
    /// A compile-time string, such as an `input_precision`.
    ConstexprStr(String),
}

/// One kernel launch of the wrapper.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundLaunch {
    /// The `@triton.jit` function.
    pub function: String,
    /// Names the wrapper defines before the launch (`M`, `BM`, …), in order.
    pub locals: Vec<(String, HostInt)>,
    pub grid: [HostInt; 3],
    /// In the order of the kernel's parameters.
    pub args: Vec<Argument>,
    pub num_warps: u32,
    pub num_stages: u32,
}

/// A template bound to a cluster's operators, shapes, layouts and dtypes.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundKernel {
    pub template: String,
    /// The first 12 hex digits of a SHA-256 over text, dtypes, layouts, arguments, grid, num_warps and num_stages.
    pub key: String,
    /// Every `@triton.jit` function that the launches need, as emitted; no imports, no anchors.
    pub text: String,
    pub operands: Vec<Operand>,
    pub launches: Vec<BoundLaunch>,
}

impl BoundKernel {
    /// Whether a dot of it truncates fp32 operands to tf32.
    pub fn truncates(&self) -> bool {
        let class = |argument: &Argument| argument.value == ArgumentValue::ConstexprStr(Precision::Tf32.name().to_owned());
        self.launches.iter().flat_map(|launch| &launch.args).any(class)
    }
}
