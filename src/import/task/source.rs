//! What a task's text says: its class with `__init__` and `forward`, and what of the rest `__init__` and the signature of
//! `forward` need.
//!
//! Not followed: names that are looked up in strings (`getattr`, `globals()`).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diag::{Diagnostic, Result, codes};
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Module, Stmt, StmtKind};
use crate::syntax::parse_module;
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

/// A task's text, parsed.
#[derive(Clone, Debug)]
pub struct Source {
    pub class: String,
    pub module: Arc<Module>,
}

/// A module-level statement that others need.
#[derive(Clone, Debug)]
pub struct Needed<'a> {
    pub stmt: &'a Stmt,
    /// Whether it binds a name by an import.
    pub is_import: bool,
}

impl Needed<'_> {
    /// What it binds.
    pub fn names(&self) -> Vec<String> {
        bound(self.stmt)
    }
}

impl Source {
    /// # Errors
    /// S001 where the text is no Python, U010 where it lacks the class, or the class its `forward`.
    pub fn parse(file: &str, text: String, class: String) -> Result<Source> {
        let module = Arc::new(parse_module(&SourceFile::new(file, &text))?);
        let source = Source { class, module };
        if source.body().is_none() {
            return Err(source.lacks(format!("there is no class {}", source.class)));
        }
        if source.method("forward").is_none() {
            return Err(source.lacks(format!("class {} has no method forward", source.class)));
        }
        Ok(source)
    }

    /// Whether the task's module binds a name.
    pub fn defines(&self, name: &str) -> bool {
        binding(&self.module, name).is_some()
    }

    /// What the task's module imports, by the first parts of their names.
    pub fn imported_roots(&self) -> BTreeSet<String> {
        let mut roots = BTreeSet::new();
        for stmt in &self.module.body {
            match &stmt.kind {
                StmtKind::Import(list) => roots.extend(list.iter().map(|(path, _)| root(path))),
                StmtKind::ImportFrom { module, .. } => drop(roots.insert(root(module))),
                _ => {}
            }
        }
        roots
    }

    fn lacks(&self, what: String) -> Box<Diagnostic> {
        let help = "a task has a class with __init__ and forward, get_inputs() and get_init_inputs()";
        Box::new(Diagnostic::new(&codes::TASK_INVALID, what).in_file(self.module.file.name()).help(help))
    }

    fn body(&self) -> Option<&[Stmt]> {
        self.module.body.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Class { name, body, .. } if *name == self.class => Some(body.as_slice()),
            _ => None,
        })
    }

    /// A method of the class.
    pub fn method(&self, name: &str) -> Option<&FunctionDef> {
        self.body()?.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Function(def) if def.name == name => Some(def),
            _ => None,
        })
    }

    pub fn init(&self) -> Option<&FunctionDef> {
        self.method("__init__")
    }

    pub fn forward(&self) -> &FunctionDef {
        self.method("forward").expect("invariant: a source has a forward, checked when it was parsed")
    }

    /// The text of a span.
    pub fn text(&self, span: Span) -> &str {
        self.module.file.slice(span)
    }

    /// The class's other methods that `__init__` calls, at once or through others, in the order of the text.
    pub fn helpers(&self) -> Vec<&Stmt> {
        let methods = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Function(def) if !["__init__", "forward"].contains(&def.name.as_str()) => Some(def.name.clone()),
            _ => None,
        };
        let body = self.body().unwrap_or_default();
        let mut called = BTreeSet::new();
        let mut open: Vec<&[Stmt]> = self.init().map(|init| init.body.as_slice()).into_iter().collect();
        while let Some(block) = open.pop() {
            for name in attributes_of_self(block) {
                let found = body.iter().find(|stmt| methods(stmt).as_deref() == Some(&name));
                if let Some(StmtKind::Function(def)) = found.map(|stmt| &stmt.kind)
                    && called.insert(name)
                {
                    open.push(&def.body);
                }
            }
        }
        body.iter().filter(|stmt| methods(stmt).is_some_and(|name| called.contains(&name))).collect()
    }

    /// Module-level statements that bind names which `__init__`, its helpers and the signature of `forward` use, at once or
    /// through one another, in the order of the text.
    pub fn needed(&self) -> Vec<Needed<'_>> {
        let mut wanted = BTreeSet::new();
        if let Some(init) = self.init() {
            of_function(init, &mut wanted);
        }
        for helper in self.helpers() {
            of_statement(helper, &mut wanted);
        }
        of_signature(self.forward(), &mut wanted);
        let mut taken: BTreeSet<usize> = BTreeSet::new();
        loop {
            let before = taken.len();
            for (at, stmt) in self.module.body.iter().enumerate() {
                let own = matches!(&stmt.kind, StmtKind::Class { name, .. } if *name == self.class);
                if !own && bound(stmt).iter().any(|name| wanted.contains(name)) && taken.insert(at) {
                    of_statement(stmt, &mut wanted);
                }
            }
            if taken.len() == before {
                break;
            }
        }
        let stmts = taken.into_iter().map(|at| &self.module.body[at]);
        let is_import = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Import(_) | StmtKind::ImportFrom { .. });
        stmts.map(|stmt| Needed { stmt, is_import: is_import(stmt) }).collect()
    }
}

/// The module-level statement that binds a name.
pub fn binding<'m>(module: &'m Module, name: &str) -> Option<&'m Stmt> {
    module.body.iter().rfind(|stmt| bound(stmt).iter().any(|own| own == name))
}

/// Names that a statement reads and that its own functions do not bind, `forward` of a class excepted.
pub fn reads(stmt: &Stmt) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    of_statement(stmt, &mut names);
    names
}

/// Names that a statement binds, those of `for` excepted.
fn bound(stmt: &Stmt) -> Vec<String> {
    match &stmt.kind {
        StmtKind::Import(list) => list.iter().map(|(path, alias)| alias.clone().unwrap_or_else(|| root(path))).collect(),
        StmtKind::ImportFrom { names, .. } => names.iter().map(|(name, alias)| alias.as_ref().unwrap_or(name).clone()).collect(),
        StmtKind::Function(def) => vec![def.name.clone()],
        StmtKind::Class { name, .. } => vec![name.clone()],
        StmtKind::Assign { targets, .. } => {
            let mut names = Vec::new();
            targets.iter().for_each(|target| of_target(target, &mut names));
            names
        }
        _ => Vec::new(),
    }
}

/// The first part of a dotted name.
fn root(path: &str) -> String {
    path.split('.').next().unwrap_or(path).to_owned()
}

/// Names that an assignment to a target binds.
fn of_target(target: &Expr, names: &mut Vec<String>) {
    match &target.kind {
        ExprKind::Name(name) => names.push(name.clone()),
        ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().for_each(|item| of_target(item, names)),
        ExprKind::Starred(inner) => of_target(inner, names),
        _ => {}
    }
}

/// Names that an expression reads.
fn of_expr(expr: &Expr, names: &mut BTreeSet<String>) {
    each_expr(expr, &mut |e| names.extend(e.as_name().map(str::to_owned)));
}

fn of_signature(def: &FunctionDef, names: &mut BTreeSet<String>) {
    let parts = def.params.iter().flat_map(|param| param.annotation.iter().chain(&param.default));
    parts.chain(&def.returns).for_each(|part| of_expr(part, names));
}

/// Names that a function reads and does not bind itself.
fn of_function(def: &FunctionDef, names: &mut BTreeSet<String>) {
    of_signature(def, names);
    def.decorators.iter().for_each(|decorator| of_expr(decorator, names));
    let (mut read, mut own) = (BTreeSet::new(), BTreeSet::new());
    def.body.iter().for_each(|stmt| of_statement(stmt, &mut read));
    own.extend(def.params.iter().map(|param| param.name.clone()));
    each_stmt(&def.body, &mut |stmt| {
        own.extend(bound(stmt));
        if let StmtKind::For { target, .. } = &stmt.kind {
            of_expr(target, &mut own);
        }
    });
    names.extend(read.difference(&own).cloned());
}

/// Names that a statement reads, `forward` of a class excepted.
fn of_statement(stmt: &Stmt, names: &mut BTreeSet<String>) {
    match &stmt.kind {
        StmtKind::Function(def) => of_function(def, names),
        StmtKind::Class { name: _, decorators, bases, keywords, body } => {
            decorators.iter().chain(bases).for_each(|e| of_expr(e, names));
            keywords.iter().for_each(|keyword| of_expr(&keyword.value, names));
            let kept = |stmt: &&Stmt| !is_forward(stmt);
            body.iter().filter(kept).for_each(|stmt| of_statement(stmt, names));
        }
        _ => each_stmt(std::slice::from_ref(stmt), &mut |stmt| own_exprs(stmt).into_iter().for_each(|e| of_expr(e, names))),
    }
}

/// Whether a statement of a class is its `forward`.
pub fn is_forward(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Function(def) if def.name == "forward")
}

/// Whether a statement is `super().__init__()`, in any of its forms.
pub fn is_super_init(stmt: &Stmt) -> bool {
    let StmtKind::Expr(e) = &stmt.kind else { return false };
    let ExprKind::Call { func, .. } = &e.kind else { return false };
    let ExprKind::Attribute { value, name } = &func.kind else { return false };
    let of_super = |e: &ExprKind| matches!(e, ExprKind::Call { func, .. } if func.as_name() == Some("super"));
    name == "__init__" && of_super(&value.kind)
}

/// Names behind `self.` in a block.
pub fn attributes_of_self(block: &[Stmt]) -> Vec<String> {
    let mut names = Vec::new();
    each_stmt(block, &mut |stmt| {
        for e in own_exprs(stmt) {
            each_expr(e, &mut |e| {
                if let ExprKind::Attribute { value, name } = &e.kind
                    && value.as_name() == Some("self")
                {
                    names.push(name.clone());
                }
            });
        }
    });
    names
}
