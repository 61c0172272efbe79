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

use super::Lower;
use super::call::Arg;
use super::value::Val;
use crate::diag::Result;
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Module, StmtKind};

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
