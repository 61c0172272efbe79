//! Syntax that the tree keeps only by name, read again from its place: comprehensions (lists of
//! autotune configurations are written with them) and `try` (how modules import what may be absent).
//!
//! Kernels and host code may have neither, so the tree has no node for them and every stage refuses
//! `Other` alike; the few readers of module-level Python ask here. `None` means that the place holds
//! something else.

use std::sync::Arc;

use ruff_python_ast as py;
use ruff_python_parser::Mode;
use ruff_text_size::TextRange;

use super::ast::{Expr, Stmt};
use super::parse::{Convert, parse};
use crate::diag::Result;
use crate::source::{SourceFile, Span};

/// `[element for target in iter if conditions …]`, or the same as a generator.
#[derive(Clone, Debug)]
pub struct Comprehension {
    pub element: Expr,
    /// Outermost first.
    pub clauses: Vec<Clause>,
}

#[derive(Clone, Debug)]
pub struct Clause {
    pub target: Expr,
    pub iter: Expr,
    pub conditions: Vec<Expr>,
}

/// `try: body except …: handler … else: orelse finally: finish`.
#[derive(Clone, Debug)]
pub struct Try {
    pub body: Vec<Stmt>,
    pub handlers: Vec<Vec<Stmt>>,
    pub orelse: Vec<Stmt>,
    pub finish: Vec<Stmt>,
}

/// The comprehension at a span of a file.
pub fn comprehension(file: &Arc<SourceFile>, place: Span) -> Result<Option<Comprehension>> {
    let range = TextRange::new(place.start.into(), place.end.into());
    // A generator that is a call's only argument has no parentheses of its own, and gets some.
    let (parsed, base) = match ruff_python_parser::parse_expression_range(file.text(), range) {
        Ok(parsed) => (parsed, 0),
        Err(_) => match ruff_python_parser::parse_expression(&format!("({})", file.slice(place))) {
            Ok(parsed) => (parsed, place.start.wrapping_sub(1)),
            Err(_) => return Ok(None),
        },
    };
    let (element, generators) = match &*parsed.syntax().body {
        py::Expr::ListComp(e) => (&e.elt, &e.generators),
        py::Expr::Generator(e) => (&e.elt, &e.generators),
        _ => return Ok(None),
    };
    let mut convert = Convert::at(base);
    let element = convert.expression(element);
    let mut clauses = Vec::with_capacity(generators.len());
    for generator in generators {
        let target = convert.expression(&generator.target);
        let iter = convert.expression(&generator.iter);
        let conditions = generator.ifs.iter().map(|e| convert.expression(e)).collect();
        clauses.push(Clause { target, iter, conditions });
    }
    convert.finish(file)?;
    Ok(Some(Comprehension { element, clauses }))
}

/// The `try` statement at a span of a file.
pub fn try_statement(file: &Arc<SourceFile>, place: Span) -> Result<Option<Try>> {
    // A statement that is indented is put under an `if`, at its own indentation.
    let start = place.start as usize;
    let line = file.text()[..start].rfind('\n').map_or(0, |i| i + 1);
    let indent = &file.text()[line..start];
    if !indent.trim().is_empty() {
        return Ok(None);
    }
    let head = if indent.is_empty() { "" } else { "if 1:\n" };
    let text = format!("{head}{indent}{}\n", file.slice(place));
    let base = place.start.wrapping_sub((head.len() + indent.len()) as u32);
    let piece = SourceFile::new(file.name(), text);
    let (syntax, _) = parse(&piece, Mode::Module)?;
    let py::Mod::Module(module) = &syntax else { return Ok(None) };
    let statement = match module.body.as_slice() {
        [py::Stmt::If(outer)] if !head.is_empty() => outer.body.first(),
        body => body.first(),
    };
    let Some(py::Stmt::Try(s)) = statement else { return Ok(None) };
    let mut convert = Convert::at(base);
    let handlers = s.handlers.iter().map(|py::ExceptHandler::ExceptHandler(h)| convert.statements(&h.body)).collect();
    let body = convert.statements(&s.body);
    let orelse = convert.statements(&s.orelse);
    let finish = convert.statements(&s.finalbody);
    convert.finish(&piece)?;
    Ok(Some(Try { body, handlers, orelse, finish }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::ast::{ExprKind, StmtKind};
    use crate::syntax::parse_module;

    #[test]
    fn spans_stay_offsets_into_the_whole_file() {
        let text = "\
x = [f(a) for a in A if a for b in (1, 2)]
try:
    import q
except ImportError:
    q = None
if c:
    try:
        y = 3
    finally:
        pass
";
        let file = SourceFile::new("m.py", text);
        let module = parse_module(&file).unwrap();
        let StmtKind::Assign { value, .. } = &module.body[0].kind else { panic!("not an assignment") };
        assert!(matches!(value.kind, ExprKind::Other("list comprehension")));
        let list = comprehension(&file, value.span).unwrap().unwrap();
        assert_eq!(file.slice(list.element.span), "f(a)");
        assert_eq!(file.slice(list.clauses[0].conditions[0].span), "a");
        assert_eq!(file.slice(list.clauses[1].iter.span), "(1, 2)");
        let first = try_statement(&file, module.body[1].span).unwrap().unwrap();
        assert_eq!(file.slice(first.body[0].span), "import q");
        assert_eq!(file.slice(first.handlers[0][0].span), "q = None");
        let StmtKind::If { body, .. } = &module.body[2].kind else { panic!("not an if") };
        let inner = try_statement(&file, body[0].span).unwrap().unwrap();
        assert_eq!(file.slice(inner.body[0].span), "y = 3");
        assert_eq!(file.slice(inner.finish[0].span), "pass");
        assert!(comprehension(&file, list.element.span).unwrap().is_none());
        assert!(try_statement(&file, module.body[0].span).unwrap().is_none());
    }
}
