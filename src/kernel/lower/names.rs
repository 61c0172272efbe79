//! What the names of a module mean inside its kernels: imports, `@triton.jit` functions, constexpr
//! globals.
//!
//! Imports are kept as full dotted names (`tl` is `triton.language`, `from triton.language.math
//! import exp` makes `exp` `triton.language.math.exp`) and resolved where they are used.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::dialect::{is_common, is_dialect};
use super::types::Scalar;
use super::value::Val;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Module, StmtKind};
use crate::syntax::{Constant, eval};

/// A module-level name.
pub enum Global<'a> {
    /// A module or a member of one, by full dotted name.
    Import(String),
    /// A function with `@triton.jit`.
    Jit(&'a FunctionDef),
    /// A function without it.
    Plain(Span),
    /// `NAME = tl.constexpr(value)`.
    Constexpr(Constant),
    /// `NAME = …` or anything else: kernels must not read it.
    Other(Span),
}

pub struct Names<'a> {
    pub file: Arc<SourceFile>,
    /// Whether the file is in the emulator dialect.
    pub dialect: bool,
    globals: BTreeMap<&'a str, Global<'a>>,
}

impl<'a> Names<'a> {
    pub fn of(module: &'a Module) -> Names<'a> {
        let mut names = Names { file: module.file.clone(), dialect: is_dialect(module), globals: BTreeMap::new() };
        for stmt in &module.body {
            match &stmt.kind {
                StmtKind::Import(list) => {
                    for (path, alias) in list {
                        match alias {
                            Some(alias) => names.globals.insert(alias, Global::Import(path.clone())),
                            None => {
                                let root = path.split('.').next().unwrap_or(path);
                                names.globals.insert(root, Global::Import(root.to_owned()))
                            }
                        };
                    }
                }
                StmtKind::ImportFrom { module, names: list, level } => {
                    for (name, alias) in list {
                        let dots = ".".repeat(*level as usize);
                        let path = match name.as_str() {
                            "tl" if is_common(module) => "triton.language".to_owned(),
                            _ => format!("{dots}{module}.{name}"),
                        };
                        names.globals.insert(alias.as_ref().unwrap_or(name), Global::Import(path));
                    }
                }
                StmtKind::Function(function) => {
                    let jit = names.dialect || function.decorators.iter().any(|d| names.is_jit(d));
                    let global = if jit { Global::Jit(function) } else { Global::Plain(function.name_span) };
                    names.globals.insert(&function.name, global);
                }
                StmtKind::Assign { targets, value } => {
                    for target in targets {
                        if let Some(name) = target.as_name() {
                            let value = names.constexpr(value).or_else(|| names.dialect.then(|| names.constant(value)).flatten());
                            let global = value.map_or(Global::Other(stmt.span), Global::Constexpr);
                            names.globals.insert(name, global);
                        }
                    }
                }
                StmtKind::AnnAssign { target, .. } => {
                    if let Some(name) = target.as_name() {
                        names.globals.insert(name, Global::Other(stmt.span));
                    }
                }
                StmtKind::Class { name, .. } => {
                    names.globals.insert(name, Global::Other(stmt.span));
                }
                StmtKind::AugAssign { .. }
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
                | StmtKind::Other(_) => {}
            }
        }
        names
    }

    pub fn get(&self, name: &str) -> Option<&Global<'a>> {
        self.globals.get(name)
    }

    /// The full dotted name of an expression that is names and attributes under an import.
    pub fn path(&self, expr: &Expr) -> Option<String> {
        match &expr.kind {
            ExprKind::Name(name) => match self.globals.get(name.as_str())? {
                Global::Import(path) => Some(path.clone()),
                _ => None,
            },
            ExprKind::Attribute { value, name } => Some(format!("{}.{name}", self.path(value)?)),
            _ => None,
        }
    }

    /// Whether a decorator makes a function a kernel or a helper: `@triton.jit`, `@triton.jit(…)`.
    fn is_jit(&self, decorator: &Expr) -> bool {
        let callee = match &decorator.kind {
            ExprKind::Call { func, .. } => func,
            _ => decorator,
        };
        self.path(callee).is_some_and(|path| matches!(path.as_str(), "triton.jit" | "triton.runtime.jit"))
    }

    /// Whether an annotation says `tl.constexpr`.
    pub fn is_constexpr(&self, annotation: &Expr) -> bool {
        match &annotation.kind {
            ExprKind::Str(text) => text.rsplit('.').next() == Some("constexpr"),
            _ => self.path(annotation).is_some_and(|path| path == "triton.language.constexpr"),
        }
    }

    /// The value of `tl.constexpr(value)`.
    fn constexpr(&self, expr: &Expr) -> Option<Constant> {
        let ExprKind::Call { func, args, .. } = &expr.kind else { return None };
        if !self.is_constexpr(func) {
            return None;
        }
        self.constant(args.first()?)
    }

    /// The value of an expression over constants of the module.
    fn constant(&self, expr: &Expr) -> Option<Constant> {
        let known: BTreeMap<String, Constant> = self
            .globals
            .iter()
            .filter_map(|(name, global)| match global {
                Global::Constexpr(value) => Some(((*name).to_owned(), value.clone())),
                _ => None,
            })
            .collect();
        eval::evaluate(&self.file, expr, &known).ok()
    }

    /// The kernel of a name.
    pub fn entry(&self, module: &'a Module, name: &str) -> Result<&'a FunctionDef> {
        match self.globals.get(name) {
            Some(Global::Jit(function)) => Ok(function),
            Some(Global::Plain(span)) => Err(Box::new(
                Diagnostic::new(&codes::KERNEL_ENTRY, format!("`{name}` is not decorated with @triton.jit"))
                    .at(&self.file, *span),
            )),
            Some(Global::Import(_) | Global::Constexpr(_) | Global::Other(_)) | None => {
                let jits = self.globals.iter().filter(|(_, global)| matches!(global, Global::Jit(_)));
                let jits: Vec<&str> = jits.map(|(name, _)| *name).collect();
                let known = if jits.is_empty() { "none".to_owned() } else { jits.join(", ") };
                Err(Box::new(
                    Diagnostic::new(&codes::KERNEL_ENTRY, format!("no kernel `{name}`"))
                        .in_file(module.file.name())
                        .note(format!("@triton.jit functions of the file: {known}")),
                ))
            }
        }
    }
}

/// The type that a member of `triton.language` names: `float32`, `int1`, `uint8`.
pub fn dtype_named(member: &str) -> Option<Val<'static>> {
    DType::ALL.into_iter().find(|d| d.triton_name() == member).map(|d| Val::Type(Scalar::Num(d)))
}
