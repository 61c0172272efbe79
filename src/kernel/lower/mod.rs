//! A `@triton.jit` function, specialised, into the IR of [`ir`](super::ir).
//!
//! The walk follows compiled Triton (its semantics, not its code): compile-time values stay Python
//! values until they meet a run-time one; an assignment makes a Python number a run-time constant,
//! unless the target is annotated `tl.constexpr`; helpers are inlined at their calls. Loop-carried
//! variables are those whose value differs after the body has been lowered once on trial.
//!
//! * `names` — imports, functions and globals of the module; `value` — what a name stands for
//! * `flow` — statements; `expr` — expressions; `call` — argument binding and inlining
//! * `types`, `ops`, `cast` — promotion, arithmetic, conversions
//! * `builtins` — one file a family of `triton.language` functions, behind one table
//!
//! Does not catch: what only a target rejects (shared memory, register pressure).

mod builder;
mod builtins;
mod call;
mod cast;
mod expr;
mod flow;
mod names;
mod operands;
mod ops;
mod types;
mod value;

use std::sync::Arc;

use crate::diag::{Diagnostic, Place, Result, codes};
use crate::dtype::DType;
use crate::kernel::ir::{DotPrecision, Kernel, Param, Type, Value};
use crate::kernel::verify::{Verified, verify};
use crate::source::{SourceFile, Span};
use crate::syntax::Constant;
use crate::syntax::ast::{FunctionDef, Module, ParamKind};

use builder::Builder;
pub(super) use builder::{literal_of, wrap};
use names::Names;
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
}

/// The parts of a target that change what a kernel means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// What a dot of fp32 operands does when it does not say.
    pub dot_precision: DotPrecision,
    /// Whether blocks must have powers of two as sizes (CUDA and HIP; not Ascend).
    pub power_of_two: bool,
}

impl Default for Target {
    /// CUDA.
    fn default() -> Target {
        Target { dot_precision: DotPrecision::Tf32, power_of_two: true }
    }
}

/// How a kernel is specialised.
#[derive(Clone, Debug, Default)]
pub struct Specialization {
    /// By parameter name, in any order; parameters with defaults may be left out.
    pub args: Vec<(String, ArgSpec)>,
    pub target: Target,
}

/// Names of the parameters of a kernel that are annotated `tl.constexpr`.
///
/// Error: K004 when the module has no such kernel.
pub fn constexpr_params(module: &Module, entry: &str) -> Result<Vec<String>> {
    let names = Names::of(module);
    let function = names.entry(module, entry)?;
    let constexpr = |p: &&crate::syntax::ast::Param| p.annotation.as_ref().is_some_and(|a| names.is_constexpr(a));
    Ok(function.params.iter().filter(constexpr).map(|p| p.name.clone()).collect())
}

/// Lowers one kernel of a module.
///
/// Errors: K001 for what is not supported, K002 and K003 for what compiled Triton rejects, K004 for
/// a missing entry, K007 for arguments that do not fit it.
pub fn compile(module: &Module, entry: &str, spec: &Specialization) -> Result<Verified<Kernel>> {
    let names = Names::of(module);
    let function = names.entry(module, entry)?;
    let mut lower = Lower {
        names: &names,
        target: spec.target,
        b: Builder::new(),
        scope: Scope::default(),
        defs: Vec::new(),
        pending: Vec::new(),
        frame: Frame { entry: true, loops: 0 },
        calls: Vec::new(),
        trials: 0,
    };
    let params = lower.bind_entry(function, spec)?;
    lower.entry_body(function)?;
    let wraps = std::mem::take(&mut lower.b.wraps);
    let (values, blocks) = lower.b.finish();
    verify(Kernel { name: Arc::from(entry), params, values, blocks, wraps, source: module.file.clone() })
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
    names: &'n Names<'a>,
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

impl<'a> Lower<'a, '_> {
    fn file(&self) -> &Arc<SourceFile> {
        &self.names.file
    }

    fn diagnostic(&self, code: &'static crate::diag::Code, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
        let mut diagnostic = Diagnostic::new(code, message).at(self.file(), span);
        for (function, call) in self.calls.iter().rev() {
            let place = Place::Text { file: self.file().clone(), span: *call };
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
            if matches!(param.kind, ParamKind::VarArgs | ParamKind::VarKeywords) {
                return Err(self.unsupported(param.span, "variadic parameters of a kernel"));
            }
            self.b.span = param.span;
            let annotated = param.annotation.as_ref().is_some_and(|a| self.names.is_constexpr(a));
            let given = spec.args.iter().find(|(name, _)| *name == param.name).map(|(_, spec)| spec);
            let scalar = match (given, &param.default) {
                (Some(ArgSpec::Constexpr(constant)), _) => {
                    self.scope.set(&param.name, Val::constant(constant.clone()));
                    continue;
                }
                (Some(_), _) if annotated => {
                    let message = format!("parameter `{}` is tl.constexpr and needs a compile-time value", param.name);
                    return Err(entry_error(self, param.span, message));
                }
                (Some(ArgSpec::Pointer(to)), _) => Scalar::Ptr(*to),
                (Some(ArgSpec::Int { bits: 32 }), _) => Scalar::Num(DType::I32),
                (Some(ArgSpec::Int { bits: 64 }), _) => Scalar::Num(DType::I64),
                (Some(ArgSpec::Int { bits }), _) => {
                    let message = format!("parameter `{}`: an integer argument has 32 or 64 bits, not {bits}", param.name);
                    return Err(entry_error(self, param.span, message));
                }
                (Some(ArgSpec::Float), _) => Scalar::Num(DType::F32),
                (None, Some(default)) => {
                    let value = self.expr(default)?;
                    if value.to_constant().is_none() {
                        return Err(entry_error(self, default.span, "a default must be known at compile time".to_owned()));
                    }
                    self.scope.set(&param.name, value);
                    continue;
                }
                (None, None) => {
                    let message = format!("no argument for parameter `{}` of kernel `{}`", param.name, function.name);
                    return Err(entry_error(self, param.span, message));
                }
            };
            let value = self.b.value(Type::scalar(scalar.elem()));
            self.b.name(value, &param.name);
            params.push(Param { name: Arc::from(param.name.as_str()), value, span: param.span });
            let tensor = self.tensor(value, Ty::scalar(scalar));
            self.scope.set(&param.name, Val::Tensor(tensor));
        }
        Ok(params)
    }
}

/// `64×32`.
fn shape_text(shape: &[usize]) -> String {
    crate::shape::display(shape)
}
