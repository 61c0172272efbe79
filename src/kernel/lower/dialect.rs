//! The emulator dialect: kernels written for a CPU emulator that stands in for `triton.language`.
//!
//! A file is in the dialect when it says `from common import tl` (`common` may lie in a package). There,
//! functions are kernels and helpers without a decorator, module constants are known inside them, and
//! memory is addressed by a base and an offset in elements: `tl.load(ptr, offsets, mask=…)`,
//! `tl.store(ptr, offsets, value, mask=…)`, atomics likewise. An offset of one element may come wrapped, as
//! `np.array([offset])`. The pointer form of Triton is understood beside it. Everything else is Triton's:
//! a masked-off lane without `other` is undefined here as there.
//!
//! Algorithm: the base and the offset are added before the builtin is called, so that nothing behind this
//! file knows of the dialect. A second argument of booleans is a mask, as in Triton's own order.
//!
//! Does not catch: what the emulator's library has and Triton lacks is refused where it is used, by name.

use std::collections::BTreeSet;

use super::Lower;
use super::call::Arg;
use super::value::Val;
use crate::diag::Result;
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, FunctionDef, Module, StmtKind};
use crate::syntax::imports::Imports;
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

/// Whether a module is written in the dialect.
pub fn is_dialect(module: &Module) -> bool {
    module.body.iter().any(|stmt| match &stmt.kind {
        StmtKind::ImportFrom { module, names, level: _ } => is_common(module) && names.iter().any(|(name, _)| name == "tl"),
        StmtKind::Import(_)
        | StmtKind::Function(_)
        | StmtKind::Class { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AnnAssign { .. }
        | StmtKind::AugAssign { .. }
        | StmtKind::Expr(_)
        | StmtKind::If { .. }
        | StmtKind::For { .. }
        | StmtKind::While { .. }
        | StmtKind::Return(_)
        | StmtKind::Raise(_)
        | StmtKind::Assert { .. }
        | StmtKind::Pass
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Other(_) => false,
    })
}

/// `common`, `emulators.common`.
pub fn is_common(module: &str) -> bool {
    module.rsplit('.').next() == Some("common")
}

/// `launch_kernel_1d` and its siblings.
pub fn is_launcher(func: &Expr) -> bool {
    let name = func.as_dotted().unwrap_or_default();
    matches!(name.rsplit('.').next(), Some("launch_kernel_1d" | "launch_kernel_2d" | "launch_kernel_3d"))
}

/// The functions of a file in the dialect that run on the device: those that do what only a program does, those
/// that a launch names, and the helpers that these call. A function that launches is a wrapper.
pub fn device_functions(module: &Module) -> BTreeSet<&str> {
    let imports = Imports::of(module);
    let all: Vec<&FunctionDef> =
        module.body.iter().filter_map(|stmt| if let StmtKind::Function(def) = &stmt.kind { Some(def) } else { None }).collect();
    let find = |name: &str| all.iter().copied().find(|def| def.name == name);
    let mut device: BTreeSet<&str> = BTreeSet::new();
    for &def in &all {
        let (mut programs, mut launches) = (false, false);
        for call in calls(def) {
            let member = imports.triton(call.0);
            programs |=
                member.is_some_and(|m| arity(&m).is_some() || matches!(m.as_str(), "program_id" | "num_programs" | "arange"));
            launches |= is_launcher(call.0);
            if is_launcher(call.0)
                && let Some(kernel) = call.1.first().and_then(Expr::as_name).and_then(find)
            {
                device.insert(&kernel.name);
            }
        }
        if programs && !launches {
            device.insert(&def.name);
        }
    }
    let mut open: Vec<&str> = device.iter().copied().collect();
    while let Some(name) = open.pop() {
        for call in find(name).map(calls).unwrap_or_default() {
            if let Some(helper) = call.0.as_name().and_then(find)
                && device.insert(&helper.name)
            {
                open.push(&helper.name);
            }
        }
    }
    device
}

/// The calls in a function: what is called, and the positional arguments.
fn calls(def: &FunctionDef) -> Vec<(&Expr, &[Expr])> {
    let mut found = Vec::new();
    each_stmt(&def.body, &mut |stmt| {
        for expr in own_exprs(stmt) {
            each_expr(expr, &mut |e| {
                if let ExprKind::Call { func, args, keywords: _ } = &e.kind {
                    found.push((&**func, args.as_slice()));
                }
            });
        }
    });
    found
}

/// How many positional arguments a builtin has in the dialect's form: base, offsets, and what it stores.
fn arity(builtin: &str) -> Option<usize> {
    match builtin {
        "load" => Some(2),
        "store" | "atomic_add" | "atomic_and" | "atomic_max" | "atomic_min" | "atomic_or" | "atomic_xchg" | "atomic_xor" => {
            Some(3)
        }
        "atomic_cas" => Some(4),
        _ => None,
    }
}

/// `np.array([offset])` is the offset.
pub fn unwrapped<'e>(path: Option<&str>, args: &'e [Expr]) -> Option<&'e Expr> {
    match (path, args) {
        (Some("numpy.array"), [Expr { kind: ExprKind::List(items), span: _ }]) => match items.as_slice() {
            [item] => Some(item),
            _ => None,
        },
        _ => None,
    }
}

impl<'a> Lower<'a, '_> {
    /// The arguments of a memory builtin in Triton's order.
    pub fn without_offsets(&mut self, span: Span, builtin: &str, mut positional: Vec<Arg<'a>>) -> Result<Vec<Arg<'a>>> {
        let Some(arity) = arity(builtin) else { return Ok(positional) };
        if positional.len() < arity {
            return Ok(positional);
        }
        let is_base = matches!(&positional[0].val, Val::Tensor(t) if t.ty.scalar.is_ptr() && !t.ty.is_block());
        let is_mask = |arg: &Arg<'a>| matches!(&arg.val, Val::Tensor(t) if t.ty.scalar.is_bool());
        // Triton's order: pointer and mask, or pointer, value and mask.
        if !is_base || is_mask(&positional[arity - 1]) {
            return Ok(positional);
        }
        let offsets = positional.remove(1);
        let sum = self.binary(span, BinaryOp::Add, &positional[0].val, &offsets.val)?;
        positional[0] = Arg { val: sum, span: positional[0].span.to(offsets.span) };
        Ok(positional)
    }
}
