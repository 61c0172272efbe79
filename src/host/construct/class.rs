//! The class itself: what it derives from, its constants, and the call of its base's constructor.

use super::super::modules::{HostModule, literal, refuse};
use super::super::value::Value;
use super::CLASS;
use crate::diag::{self, Diagnostic, codes};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Stmt, StmtKind};
use crate::syntax::imports::Imports;

const MODULE: &str = "torch.nn.Module";

/// The class that answers a task.
pub struct Class<'m> {
    /// Where it is named.
    pub span: Span,
    body: &'m [Stmt],
}

impl<'m> Class<'m> {
    /// # Errors
    /// U008 without the class, H001 where it is not `class ModelNew(nn.Module)`.
    pub fn of(host: &'m HostModule) -> diag::Result<Class<'m>> {
        for stmt in &host.ast.body {
            let StmtKind::Class { name, decorators, bases, keywords, body } = &stmt.kind else { continue };
            if name != CLASS {
                continue;
            }
            let text = host.ast.file.slice(stmt.span);
            let head = text.find(&format!("class {CLASS}")).unwrap_or_default();
            let line = text[head..].lines().next().map_or(0, str::len);
            let span = Span { start: stmt.span.start + head as u32, end: stmt.span.start + (head + line) as u32 };
            let imports = Imports::of(&host.ast);
            let derives = |base: &Expr| imports.path(base).is_some_and(|path| path == MODULE);
            if !decorators.is_empty() || !keywords.is_empty() || bases.len() != 1 || !bases.iter().all(derives) {
                return Err(refuse(&host.ast, span, &format!("a `{CLASS}` other than `class {CLASS}(nn.Module)`")));
            }
            return Ok(Class { span, body });
        }
        let missing = Diagnostic::new(&codes::SUITE_INVALID, format!("no class {CLASS}")).in_file(host.ast.file.name());
        Err(Box::new(missing))
    }

    pub fn init(&self) -> Option<&'m FunctionDef> {
        self.body.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Function(def) if def.name == "__init__" => Some(def),
            _ => None,
        })
    }

    /// Attributes that the class has before anything is constructed.
    pub fn constants(&self) -> Vec<(String, Value<'static>)> {
        let constant = |stmt: &'m Stmt| match &stmt.kind {
            StmtKind::Assign { targets, value } => Some((targets.first()?.as_name()?, literal(value)?)),
            StmtKind::AnnAssign { target, annotation: _, value: Some(value) } => Some((target.as_name()?, literal(value)?)),
            _ => None,
        };
        let found = self.body.iter().filter_map(constant);
        found.map(|(name, value)| (name.to_owned(), Value::literal(&value))).collect()
    }
}

/// Of a call of an `__init__`: whether it is that of the class's base, as Python needs it once.
pub fn base_init(host: &HostModule, stmt: &Stmt) -> Option<bool> {
    let StmtKind::Expr(e) = &stmt.kind else { return None };
    let ExprKind::Call { func, args, keywords } = &e.kind else { return None };
    let ExprKind::Attribute { value: of, name } = &func.kind else { return None };
    if name != "__init__" {
        return None;
    }
    let own = |args: &[Expr], names: &[&str]| args.iter().map(Expr::as_name).eq(names.iter().map(|name| Some(*name)));
    let fits = match &of.kind {
        ExprKind::Call { func, args: given, keywords: named } if func.as_name() == Some("super") => {
            args.is_empty() && named.is_empty() && (given.is_empty() || own(given, &[CLASS, "self"]))
        }
        _ => Imports::of(&host.ast).path(of).is_some_and(|path| path == MODULE) && own(args, &["self"]),
    };
    Some(fits && keywords.is_empty())
}
