//! The module-level names of one file: imports, functions, values, and those that stand under an `if`
//! or in a `try`.
//!
//! Nothing is computed here: a name leads to the piece of syntax that defines it, and `globals`
//! evaluates that when a kernel reads it. Later definitions replace earlier ones, as when Python runs
//! the file from top to bottom. Imports are kept as full dotted names (`tl` is `triton.language`), relative
//! ones below the package of the file.
//!
//! Does not catch: names that loops, `with`, `del` or functions of the module define.

use std::collections::{BTreeMap, BTreeSet};

use super::dialect::is_dialect;
use super::types::Scalar;
use super::value::Val;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Module, Stmt, StmtKind};
use crate::syntax::imports::handed_on;

/// What defines a module-level name.
#[derive(Clone, Debug)]
pub enum Global<'a> {
    /// `import a.b as name`: a module, by full dotted name.
    Import(String),
    /// `from module import member`.
    Member {
        module: String,
        member: String,
        span: Span,
    },
    /// A function, with or without `@triton.jit`.
    Function(&'a FunctionDef),
    /// `NAME = value`, `NAME: annotation = value`.
    Value {
        value: &'a Expr,
        annotation: Option<&'a Expr>,
        span: Span,
    },
    /// One of several names that are unpacked from a tuple.
    Item {
        value: &'a Expr,
        index: usize,
        span: Span,
    },
    Class {
        name: &'a str,
        body: &'a [Stmt],
        span: Span,
    },
    /// Defined under a condition, in one way or the other.
    Branch {
        test: &'a Expr,
        then: Option<Box<Global<'a>>>,
        other: Option<Box<Global<'a>>>,
    },
    /// `try: first … except: second`: the first that there is.
    Either(Box<Global<'a>>, Box<Global<'a>>),
}

type Globals<'a> = BTreeMap<&'a str, Global<'a>>;

pub struct Names<'a> {
    /// Whether the file is in the emulator dialect: functions need no decorator there, and constants no `tl.constexpr`.
    pub dialect: bool,
    globals: Globals<'a>,
    /// The dotted name of the package that relative imports start from; empty outside any.
    package: String,
}

/// The test that stands for a `try` once it is rewritten as an `if` (see `sources`).
pub const TRY: &str = "try";

/// Where the modules are kept whose every name is imported: `from m import *`.
pub const STAR: &str = "*";

/// Globals that read each other more deeply than this are not followed.
const MAX_READS: usize = 32;

impl<'a> Names<'a> {
    /// `package` is the dotted name of the folder that the file is in.
    pub fn of(module: &'a Module, package: &str) -> Names<'a> {
        let mut names = Names { dialect: is_dialect(module), globals: BTreeMap::new(), package: package.to_owned() };
        let mut globals = BTreeMap::new();
        names.walk(&module.body, &mut globals, &mut BTreeSet::new());
        names.globals = globals;
        names
    }

    /// Adds the names that statements define to those known before them.
    fn walk(&self, stmts: &'a [Stmt], known: &mut Globals<'a>, defined: &mut BTreeSet<&'a str>) {
        for stmt in stmts {
            let mut define = |name: &'a str, global: Global<'a>| {
                defined.insert(name);
                known.insert(name, global);
            };
            match &stmt.kind {
                StmtKind::Import(list) => {
                    for (path, alias) in list {
                        let root = path.split('.').next().unwrap_or(path);
                        match alias {
                            Some(alias) => define(alias, Global::Import(path.clone())),
                            None => define(root, Global::Import(root.to_owned())),
                        };
                    }
                }
                StmtKind::ImportFrom { module, names: list, level } => {
                    let written = module;
                    let module = self.absolute(module, *level);
                    for (name, alias) in list {
                        let shown = alias.as_ref().unwrap_or(name);
                        defined.insert(shown);
                        if let Some(path) = handed_on(written, name) {
                            known.insert(shown, Global::Import(path.to_owned()));
                            continue;
                        }
                        let member = Global::Member { module: module.clone(), member: name.clone(), span: stmt.span };
                        let before = if name == STAR { known.remove(STAR) } else { None };
                        let member = match before {
                            Some(before) => Global::Either(Box::new(member), Box::new(before)),
                            None => member,
                        };
                        known.insert(shown, member);
                    }
                }
                StmtKind::Function(function) => {
                    define(&function.name, Global::Function(function));
                }
                StmtKind::Assign { targets, value } => {
                    for target in targets {
                        match &target.kind {
                            ExprKind::Name(name) => {
                                define(name, Global::Value { value, annotation: None, span: stmt.span });
                            }
                            ExprKind::Tuple(items) => {
                                for (index, item) in items.iter().enumerate() {
                                    if let Some(name) = item.as_name() {
                                        define(name, Global::Item { value, index, span: stmt.span });
                                    }
                                }
                            }
                            _ => {}
                        }
                    }
                }
                StmtKind::AnnAssign { target, annotation, value } => {
                    if let (Some(name), Some(value)) = (target.as_name(), value) {
                        define(name, Global::Value { value, annotation: Some(annotation), span: stmt.span });
                    }
                }
                StmtKind::Class { name, body, .. } => {
                    define(name, Global::Class { name, body, span: stmt.span });
                }
                StmtKind::If { test, body, orelse } => {
                    let is_try = matches!(&test.kind, ExprKind::Other(what) if *what == TRY);
                    let (mut then, mut other) = (known.clone(), known.clone());
                    let mut inside = BTreeSet::new();
                    self.walk(body, &mut then, &mut inside);
                    self.walk(orelse, &mut other, &mut inside);
                    for &name in &inside {
                        let global = match (then.remove(name), other.remove(name)) {
                            (Some(a), Some(b)) if is_try => Global::Either(Box::new(a), Box::new(b)),
                            (Some(a), None) | (None, Some(a)) if is_try => a,
                            (a, b) => Global::Branch { test, then: a.map(Box::new), other: b.map(Box::new) },
                        };
                        known.insert(name, global);
                    }
                    defined.extend(inside);
                }
                StmtKind::AugAssign { .. }
                | StmtKind::Expr(_)
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
    }

    /// The full dotted name of an imported module; `level` counts leading dots.
    pub fn absolute(&self, module: &str, level: u32) -> String {
        let Some(up) = (level as usize).checked_sub(1) else { return module.to_owned() };
        let mut parts: Vec<&str> = self.package.split('.').filter(|part| !part.is_empty()).collect();
        parts.truncate(parts.len().saturating_sub(up));
        parts.extend((!module.is_empty()).then_some(module));
        parts.join(".")
    }

    pub fn get(&self, name: &str) -> Option<&Global<'a>> {
        self.globals.get(name)
    }

    /// The full dotted name of an expression that is names and attributes under an import.
    pub fn path(&self, expr: &Expr) -> Option<String> {
        match &expr.kind {
            ExprKind::Name(name) => path_of(self.globals.get(name.as_str())?),
            ExprKind::Attribute { value, name } => Some(format!("{}.{name}", self.path(value)?)),
            _ => None,
        }
    }

    /// The full dotted name of what a decorator calls or is.
    pub fn decorator(&self, decorator: &Expr) -> Option<String> {
        match &decorator.kind {
            ExprKind::Call { func, .. } => self.path(func),
            _ => self.path(decorator),
        }
    }

    /// Whether a function is a kernel or a helper: `@triton.jit`, `@triton.jit(…)`, among others.
    pub fn is_jit(&self, function: &FunctionDef) -> bool {
        let jit = |path: String| matches!(path.as_str(), "triton.jit" | "triton.runtime.jit" | "triton.runtime.jit.jit");
        self.dialect || function.decorators.iter().any(|d| self.decorator(d).is_some_and(jit))
    }

    /// Whether kernels may call a function of constexprs: `@triton.constexpr_function`, or
    /// `@tl.constexpr`.
    pub fn is_constexpr_function(&self, function: &FunctionDef) -> bool {
        let known =
            |path: String| is_constexpr_path(&path) || (path.starts_with("triton.") && path.ends_with(".constexpr_function"));
        function.decorators.iter().any(|d| self.decorator(d).is_some_and(known))
    }

    /// Whether an annotation says `tl.constexpr`.
    pub fn is_constexpr(&self, annotation: &Expr) -> bool {
        match &annotation.kind {
            ExprKind::Str(text) => text.rsplit('.').next() == Some("constexpr"),
            _ => self.path(annotation).is_some_and(|path| is_constexpr_path(&path)),
        }
    }

    /// Whether a module-level expression makes a `tl.constexpr`: one is called, or read.
    pub fn makes_constexpr(&self, expr: &Expr) -> bool {
        self.constexpr_within(expr, MAX_READS)
    }

    fn constexpr_within(&self, expr: &Expr, reads: usize) -> bool {
        let Some(fewer) = reads.checked_sub(1) else { return false };
        match &expr.kind {
            ExprKind::Call { func, .. } => self.is_constexpr(func),
            ExprKind::Name(name) => match self.globals.get(name.as_str()) {
                Some(Global::Value { value, annotation, .. }) => {
                    annotation.is_some_and(|a| self.is_constexpr(a)) || self.constexpr_within(value, fewer)
                }
                _ => false,
            },
            ExprKind::Unary(_, operand) => self.constexpr_within(operand, fewer),
            ExprKind::Binary(_, left, right) => self.constexpr_within(left, fewer) || self.constexpr_within(right, fewer),
            ExprKind::Conditional { test: _, then, other } => {
                self.constexpr_within(then, fewer) || self.constexpr_within(other, fewer)
            }
            _ => false,
        }
    }

    /// The kernel of a name.
    pub fn entry(&self, module: &'a Module, name: &str) -> Result<&'a FunctionDef> {
        let function = self.globals.get(name).and_then(function_of);
        if let Some(function) = function {
            if self.is_jit(function) {
                return Ok(function);
            }
            // A wrapper may take the kernel's name once something else holds the kernel.
            let shadowed = module.body.iter().rev().find_map(|stmt| match &stmt.kind {
                StmtKind::Function(f) if f.name == name && self.is_jit(f) => Some(f),
                _ => None,
            });
            if let Some(shadowed) = shadowed {
                return Ok(shadowed);
            }
            return Err(Box::new(
                Diagnostic::new(&codes::KERNEL_ENTRY, format!("`{name}` is not decorated with @triton.jit"))
                    .at(&module.file, function.name_span),
            ));
        }
        let jits = self.globals.iter().filter(|(_, g)| function_of(g).is_some_and(|f| self.is_jit(f)));
        let jits: Vec<&str> = jits.map(|(name, _)| *name).collect();
        let known = if jits.is_empty() { "none".to_owned() } else { jits.join(", ") };
        Err(Box::new(
            Diagnostic::new(&codes::KERNEL_ENTRY, format!("no kernel `{name}`"))
                .in_file(module.file.name())
                .note(format!("@triton.jit functions of the file: {known}")),
        ))
    }
}

/// `tl.constexpr`, under each of its names.
pub fn is_constexpr_path(path: &str) -> bool {
    matches!(path, "triton.language.constexpr" | "triton.language.core.constexpr")
}

fn path_of(global: &Global<'_>) -> Option<String> {
    match global {
        Global::Import(path) => Some(path.clone()),
        Global::Member { module, member, .. } => Some(format!("{module}.{member}")),
        Global::Branch { then, other, .. } => then.as_deref().or(other.as_deref()).and_then(path_of),
        Global::Either(first, _) => path_of(first),
        Global::Function(_) | Global::Value { .. } | Global::Item { .. } | Global::Class { .. } => None,
    }
}

/// The function behind a name; of two under a condition, the first.
fn function_of<'a>(global: &Global<'a>) -> Option<&'a FunctionDef> {
    match global {
        Global::Function(function) => Some(function),
        Global::Branch { then, other, .. } => {
            then.as_deref().and_then(function_of).or_else(|| other.as_deref().and_then(function_of))
        }
        Global::Either(first, second) => function_of(first).or_else(|| function_of(second)),
        Global::Import(_) | Global::Member { .. } | Global::Value { .. } | Global::Item { .. } | Global::Class { .. } => None,
    }
}

/// The type that a member of `triton.language` names: `float32`, `int1`, `uint8`.
pub fn dtype_named(member: &str) -> Option<Val<'static>> {
    DType::ALL.into_iter().find(|d| d.triton_name() == member).map(|d| Val::Type(Scalar::Num(d)))
}
