//! What a module-level name stands for when a kernel reads it: the syntax that defines it, evaluated in its
//! own module, through as many imports as it takes.
//!
//! Triton's rule for kernels: a global may be read if it is a `tl.constexpr`, a function, a type or a module. The rule
//! does not hold for attributes of modules (`consts.SIZE`), defaults of parameters and at module level. Names under an `if` of the module follow its
//! condition, evaluated for a CUDA host (`module_level`); where that is not known, the name is refused.

use super::names::{Global, STAR, dtype_named};
use super::sources::Found;
use super::value::Val;
use super::{Frame, Lower, builtins, module_level};
use crate::diag::{Place, Result};
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::Expr;

/// Globals that lead through more others than this are refused: they may read themselves.
const MAX_DEPTH: usize = 48;

/// Whether a name is imported from Triton. A kernel that is compiled has Triton, so the other way of a condition, which
/// does without, is not taken, whatever the condition asks.
fn of_triton(global: &Option<Box<Global<'_>>>) -> bool {
    match global.as_deref() {
        Some(Global::Import(path) | Global::Member { module: path, .. }) => path.split('.').next() == Some("triton"),
        _ => false,
    }
}

impl<'a> Lower<'a, '_> {
    /// A name of a module; `None` where the module does not define it.
    pub fn global(&mut self, span: Span, module: usize, name: &str) -> Result<Option<Val<'a>>> {
        let modules = self.modules;
        if let Some(at) = self.before.iter().rposition(|(m, known, _)| *m == module && known == name) {
            // What is read meanwhile was defined before this, too.
            let mut later = self.before.split_off(at);
            let value = match later[0].2.clone() {
                Some(global) => self.deeper(span, |l| l.global_value(span, module, name, &global)).map(Some),
                None => Ok(None),
            };
            self.before.append(&mut later);
            return value;
        }
        if let Some(global) = modules.names(module).get(name) {
            return self.global_value(span, module, name, global).map(Some);
        }
        let Some(stars) = modules.names(module).get(STAR) else { return Ok(None) };
        self.starred(span, module, name, stars)
    }

    /// A name that `from m import *` may bring.
    fn starred(&mut self, span: Span, module: usize, name: &str, stars: &Global<'a>) -> Result<Option<Val<'a>>> {
        match stars {
            Global::Either(first, second) => match self.starred(span, module, name, first)? {
                None => self.starred(span, module, name, second),
                found => Ok(found),
            },
            Global::Member { module: from, .. } => match self.modules.find(module, from) {
                Found::Loaded(loaded) => self.deeper(span, |l| l.global(span, loaded, name)),
                Found::Wanted => Err(self.waiting(span)),
                Found::Folder | Found::Nothing if from.starts_with("triton.language") => {
                    Ok(self.resolve(span, module, format!("{from}.{name}")).ok())
                }
                Found::Folder | Found::Nothing => Ok(None),
            },
            Global::Import(_)
            | Global::Function(_)
            | Global::Value { .. }
            | Global::Item { .. }
            | Global::Class { .. }
            | Global::Branch { .. } => Ok(None),
        }
    }

    fn global_value(&mut self, span: Span, module: usize, name: &str, global: &Global<'a>) -> Result<Val<'a>> {
        match global {
            Global::Import(path) => self.resolve(span, module, path.clone()),
            Global::Member { module: from, member, span: import } => self.member(span, module, from, member, *import),
            Global::Function(function) => {
                let names = self.modules.names(module);
                if names.is_jit(function) {
                    return Ok(Val::Function(function));
                }
                if self.host || self.through_module || names.is_constexpr_function(function) {
                    return Ok(Val::Host(function));
                }
                let mut diagnostic = self.rejected(span, format!("`{name}` is not a @triton.jit function"));
                diagnostic.related.push((Place::text(self.file(), function.name_span), "defined here".to_owned()));
                Err(diagnostic)
            }
            Global::Value { value, annotation, span: place } => {
                let names = self.modules.names(module);
                let readable = annotation.is_some_and(|a| names.is_constexpr(a)) || names.makes_constexpr(value);
                let known = self.at_module(span, module, |l| l.expr(value));
                self.readable(span, name, *place, readable, known)
            }
            Global::Item { value, index, span: place } => {
                let known = self.at_module(span, module, |l| match l.expr(value)? {
                    Val::Tuple(items) if *index < items.len() => Ok(items[*index].clone()),
                    other => Err(l.type_error(value.span, format!("cannot unpack {}", other.describe()))),
                });
                self.readable(span, name, *place, false, known)
            }
            Global::Class { name, body, .. } if self.host => Ok(Val::Class(name, body)),
            Global::Class { span: place, .. } => {
                let mut diagnostic = self.unsupported(span, format!("the class `{name}` in a kernel"));
                diagnostic.related.push((Place::text(self.file(), *place), "defined here".to_owned()));
                Err(diagnostic)
            }
            Global::Branch { test, then, other } => {
                let taken = match (of_triton(then), of_triton(other)) {
                    (true, false) => then,
                    (false, true) => other,
                    _ => {
                        // The condition reads the name as it was before.
                        self.before.push((module, name.to_owned(), other.as_deref().cloned()));
                        let holds = self.module_condition(span, module, test);
                        self.before.pop();
                        if holds? { then } else { other }
                    }
                };
                match taken {
                    Some(global) => self.deeper(span, |l| l.global_value(span, module, name, global)),
                    None => Err(self.rejected(span, format!("`{name}` is not defined: a condition of its module is false"))),
                }
            }
            Global::Either(first, second) => match self.deeper(span, |l| l.global_value(span, module, name, first)) {
                Err(_) if !self.modules.is_waiting() => self.deeper(span, |l| l.global_value(span, module, name, second)),
                outcome => outcome,
            },
        }
    }

    /// Applies the rule for globals that kernels read.
    fn readable(&self, span: Span, name: &str, place: Span, constexpr: bool, value: Result<Val<'a>>) -> Result<Val<'a>> {
        let plain = match &value {
            Ok(value) => !constexpr && matches!(value, Val::Const(_) | Val::Tuple(_) | Val::Dict(_)),
            // What is ours to lack is said, whatever the rule.
            Err(error) => !constexpr && !error.message.starts_with("`tl."),
        };
        let why = value.as_ref().err().map(|error| error.message.clone());
        if !plain || self.host || self.through_module || self.names().dialect || self.modules.is_waiting() {
            return value;
        }
        let mut diagnostic = self.rejected(span, format!("the global `{name}` is not a tl.constexpr"));
        diagnostic.related.push((Place::text(self.file(), place), "defined here".to_owned()));
        diagnostic.notes.extend(why.map(|why| format!("its value is not known: {why}")));
        diagnostic.help = Some(format!("write `{name} = tl.constexpr(…)`, or pass it as an argument"));
        Err(diagnostic)
    }

    /// Whether a condition of a module holds.
    fn module_condition(&mut self, span: Span, module: usize, test: &'a Expr) -> Result<bool> {
        let value = self.at_module(span, module, |l| l.expr(test))?;
        match value {
            Val::Const(constant) => Ok(constant.truthy()),
            Val::Tuple(items) => Ok(!items.is_empty()),
            Val::Function(_) | Val::Builtin(_) | Val::Type(_) | Val::Host(_) => Ok(true),
            other => Err(self.unsupported(test.span, format!("{} as a condition of a module", other.describe()))),
        }
    }

    /// Evaluates in the names of a module, by Python's rules and not by Triton's.
    pub fn at_module<T>(&mut self, span: Span, module: usize, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let scope = std::mem::take(&mut self.scope);
        let host = std::mem::replace(&mut self.host, true);
        let outer = std::mem::replace(&mut self.module, module);
        let frame = std::mem::replace(&mut self.frame, Frame { entry: false, loops: 0 });
        let outcome = self.deeper(span, work);
        self.frame = frame;
        self.module = outer;
        self.host = host;
        self.scope = scope;
        outcome
    }

    fn deeper<T>(&mut self, span: Span, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            return Err(self.unsupported(span, "globals that read each other too deeply"));
        }
        self.depth += 1;
        let outcome = work(self);
        self.depth -= 1;
        outcome
    }

    /// Lowering starts again once the wanted file is there; this message is never seen.
    fn waiting(&self, span: Span) -> Box<crate::diag::Diagnostic> {
        self.unsupported(span, "a module that is not loaded")
    }

    /// A member of a module: `from module import member`, or an attribute of it.
    pub fn member(&mut self, span: Span, from: usize, module: &str, member: &str, import: Span) -> Result<Val<'a>> {
        let full = if module.is_empty() { member.to_owned() } else { format!("{module}.{member}") };
        if module_level::is_foreign(module) {
            return self.resolve(span, from, full);
        }
        match self.modules.find(from, module) {
            Found::Loaded(loaded) => {
                if let Some(value) = self.deeper(span, |l| l.global(span, loaded, member))? {
                    return Ok(value);
                }
                if self.modules.exists(from, &full) {
                    return Ok(Val::Path(full));
                }
                let name = self.modules.module(loaded).file.name();
                let mut diagnostic = self.rejected(span, format!("`{member}` is not defined in {name}"));
                if import != span {
                    diagnostic.related.push((Place::text(self.file(), import), "imported here".to_owned()));
                }
                Err(diagnostic)
            }
            Found::Wanted => Err(self.waiting(span)),
            Found::Folder | Found::Nothing if self.modules.exists(from, &full) => Ok(Val::Path(full)),
            Found::Folder | Found::Nothing if self.host => Ok(Val::Path(full)),
            Found::Folder | Found::Nothing => Err(self.absent(span, &full)),
        }
    }

    /// A module that is no file and that we know nothing of.
    fn absent(&self, span: Span, path: &str) -> Box<crate::diag::Diagnostic> {
        let mut diagnostic =
            self.unsupported(span, format!("`{path}`, which is neither in a file beside the kernel nor part of triton.language"));
        diagnostic.help =
            Some("modules are looked for in the kernel's folder and in those above it, up to its package".to_owned());
        diagnostic
    }

    /// What a full dotted name stands for, as a module sees it.
    pub fn resolve(&mut self, span: Span, from: usize, path: String) -> Result<Val<'a>> {
        if let Some(member) = path.strip_prefix("triton.language.") {
            return self.triton_member(span, member, &path);
        }
        if let Some(known) = module_level::value(&path, self.host) {
            return Ok(known);
        }
        match path.as_str() {
            "triton.cdiv" | "triton.next_power_of_2" => {
                let name = path.rsplit('.').next().unwrap_or("");
                builtins::triton(name).map(Val::Builtin).ok_or_else(|| self.unsupported(span, format!("`{path}`")))
            }
            _ if module_level::is_module(&path) || self.host => Ok(Val::Path(path)),
            _ if !module_level::is_foreign(&path) && (!path.contains('.') || self.modules.exists(from, &path)) => {
                Ok(Val::Path(path))
            }
            _ => Err(self.absent(span, &path)),
        }
    }

    fn triton_member(&mut self, span: Span, member: &str, path: &str) -> Result<Val<'a>> {
        let name = match member.rsplit_once('.') {
            Some(("core" | "standard", name)) => name,
            _ => member,
        };
        if let Some(dtype) = dtype_named(name) {
            return Ok(dtype);
        }
        if let Some(builtin) = builtins::triton(member) {
            return Ok(Val::Builtin(builtin));
        }
        if builtins::is_module(member) {
            return Ok(Val::Path(path.to_owned()));
        }
        // Classes are named where values are asked what they are.
        if matches!(name, "tensor" | "tensor_descriptor" | "tensor_descriptor_base" | "tuple" | "dtype") {
            return Ok(Val::Path(format!("triton.language.{name}")));
        }
        // Triton's own constant for defaults of parameters.
        if name == "CONSTEXPR_0" {
            return Ok(Val::int(0));
        }
        // The members of an enumeration are known by name.
        if matches!(member, "PropagateNan.ALL" | "PropagateNan.NONE") {
            return Ok(Val::Const(Constant::Str(member.to_owned())));
        }
        if !builtins::exists(member) {
            return Err(self.rejected(span, format!("triton.language has no `{member}`")));
        }
        Err(self.unsupported(span, format!("`tl.{member}`")))
    }

    /// An attribute of a module that is known by its dotted name.
    pub fn path_attribute(&mut self, span: Span, path: &str, name: &str) -> Result<Val<'a>> {
        let from = self.module;
        if !module_level::is_foreign(path) {
            let outer = std::mem::replace(&mut self.through_module, true);
            let member = self.member(span, from, path, name, span);
            self.through_module = outer;
            return member;
        }
        self.resolve(span, from, format!("{path}.{name}"))
    }

    /// The defaults of parameters see the names of their module, and no others.
    pub fn default_value(&mut self, module: usize, default: &'a Expr) -> Result<Val<'a>> {
        self.at_module(default.span, module, |l| l.expr(default))
    }
}
