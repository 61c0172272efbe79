//! A `@triton.jit` function, specialised, into the IR of [`ir`](super::ir).
//!
//! The walk follows compiled Triton (its semantics, not its code): compile-time values stay Python
//! values until they meet a run-time one; an assignment makes a Python number a run-time constant,
//! unless the target is annotated `tl.constexpr`; helpers are inlined at their calls. Loop-carried
//! variables are those whose value differs after the body has been lowered once on trial.
//!
//! * `sources` — the files of a kernel; `names` — what a file defines; `globals` — what a kernel reads of it;
//!   `module_level` — Python that runs before any kernel; `decorators` — what stands above one
//! * `value` — what a name stands for; `region` — block pointers and descriptors
//! * `flow` — statements; `expr` — expressions; `call` — argument binding and inlining
//! * `types`, `ops`, `cast` — promotion, arithmetic, conversions
//! * `dialect` — files written for a CPU emulator of `triton.language`
//! * `builtins` — one file a family of `triton.language` functions, behind one table
//!
//! Does not catch: what only a target rejects (shared memory, register pressure).

mod builder;
mod builtins;
mod call;
mod cast;
pub mod decorators;
pub mod dialect;
mod expr;
mod flow;
mod globals;
mod module_level;
mod names;
mod operands;
mod ops;
mod region;
pub mod sizes;
pub mod sources;
mod types;
mod value;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diag::{Diagnostic, Place, Result, codes};
use crate::dtype::DType;
use crate::kernel::ir::{DotPrecision, Kernel, Param, Type, Value};
use crate::kernel::verify::{Verified, verify};
use crate::source::{SourceFile, Span};
use crate::syntax::Constant;
use crate::syntax::ast::{self, FunctionDef, Module, ParamKind};
use crate::syntax::imports::Imports;
use crate::target::Vendor;

use builder::Builder;
pub(super) use builder::{literal_of, wrap};
use names::Names;
use region::Descriptor;
use sources::{Modules, Sources};
use types::{Scalar, Ty};
use value::{Scope, Tensor, Val};

/// What is known of one parameter at compile time.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgSpec {
    Pointer(DType),
    /// A run-time integer of 32 or 64 bits, signed.
    Int {
        bits: u32,
    },
    /// A run-time fp32 scalar.
    Float,
    Constexpr(Constant),
    /// A run-time integer without sign.
    Unsigned {
        bits: u32,
    },
    /// A run-time bool.
    Bool,
    /// A constexpr that is an element type.
    Type(DType),
    /// A constexpr that is a function of the kernel's module, by name.
    Function(String),
    /// Several arguments as one; its run-time members become parameters of their own.
    Tuple(Vec<ArgSpec>),
    /// A tensor descriptor of the host: a pointer, then sizes (i32) and strides (i64) of its axes become
    /// parameters of their own.
    Descriptor {
        dtype: DType,
        block: Vec<usize>,
    },
}

impl ArgSpec {
    /// An integer argument as Triton specialises it: 1 is a constexpr, what 32 bits do not hold has 64. (That it is
    /// divisible by 16 changes no value.)
    pub fn of_int(value: i64) -> ArgSpec {
        match value {
            1 => ArgSpec::Constexpr(Constant::Int(1)),
            _ => ArgSpec::Int { bits: if i32::try_from(value).is_ok() { 32 } else { 64 } },
        }
    }
}

/// The parts of a target that change what a kernel means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// What a dot of fp32 operands does when it does not say.
    pub dot_precision: DotPrecision,
    /// Whether blocks must have powers of two as sizes (CUDA and HIP; not Ascend).
    pub power_of_two: bool,
    /// What `tl.extra.cuda.num_warps()` answers: the launch option.
    pub num_warps: u32,
    /// Whether there are the 8-bit floats without infinities and negative zero (HIP).
    pub fnuz: bool,
}

impl Default for Target {
    /// CUDA.
    fn default() -> Target {
        Target { dot_precision: DotPrecision::Tf32, power_of_two: true, num_warps: 4, fnuz: false }
    }
}

impl Target {
    /// What a device makes of a kernel; CUDA's where none is named.
    pub fn of(device: Option<&crate::target::Target>) -> Target {
        match device.map(|device| device.vendor) {
            Some(Vendor::Nvidia) | None => Target::default(),
            // What their compilers take where a dot does not say.
            Some(Vendor::Amd) => Target { dot_precision: DotPrecision::Ieee, fnuz: true, ..Target::default() },
            Some(Vendor::Ascend) => Target { dot_precision: DotPrecision::Ieee, power_of_two: false, ..Target::default() },
        }
    }
}

/// How a kernel is specialised.
#[derive(Clone, Debug, Default)]
pub struct Specialization {
    /// By parameter name, in any order; parameters with defaults may be left out.
    pub args: Vec<(String, ArgSpec)>,
    pub target: Target,
}

/// Names of the parameters of a kernel that are annotated `tl.constexpr`; in the emulator dialect those, too, that
/// decide a block's shape.
///
/// Error: K004 when the module has no such kernel.
pub fn constexpr_params(module: &Module, entry: &str) -> Result<Vec<String>> {
    let modules = Modules::single(module);
    let names = modules.names(0);
    let function = names.entry(module, entry)?;
    let sizes = if names.dialect { sizes::sizes(module, &Imports::of(module), function) } else { BTreeSet::new() };
    let annotated = |p: &ast::Param| p.annotation.as_ref().is_some_and(|a| names.is_constexpr(a));
    let constexpr = |p: &&ast::Param| annotated(p) || sizes.contains(p.name.as_str());
    Ok(function.params.iter().filter(constexpr).map(|p| p.name.clone()).collect())
}

/// Lowers one kernel of a module that imports nothing but Triton.
///
/// Errors: K001 for what is not supported, K002 and K003 for what compiled Triton rejects, K004 for
/// a missing entry, K007 for arguments that do not fit it.
pub fn compile(module: &Module, entry: &str, spec: &Specialization) -> Result<Verified<Kernel>> {
    compile_over(&Modules::single(module), entry, spec)
}

/// Lowers one kernel of a file, with what it imports from others. Errors: as [`compile`], and U002 or S001 for an
/// imported file that cannot be read.
pub fn compile_sources(sources: &mut Sources, entry: &str, spec: &Specialization) -> Result<Verified<Kernel>> {
    sources.with(|modules| compile_over(modules, entry, spec))
}

fn compile_over(modules: &Modules<'_>, entry: &str, spec: &Specialization) -> Result<Verified<Kernel>> {
    let function = modules.names(0).entry(modules.module(0), entry)?;
    let mut lower = Lower::new(modules, spec.target);
    let params = lower.bind_entry(function, spec)?;
    lower.entry_body(function)?;
    let wraps = std::mem::take(&mut lower.b.wraps);
    let (values, blocks) = lower.b.finish();
    verify(Kernel { name: Arc::from(entry), params, values, blocks, wraps, source: modules.file.clone() })
}

/// The function being lowered.
#[derive(Clone, Copy)]
struct Frame {
    /// Whether it is the kernel itself and not a helper.
    entry: bool,
    /// Run-time loops around the current statement.
    loops: usize,
}

struct Lower<'a, 'n> {
    modules: &'n Modules<'a>,
    /// The module whose names are in force.
    module: usize,
    /// Whether Python's rules hold and not Triton's: at module level and in what it calls.
    host: bool,
    /// Whether a global is read as an attribute of its module, where Triton does not ask for a constexpr.
    through_module: bool,
    /// How many globals we are in the middle of.
    depth: usize,
    /// Names whose definition under a condition is being chosen, with their module and what they were before it.
    before: Vec<(usize, String, Option<names::Global<'a>>)>,
    target: Target,
    b: Builder,
    scope: Scope<'a>,
    /// Names bound since the current region began.
    defs: Vec<Arc<str>>,
    /// Bare annotations `x: tl.constexpr`, waiting for their assignment.
    pending: Vec<String>,
    frame: Frame,
    /// Calls that we are inside of, outermost first.
    calls: Vec<(&'a FunctionDef, Span)>,
    /// How many trial lowerings of loop bodies we are inside of.
    trials: usize,
}

impl<'a, 'n> Lower<'a, 'n> {
    fn new(modules: &'n Modules<'a>, target: Target) -> Lower<'a, 'n> {
        Lower {
            modules,
            module: 0,
            host: false,
            through_module: false,
            before: Vec::new(),
            depth: 0,
            target,
            b: Builder::new(),
            scope: Scope::default(),
            defs: Vec::new(),
            pending: Vec::new(),
            frame: Frame { entry: true, loops: 0 },
            calls: Vec::new(),
            trials: 0,
        }
    }

    fn file(&self) -> &'n Arc<SourceFile> {
        &self.modules.file
    }

    fn names(&self) -> &'n Names<'a> {
        self.modules.names(self.module)
    }

    fn diagnostic(&self, code: &'static crate::diag::Code, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
        let mut diagnostic = Diagnostic::new(code, message).at(self.file(), span);
        for (function, call) in self.calls.iter().rev() {
            let place = Place::text(self.file(), *call);
            diagnostic = diagnostic.related(place, format!("`{}` is called here", function.name));
        }
        Box::new(diagnostic)
    }

    /// K001: we cannot do this yet.
    fn unsupported(&self, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
        self.diagnostic(&codes::KERNEL_UNSUPPORTED, span, message)
    }

    /// K002: compiled Triton refuses this.
    fn rejected(&self, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
        self.diagnostic(&codes::KERNEL_REJECTED, span, message)
    }

    /// K003: types or shapes do not fit.
    fn type_error(&self, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
        self.diagnostic(&codes::KERNEL_TYPE, span, message)
    }

    /// Makes a value of a front-end type from an IR value.
    fn tensor(&self, value: Value, ty: Ty) -> Tensor {
        debug_assert_eq!(*self.b.ty(value), ty.ir());
        Tensor { value, ty }
    }

    fn bind_entry(&mut self, function: &'a FunctionDef, spec: &Specialization) -> Result<Vec<Param>> {
        let entry_error = |lower: &Self, span, message: String| lower.diagnostic(&codes::KERNEL_ARGUMENTS, span, message);
        for (name, _) in &spec.args {
            if !function.params.iter().any(|p| p.name == *name) {
                let message = format!("kernel `{}` has no parameter `{name}`", function.name);
                return Err(entry_error(self, function.params_span, message));
            }
        }
        let mut params = Vec::new();
        for param in &function.params {
            if matches!(param.kind, ParamKind::VarKeywords) {
                return Err(self.unsupported(param.span, "`**` parameters of a kernel"));
            }
            self.b.span = param.span;
            let annotated = param.annotation.as_ref().is_some_and(|a| self.names().is_constexpr(a));
            let given = spec.args.iter().find(|(name, _)| *name == param.name).map(|(_, spec)| spec);
            let value = match (given, &param.default) {
                (Some(spec), _) => {
                    let value = self.bind_param(param, &param.name, spec, &mut params)?;
                    if annotated && !value.flattened().is_empty() {
                        let message = format!("parameter `{}` is tl.constexpr and needs a compile-time value", param.name);
                        return Err(entry_error(self, param.span, message));
                    }
                    value
                }
                (None, Some(default)) => {
                    let value = self.default_value(0, default)?;
                    if !value.flattened().is_empty() {
                        return Err(entry_error(self, default.span, "a default must be known at compile time".to_owned()));
                    }
                    value
                }
                (None, None) if param.kind == ParamKind::VarArgs => Val::Tuple(Vec::new()),
                (None, None) => {
                    let message = format!("no argument for parameter `{}` of kernel `{}`", param.name, function.name);
                    return Err(entry_error(self, param.span, message));
                }
            };
            self.scope.set(&param.name, value);
        }
        Ok(params)
    }

    /// The value of a parameter, or of a part of one; what it holds at run time becomes a parameter of the kernel.
    fn bind_param(
        &mut self,
        param: &crate::syntax::ast::Param,
        name: &str,
        spec: &ArgSpec,
        params: &mut Vec<Param>,
    ) -> Result<Val<'a>> {
        if let ArgSpec::Pointer(to) | ArgSpec::Descriptor { dtype: to, .. } = spec {
            self.on_target(param.span, Scalar::Num(*to))?;
        }
        let mut run_time = |lower: &mut Self, name: &str, scalar: Scalar| {
            let value = lower.b.value(Type::scalar(scalar.elem()));
            lower.b.name(value, name);
            params.push(Param { name: Arc::from(name), value, span: param.span });
            lower.tensor(value, Ty::scalar(scalar))
        };
        let number = |dtype| Scalar::Num(dtype);
        let scalar = match spec {
            ArgSpec::Constexpr(constant) => return Ok(Val::constant(constant.clone())),
            ArgSpec::Type(dtype) => return Ok(Val::Type(Scalar::Num(*dtype))),
            ArgSpec::Function(function) => {
                return match self.global(param.span, 0, function)? {
                    Some(value @ (Val::Function(_) | Val::Builtin(_))) => Ok(value),
                    _ => {
                        let message = format!("parameter `{name}`: the file has no @triton.jit function `{function}`");
                        Err(self.diagnostic(&codes::KERNEL_ARGUMENTS, param.span, message))
                    }
                };
            }
            ArgSpec::Tuple(items) => {
                let mut values = Vec::with_capacity(items.len());
                for (i, item) in items.iter().enumerate() {
                    values.push(self.bind_param(param, &format!("{name}.{i}"), item, params)?);
                }
                return Ok(Val::Tuple(values));
            }
            ArgSpec::Descriptor { dtype, block } => {
                let base = run_time(self, name, Scalar::Ptr(*dtype));
                let axes = 0..block.len();
                let shape = axes.clone().map(|i| run_time(self, &format!("{name}.shape.{i}"), number(DType::I32))).collect();
                let strides = axes.map(|i| run_time(self, &format!("{name}.stride.{i}"), number(DType::I64))).collect();
                let block = block.iter().copied().collect();
                return Ok(Val::Descriptor(Box::new(Descriptor { base, shape, strides, block, nan: false })));
            }
            ArgSpec::Pointer(to) => Scalar::Ptr(*to),
            ArgSpec::Int { bits: 32 } => number(DType::I32),
            ArgSpec::Int { bits: 64 } => number(DType::I64),
            ArgSpec::Unsigned { bits: 32 } => number(DType::U32),
            ArgSpec::Unsigned { bits: 64 } => number(DType::U64),
            ArgSpec::Int { bits } | ArgSpec::Unsigned { bits } => {
                let message = format!("parameter `{name}`: an integer argument has 32 or 64 bits, not {bits}");
                return Err(self.diagnostic(&codes::KERNEL_ARGUMENTS, param.span, message));
            }
            ArgSpec::Bool => number(DType::Bool),
            ArgSpec::Float => number(DType::F32),
        };
        Ok(Val::Tensor(run_time(self, name, scalar)))
    }
}

/// `64×32`.
fn shape_text(shape: &[usize]) -> String {
    crate::shape::display(shape)
}
