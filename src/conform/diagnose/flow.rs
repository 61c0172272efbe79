//! What each line of a kernel flows into: the address, mask, `other` or value of which load or store.
//!
//! A backward slice (Weiser 1981) over names, from every part of every access of a kernel and the
//! helpers that it calls: the definitions of a part's names, those of the names in them, and so on,
//! with the number of steps. Arguments of a helper's call define its parameters; the header of a
//! loop or branch flows into what its block assigns. A loaded value ends a slice: what its address is
//! made of flows into that load's address.
//!
//! Order is not regarded (every definition of a name counts), nor are kernels that pass pointers
//! through memory.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Module, Stmt, StmtKind};
use crate::syntax::walk::each_expr;

/// One part of an access; the number is the access's, into [`Flow::accesses`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sink {
    Address(usize),
    Mask(usize),
    /// What stands in masked lanes of a load.
    Other(usize),
    /// What is stored.
    Value(usize),
}

impl Sink {
    /// The access that it is a part of.
    pub fn access(self) -> usize {
        match self {
            Sink::Address(access) | Sink::Mask(access) | Sink::Other(access) | Sink::Value(access) => access,
        }
    }
}

/// One load or store.
#[derive(Clone, Debug)]
pub struct Access {
    pub store: bool,
    /// The entry's parameter behind its pointer, when it can be told.
    pub param: Option<String>,
    /// Into [`Flow::lines`].
    pub line: usize,
}

/// A simple statement, or the header of a compound one.
#[derive(Clone, Debug)]
pub struct Line<'m> {
    pub span: Span,
    pub stmt: &'m Stmt,
    /// Steps to each part that it flows into; 0: it holds the part.
    pub reaches: BTreeMap<Sink, usize>,
    /// How many loops are around it.
    pub depth: usize,
    /// Whether it calls a helper of the module.
    pub calls_helper: bool,
}

/// A kernel's lines and accesses.
pub struct Flow<'m> {
    pub lines: Vec<Line<'m>>,
    pub accesses: Vec<Access>,
}

/// A name of a function.
type Name = (String, String);

/// One definition: the names that it is made of.
struct Definition {
    line: usize,
    uses: BTreeSet<Name>,
}

struct Builder<'m> {
    module: &'m Module,
    flow: Flow<'m>,
    definitions: BTreeMap<Name, Vec<Definition>>,
    /// Names in each part of each access.
    parts: Vec<(Sink, usize, BTreeSet<Name>)>,
    /// Functions whose body was read.
    read: BTreeSet<String>,
    /// Pointer names of accesses, to be resolved through calls.
    pointers: Vec<Name>,
}

impl<'m> Flow<'m> {
    /// Of `entry` and the helpers that it calls; empty when the module does not define it.
    pub fn of(module: &'m Module, entry: &str) -> Flow<'m> {
        let mut builder = Builder {
            module,
            flow: Flow { lines: Vec::new(), accesses: Vec::new() },
            definitions: BTreeMap::new(),
            parts: Vec::new(),
            read: BTreeSet::new(),
            pointers: Vec::new(),
        };
        if let Some(function) = find(module, entry) {
            builder.function(function);
        }
        builder.finish(entry)
    }
}

fn find<'m>(module: &'m Module, name: &str) -> Option<&'m FunctionDef> {
    module.body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Function(f) if f.name == name => Some(f),
        _ => None,
    })
}

impl<'m> Builder<'m> {
    fn function(&mut self, function: &'m FunctionDef) {
        if self.read.insert(function.name.clone()) {
            self.block(&function.name, &function.body, 0, &BTreeSet::new(), &mut Vec::new());
        }
    }

    /// `control`: names that decide whether the block runs; `headers`: lines of the headers around it.
    fn block(&mut self, function: &str, block: &'m [Stmt], depth: usize, control: &BTreeSet<Name>, headers: &mut Vec<usize>) {
        for stmt in block {
            let line = self.flow.lines.len();
            self.flow.lines.push(Line { span: header(stmt), stmt, reaches: BTreeMap::new(), depth, calls_helper: false });
            match &stmt.kind {
                StmtKind::Assign { targets, value } => {
                    let mut uses = self.names(function, value);
                    for target in targets.iter().filter_map(Expr::as_name) {
                        self.define(function, target, line, uses.clone(), control, headers);
                    }
                    // Several names on the left share what is on the right.
                    for target in targets.iter().filter(|t| t.as_name().is_none()) {
                        let names = self.names(function, target);
                        uses.extend(names.iter().cloned());
                        for (_, name) in names {
                            self.define(function, &name, line, uses.clone(), control, headers);
                        }
                    }
                    self.expression(function, value, line);
                }
                StmtKind::AnnAssign { target, annotation: _, value } => {
                    let uses = value.as_ref().map_or_else(BTreeSet::new, |value| self.names(function, value));
                    target
                        .as_name()
                        .into_iter()
                        .for_each(|name| self.define(function, name, line, uses.clone(), control, headers));
                    value.iter().for_each(|value| self.expression(function, value, line));
                }
                StmtKind::AugAssign { target, op: _, value } => {
                    let uses = self.names(function, value);
                    target
                        .as_name()
                        .into_iter()
                        .for_each(|name| self.define(function, name, line, uses.clone(), control, headers));
                    self.expression(function, value, line);
                }
                StmtKind::Expr(value) => self.expression(function, value, line),
                StmtKind::Return(value) => value.iter().for_each(|value| self.expression(function, value, line)),
                StmtKind::For { target, iter, body, orelse } => {
                    let uses = self.names(function, iter);
                    target
                        .as_name()
                        .into_iter()
                        .for_each(|name| self.define(function, name, line, uses.clone(), control, headers));
                    headers.push(line);
                    self.block(function, body, depth + 1, &control.union(&uses).cloned().collect(), headers);
                    headers.pop();
                    self.block(function, orelse, depth, control, headers);
                }
                StmtKind::If { test, body, orelse } | StmtKind::While { test, body, orelse } => {
                    let inner = control.union(&self.names(function, test)).cloned().collect();
                    headers.push(line);
                    self.block(function, body, depth, &inner, headers);
                    self.block(function, orelse, depth, &inner, headers);
                    headers.pop();
                }
                StmtKind::Import(_)
                | StmtKind::ImportFrom { .. }
                | StmtKind::Function(_)
                | StmtKind::Class { .. }
                | StmtKind::Raise(_)
                | StmtKind::Assert { .. }
                | StmtKind::Pass
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Other(_) => {}
            }
        }
    }

    fn define(
        &mut self,
        function: &str,
        name: &str,
        line: usize,
        uses: BTreeSet<Name>,
        control: &BTreeSet<Name>,
        headers: &[usize],
    ) {
        let key = (function.to_owned(), name.to_owned());
        let list = self.definitions.entry(key).or_default();
        list.push(Definition { line, uses });
        // A header decides how often, and whether, the name is bound.
        list.extend(headers.iter().map(|&line| Definition { line, uses: control.clone() }));
    }

    /// Names read by an expression, those inside loads excepted: a load ends a slice.
    fn names(&self, function: &str, expr: &Expr) -> BTreeSet<Name> {
        let mut found = BTreeSet::new();
        let mut hidden: Vec<Span> = Vec::new();
        each_expr(expr, &mut |e| {
            if let ExprKind::Call { func, .. } = &e.kind
                && called(func) == "load"
            {
                hidden.push(e.span);
            }
        });
        each_expr(expr, &mut |e| {
            if let Some(name) = e.as_name()
                && !hidden.iter().any(|h| h.start <= e.span.start && e.span.end <= h.end)
            {
                found.insert((function.to_owned(), name.to_owned()));
            }
        });
        found
    }

    /// Accesses and calls of helpers inside an expression of a line.
    fn expression(&mut self, function: &str, expr: &'m Expr, line: usize) {
        let mut calls: Vec<(&'m Expr, &'m [Expr], &'m [crate::syntax::ast::Keyword])> = Vec::new();
        each_expr(expr, &mut |e| {
            if let ExprKind::Call { func, args, keywords } = &e.kind {
                calls.push((func, args, keywords));
            }
        });
        for (func, args, keywords) in calls {
            let name = called(func);
            let keyword = |wanted: &str| keywords.iter().find(|k| k.name.as_deref() == Some(wanted)).map(|k| &k.value);
            match name.as_str() {
                "load" | "store" => {
                    let store = name == "store";
                    let Some(address) = args.first() else { continue };
                    let at = self.flow.accesses.len();
                    self.flow.accesses.push(Access { store, param: None, line });
                    self.pointers.push((function.to_owned(), leftmost(address).to_owned()));
                    self.parts.push((Sink::Address(at), line, self.names(function, address)));
                    let (mask, other) = if store { (args.get(2), None) } else { (args.get(1), args.get(2)) };
                    if let Some(mask) = keyword("mask").or(mask) {
                        self.parts.push((Sink::Mask(at), line, self.names(function, mask)));
                    }
                    if let Some(other) = keyword("other").or(other) {
                        self.parts.push((Sink::Other(at), line, self.names(function, other)));
                    }
                    if let Some(value) = keyword("value").or(args.get(1)).filter(|_| store) {
                        self.parts.push((Sink::Value(at), line, self.names(function, value)));
                    }
                }
                _ => {
                    let Some(helper) = func.as_name().and_then(|name| find(self.module, name)) else { continue };
                    self.flow.lines[line].calls_helper = true;
                    for (param, arg) in helper.params.iter().zip(args) {
                        let uses = self.names(function, arg);
                        self.define(&helper.name, &param.name, line, uses, &BTreeSet::new(), &[]);
                    }
                    for (name, value) in keywords.iter().filter_map(|k| Some((k.name.as_ref()?, &k.value))) {
                        let uses = self.names(function, value);
                        self.define(&helper.name, name, line, uses, &BTreeSet::new(), &[]);
                    }
                    self.function(helper);
                }
            }
        }
    }

    fn finish(mut self, entry: &str) -> Flow<'m> {
        for (sink, holder, names) in &self.parts {
            let mut seen: BTreeSet<&Name> = BTreeSet::new();
            let mut open: VecDeque<(&Name, usize)> = names.iter().map(|name| (name, 1)).collect();
            self.flow.lines[*holder].reaches.insert(*sink, 0);
            while let Some((name, steps)) = open.pop_front() {
                if !seen.insert(name) {
                    continue;
                }
                for definition in self.definitions.get(name).into_iter().flatten() {
                    let reached = self.flow.lines[definition.line].reaches.entry(*sink).or_insert(steps);
                    *reached = (*reached).min(steps);
                    open.extend(definition.uses.iter().map(|used| (used, steps + 1)));
                }
            }
        }
        for (access, pointer) in self.flow.accesses.iter_mut().zip(&self.pointers) {
            let mut name = pointer.clone();
            for _ in 0..8 {
                if name.0 == entry {
                    access.param = Some(name.1.clone());
                    break;
                }
                let Some(passed) = self.definitions.get(&name).and_then(|d| d.first()).and_then(|d| d.uses.first()) else {
                    break;
                };
                name = passed.clone();
            }
        }
        self.flow
    }
}

/// The last part of a dotted callee: `load` of `tl.load`.
pub fn called(func: &Expr) -> String {
    match &func.kind {
        ExprKind::Name(name) => name.clone(),
        ExprKind::Attribute { value: _, name } => name.clone(),
        _ => String::new(),
    }
}

/// The first name of an address: its pointer.
fn leftmost(address: &Expr) -> &str {
    match &address.kind {
        ExprKind::Binary(_, left, _) => leftmost(left),
        ExprKind::Name(name) => name,
        ExprKind::Subscript { value, .. } => leftmost(value),
        _ => "",
    }
}

/// A statement without the blocks inside it.
pub fn header(stmt: &Stmt) -> Span {
    match &stmt.kind {
        StmtKind::If { test: e, .. } | StmtKind::While { test: e, .. } | StmtKind::For { iter: e, .. } => {
            Span { start: stmt.span.start, end: e.span.end }
        }
        StmtKind::Import(_)
        | StmtKind::ImportFrom { .. }
        | StmtKind::Function(_)
        | StmtKind::Class { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AnnAssign { .. }
        | StmtKind::AugAssign { .. }
        | StmtKind::Expr(_)
        | StmtKind::Return(_)
        | StmtKind::Raise(_)
        | StmtKind::Assert { .. }
        | StmtKind::Pass
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Other(_) => stmt.span,
    }
}
