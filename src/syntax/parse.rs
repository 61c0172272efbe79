//! ruff's syntax tree into ours: one function a kind of node.
//!
//! Spans are ruff's ranges: parentheses around an expression are not part of it, those of a tuple
//! are. Syntax that [`ast`] has no node for becomes `Other(name)` and is refused by whoever meets it.
//!
//! Does not catch: what Python itself finds only when it compiles or runs (`return` outside a
//! function, an undefined name).

use std::sync::Arc;

use ruff_python_ast as py;
use ruff_python_ast::token::{TokenKind, Tokens};
use ruff_python_parser::{Mode, ParseOptions};
use ruff_text_size::{Ranged, TextRange};

use super::ast::{
    BinaryOp, BoolOp, Comment, CompareOp, Expr, ExprKind, FStringPart, FunctionDef, Keyword, Module, Param, ParamKind, Stmt,
    StmtKind, UnaryOp,
};
use crate::diag::{Diagnostic, Result, codes};
use crate::source::{SourceFile, Span};

/// Statements and expressions nested deeper than this are refused: everything behind the parser
/// recurses over the tree, and a stack overflow cannot be caught. (ruff's own parser grows its stack.)
const MAX_NESTING: usize = 200;

/// Logical lines of more tokens than this are refused before their tree is walked or dropped.
const MAX_LINE_TOKENS: usize = 10_000;

/// Parses a whole file.
pub fn parse_module(file: &Arc<SourceFile>) -> Result<Module> {
    parse_joined(file, 0)
}

/// Parses a file that stands at an offset of a joined one: spans are offsets into that.
pub fn parse_joined(file: &Arc<SourceFile>, base: usize) -> Result<Module> {
    let base = u32::try_from(base).map_err(|_| too_large(file))?;
    let (syntax, tokens) = parse(file, Mode::Module)?;
    let py::Mod::Module(module) = &syntax else {
        return Err(Box::new(Diagnostic::new(&codes::INTERNAL, "the parser gave no module").in_file(file.name())));
    };
    let comments = tokens
        .iter()
        .filter(|token| token.kind() == TokenKind::Comment)
        .map(|token| {
            let span = span(token.range());
            let before = &file.text()[..span.start as usize];
            let line_start = before.rfind('\n').map_or(0, |i| i + 1);
            let own_line = before[line_start..].trim().is_empty();
            Comment { span: Span { start: span.start + base, end: span.end + base }, own_line }
        })
        .collect();
    let mut convert = Convert::at(base);
    let body = convert.statements(&module.body);
    convert.finish(file)?;
    Ok(Module { file: file.clone(), body, comments })
}

/// Parses a text that is one expression.
pub fn parse_expression(file: &Arc<SourceFile>) -> Result<Expr> {
    let (syntax, _) = parse(file, Mode::Expression)?;
    let py::Mod::Expression(module) = &syntax else {
        return Err(Box::new(Diagnostic::new(&codes::INTERNAL, "the parser gave no expression").in_file(file.name())));
    };
    let mut convert = Convert::default();
    let expr = convert.expression(&module.body);
    convert.finish(file)?;
    Ok(expr)
}

/// Parses the one expression that a span of a file holds; spans stay offsets into the whole file.
pub fn parse_expression_at(file: &Arc<SourceFile>, place: Span) -> Result<Expr> {
    if place.end - place.start > MAX_LINE_TOKENS as u32 {
        let message = format!("an expression of more than {MAX_LINE_TOKENS} characters");
        return Err(Box::new(Diagnostic::new(&codes::PYTHON_SYNTAX, message).at(file, place)));
    }
    let range = TextRange::new(place.start.into(), place.end.into());
    let parsed = ruff_python_parser::parse_expression_range(file.text(), range)
        .map_err(|error| Diagnostic::new(&codes::PYTHON_SYNTAX, error.error.to_string()).at(file, span(error.location)))?;
    let mut convert = Convert::default();
    let expr = convert.expression(&parsed.syntax().body);
    convert.finish(file)?;
    Ok(expr)
}

fn too_large(file: &Arc<SourceFile>) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&codes::PYTHON_SYNTAX, "files are larger than 4 GiB").in_file(file.name()))
}

pub(super) fn parse(file: &Arc<SourceFile>, mode: Mode) -> Result<(py::Mod, Tokens)> {
    if u32::try_from(file.text().len()).is_err() {
        return Err(too_large(file));
    }
    let parsed = ruff_python_parser::parse_unchecked(file.text(), ParseOptions::from(mode));
    let mut line_tokens = 0;
    for token in parsed.tokens() {
        line_tokens = if token.kind() == TokenKind::Newline { 0 } else { line_tokens + 1 };
        if line_tokens > MAX_LINE_TOKENS {
            let message = format!("a logical line has more than {MAX_LINE_TOKENS} tokens");
            let error = Diagnostic::new(&codes::PYTHON_SYNTAX, message).at(file, span(token.range()));
            // Dropping the tree would recurse as deeply as the line nests.
            std::mem::forget(parsed);
            return Err(Box::new(error));
        }
    }
    if let Some(error) = parsed.errors().first() {
        return Err(Box::new(Diagnostic::new(&codes::PYTHON_SYNTAX, error.error.to_string()).at(file, span(error.location))));
    }
    let tokens = parsed.tokens().clone();
    Ok((parsed.into_syntax(), tokens))
}

fn span(range: TextRange) -> Span {
    Span::new(range.start().to_usize(), range.end().to_usize())
}

/// Walks ruff's tree and notes where it nests too deeply.
#[derive(Default)]
pub(super) struct Convert {
    /// Added to ruff's offsets, modulo 2³².
    base: u32,
    depth: usize,
    too_deep: Option<Span>,
}

impl Convert {
    /// For a text that starts at an offset of the file it is told as.
    pub(super) fn at(base: u32) -> Convert {
        Convert { base, depth: 0, too_deep: None }
    }

    pub(super) fn span(&self, range: TextRange) -> Span {
        let local = span(range);
        Span { start: local.start.wrapping_add(self.base), end: local.end.wrapping_add(self.base) }
    }

    /// `file` is the text that was parsed.
    pub(super) fn finish(self, file: &Arc<SourceFile>) -> Result<()> {
        let base = self.base;
        match self.too_deep.map(|s| Span { start: s.start.wrapping_sub(base), end: s.end.wrapping_sub(base) }) {
            None => Ok(()),
            Some(span) => Err(Box::new(
                Diagnostic::new(&codes::PYTHON_SYNTAX, format!("nested more than {MAX_NESTING} deep")).at(file, span),
            )),
        }
    }

    /// Goes one level down, or notes that this is too deep.
    fn enter(&mut self, here: Span) -> bool {
        if self.depth == MAX_NESTING {
            self.too_deep.get_or_insert(here);
            return false;
        }
        self.depth += 1;
        true
    }

    pub(super) fn statements(&mut self, body: &[py::Stmt]) -> Vec<Stmt> {
        body.iter().map(|e| self.statement(e)).collect()
    }

    fn statement(&mut self, stmt: &py::Stmt) -> Stmt {
        if !self.enter(self.span(stmt.range())) {
            return Stmt { kind: StmtKind::Other("too deeply nested"), span: self.span(stmt.range()) };
        }
        let kind = match stmt {
            py::Stmt::Import(s) => StmtKind::Import(s.names.iter().map(alias).collect()),
            py::Stmt::ImportFrom(s) => StmtKind::ImportFrom {
                module: s.module.as_ref().map_or_else(String::new, ToString::to_string),
                names: s.names.iter().map(alias).collect(),
                level: s.level,
            },
            py::Stmt::FunctionDef(s) if s.is_async => StmtKind::Other("async def"),
            py::Stmt::FunctionDef(s) => StmtKind::Function(FunctionDef {
                name: s.name.to_string(),
                name_span: self.span(s.name.range()),
                params: self.parameters(&s.parameters),
                decorators: s.decorator_list.iter().map(|d| self.expression(&d.expression)).collect(),
                returns: s.returns.as_deref().map(|e| self.expression(e)),
                body: self.statements(&s.body),
                params_span: self.span(s.parameters.range()),
            }),
            py::Stmt::ClassDef(s) => StmtKind::Class {
                name: s.name.to_string(),
                decorators: s.decorator_list.iter().map(|d| self.expression(&d.expression)).collect(),
                bases: s.arguments.iter().flat_map(|a| a.args.iter()).map(|e| self.expression(e)).collect(),
                keywords: s.arguments.iter().flat_map(|a| self.keywords(&a.keywords)).collect(),
                body: self.statements(&s.body),
            },
            py::Stmt::Assign(s) => StmtKind::Assign {
                targets: s.targets.iter().map(|e| self.expression(e)).collect(),
                value: self.expression(&s.value),
            },
            py::Stmt::AnnAssign(s) => StmtKind::AnnAssign {
                target: self.expression(&s.target),
                annotation: self.expression(&s.annotation),
                value: s.value.as_deref().map(|e| self.expression(e)),
            },
            py::Stmt::AugAssign(s) => {
                StmtKind::AugAssign { target: self.expression(&s.target), op: binary_op(s.op), value: self.expression(&s.value) }
            }
            py::Stmt::Expr(s) => StmtKind::Expr(self.expression(&s.value)),
            py::Stmt::If(s) => self.if_statement(&s.test, &s.body, &s.elif_else_clauses),
            py::Stmt::For(s) if s.is_async => StmtKind::Other("async for"),
            py::Stmt::For(s) => StmtKind::For {
                target: self.expression(&s.target),
                iter: self.expression(&s.iter),
                body: self.statements(&s.body),
                orelse: self.statements(&s.orelse),
            },
            py::Stmt::While(s) => StmtKind::While {
                test: self.expression(&s.test),
                body: self.statements(&s.body),
                orelse: self.statements(&s.orelse),
            },
            py::Stmt::Return(s) => StmtKind::Return(s.value.as_deref().map(|e| self.expression(e))),
            py::Stmt::Raise(s) => StmtKind::Raise(s.exc.as_deref().map(|e| self.expression(e))),
            py::Stmt::Assert(s) => {
                StmtKind::Assert { test: self.expression(&s.test), message: s.msg.as_deref().map(|e| self.expression(e)) }
            }
            py::Stmt::Pass(_) => StmtKind::Pass,
            py::Stmt::Break(_) => StmtKind::Break,
            py::Stmt::Continue(_) => StmtKind::Continue,
            py::Stmt::Delete(_) => StmtKind::Other("del"),
            py::Stmt::TypeAlias(_) => StmtKind::Other("type alias"),
            py::Stmt::With(_) => StmtKind::Other("with"),
            py::Stmt::Match(_) => StmtKind::Other("match"),
            py::Stmt::Try(_) => StmtKind::Other("try"),
            py::Stmt::Global(_) => StmtKind::Other("global"),
            py::Stmt::Nonlocal(_) => StmtKind::Other("nonlocal"),
            py::Stmt::IpyEscapeCommand(_) => StmtKind::Other("notebook command"),
        };
        self.depth -= 1;
        Stmt { kind, span: self.span(stmt.range()) }
    }

    /// `elif` becomes an `if` that is alone in the else branch.
    fn if_statement(&mut self, test: &py::Expr, body: &[py::Stmt], clauses: &[py::ElifElseClause]) -> StmtKind {
        let orelse = match clauses {
            [] => Vec::new(),
            [clause, rest @ ..] => match &clause.test {
                None => self.statements(&clause.body),
                Some(test) => {
                    let end = rest.last().unwrap_or(clause);
                    let whole = self.span(clause.range()).to(self.span(end.range()));
                    if !self.enter(whole) {
                        return StmtKind::Other("too deeply nested");
                    }
                    let kind = self.if_statement(test, &clause.body, rest);
                    self.depth -= 1;
                    vec![Stmt { kind, span: whole }]
                }
            },
        };
        StmtKind::If { test: self.expression(test), body: self.statements(body), orelse }
    }

    fn parameters(&mut self, params: &py::Parameters) -> Vec<Param> {
        let mut list = Vec::new();
        for p in params.posonlyargs.iter().chain(&params.args) {
            list.push(self.parameter(&p.parameter, p.default.as_deref(), self.span(p.range()), ParamKind::Positional));
        }
        if let Some(p) = params.vararg.as_deref() {
            list.push(self.parameter(p, None, self.span(p.range()), ParamKind::VarArgs));
        }
        for p in &params.kwonlyargs {
            list.push(self.parameter(&p.parameter, p.default.as_deref(), self.span(p.range()), ParamKind::KeywordOnly));
        }
        if let Some(p) = params.kwarg.as_deref() {
            list.push(self.parameter(p, None, self.span(p.range()), ParamKind::VarKeywords));
        }
        list
    }

    fn keywords(&mut self, keywords: &[py::Keyword]) -> Vec<Keyword> {
        let one = |k: &py::Keyword| Keyword {
            name: k.arg.as_ref().map(ToString::to_string),
            value: self.expression(&k.value),
            span: self.span(k.range()),
        };
        keywords.iter().map(one).collect()
    }

    fn parameter(&mut self, param: &py::Parameter, default: Option<&py::Expr>, span: Span, kind: ParamKind) -> Param {
        Param {
            name: param.name.to_string(),
            annotation: param.annotation.as_deref().map(|e| self.expression(e)),
            default: default.map(|e| self.expression(e)),
            kind,
            span,
        }
    }

    fn boxed(&mut self, expr: &py::Expr) -> Box<Expr> {
        Box::new(self.expression(expr))
    }

    fn expressions(&mut self, list: &[py::Expr]) -> Vec<Expr> {
        list.iter().map(|e| self.expression(e)).collect()
    }

    pub(super) fn expression(&mut self, expr: &py::Expr) -> Expr {
        if !self.enter(self.span(expr.range())) {
            return Expr { kind: ExprKind::Other("too deeply nested"), span: self.span(expr.range()) };
        }
        let kind = match expr {
            py::Expr::Name(e) => ExprKind::Name(e.id.to_string()),
            py::Expr::NumberLiteral(e) => match &e.value {
                py::Number::Int(int) => int.as_i64().map_or_else(|| ExprKind::BigInt(int.to_string()), ExprKind::Int),
                py::Number::Float(float) => ExprKind::Float(*float),
                py::Number::Complex { .. } => ExprKind::Other("complex number"),
            },
            py::Expr::StringLiteral(e) => ExprKind::Str(e.value.to_str().to_owned()),
            py::Expr::BooleanLiteral(e) => ExprKind::Bool(e.value),
            py::Expr::NoneLiteral(_) => ExprKind::None,
            py::Expr::EllipsisLiteral(_) => ExprKind::Ellipsis,
            py::Expr::FString(e) => self.f_string(&e.value),
            py::Expr::Tuple(e) => ExprKind::Tuple(self.expressions(&e.elts)),
            py::Expr::List(e) => ExprKind::List(self.expressions(&e.elts)),
            py::Expr::Dict(e) => ExprKind::Dict(
                e.items
                    .iter()
                    .map(|item| (item.key.as_ref().map(|e| self.expression(e)), self.expression(&item.value)))
                    .collect(),
            ),
            py::Expr::UnaryOp(e) => ExprKind::Unary(unary_op(e.op), self.boxed(&e.operand)),
            py::Expr::BinOp(e) => ExprKind::Binary(binary_op(e.op), self.boxed(&e.left), self.boxed(&e.right)),
            py::Expr::Compare(e) => ExprKind::Compare {
                left: self.boxed(&e.left),
                rest: e.ops.iter().zip(&e.comparators).map(|(op, right)| (compare_op(*op), self.expression(right))).collect(),
            },
            py::Expr::BoolOp(e) => {
                let op = match e.op {
                    py::BoolOp::And => BoolOp::And,
                    py::BoolOp::Or => BoolOp::Or,
                };
                ExprKind::Logical(op, self.expressions(&e.values))
            }
            py::Expr::If(e) => {
                ExprKind::Conditional { test: self.boxed(&e.test), then: self.boxed(&e.body), other: self.boxed(&e.orelse) }
            }
            py::Expr::Call(e) => ExprKind::Call {
                func: self.boxed(&e.func),
                args: self.expressions(&e.arguments.args),
                keywords: self.keywords(&e.arguments.keywords),
            },
            py::Expr::Attribute(e) => ExprKind::Attribute { value: self.boxed(&e.value), name: e.attr.to_string() },
            py::Expr::Subscript(e) => ExprKind::Subscript { value: self.boxed(&e.value), index: self.boxed(&e.slice) },
            py::Expr::Slice(e) => ExprKind::Slice {
                lower: e.lower.as_deref().map(|e| self.boxed(e)),
                upper: e.upper.as_deref().map(|e| self.boxed(e)),
                step: e.step.as_deref().map(|e| self.boxed(e)),
            },
            py::Expr::Starred(e) => ExprKind::Starred(self.boxed(&e.value)),
            py::Expr::Lambda(e) => ExprKind::Lambda {
                params: e.parameters.as_deref().map_or_else(Vec::new, |p| self.parameters(p)),
                body: self.boxed(&e.body),
            },
            py::Expr::Named(_) => ExprKind::Other("assignment expression"),
            py::Expr::Set(_) => ExprKind::Other("set"),
            py::Expr::ListComp(_) => ExprKind::Other("list comprehension"),
            py::Expr::SetComp(_) => ExprKind::Other("set comprehension"),
            py::Expr::DictComp(_) => ExprKind::Other("dict comprehension"),
            py::Expr::Generator(_) => ExprKind::Other("generator expression"),
            py::Expr::Await(_) => ExprKind::Other("await"),
            py::Expr::Yield(_) | py::Expr::YieldFrom(_) => ExprKind::Other("yield"),
            py::Expr::TString(_) => ExprKind::Other("t-string"),
            py::Expr::BytesLiteral(_) => ExprKind::Other("bytes"),
            py::Expr::IpyEscapeCommand(_) => ExprKind::Other("notebook command"),
        };
        self.depth -= 1;
        Expr { kind, span: self.span(expr.range()) }
    }

    fn f_string(&mut self, value: &py::FStringValue) -> ExprKind {
        let mut parts = Vec::new();
        for part in value {
            match part {
                py::FStringPart::Literal(text) => parts.push(FStringPart::Literal(text.value.to_string())),
                py::FStringPart::FString(inner) => {
                    for element in &inner.elements {
                        match element {
                            py::InterpolatedStringElement::Literal(text) => {
                                parts.push(FStringPart::Literal(text.value.to_string()))
                            }
                            py::InterpolatedStringElement::Interpolation(e) => {
                                if e.format_spec.is_some() || !e.conversion.is_none() {
                                    return ExprKind::Other("f-string with a format");
                                }
                                // `{x=}` writes its own text before the value. (A text among the values loses its quotes.)
                                if let Some(debug) = &e.debug_text {
                                    let Some(name) = dotted(&e.expression) else {
                                        return ExprKind::Other("f-string with a format");
                                    };
                                    let text = format!("{}{name}{}", debug.leading(), debug.trailing());
                                    parts.push(FStringPart::Literal(text));
                                }
                                parts.push(FStringPart::Expr(self.expression(&e.expression)));
                            }
                        }
                    }
                }
            }
        }
        ExprKind::FString(parts)
    }
}

/// A name with attributes as it is written.
fn dotted(expr: &py::Expr) -> Option<String> {
    match expr {
        py::Expr::Name(name) => Some(name.id.to_string()),
        py::Expr::Attribute(attribute) => Some(format!("{}.{}", dotted(&attribute.value)?, attribute.attr)),
        _ => None,
    }
}

fn alias(alias: &py::Alias) -> (String, Option<String>) {
    (alias.name.to_string(), alias.asname.as_ref().map(ToString::to_string))
}

fn unary_op(op: py::UnaryOp) -> UnaryOp {
    match op {
        py::UnaryOp::USub => UnaryOp::Neg,
        py::UnaryOp::UAdd => UnaryOp::Pos,
        py::UnaryOp::Invert => UnaryOp::Invert,
        py::UnaryOp::Not => UnaryOp::Not,
    }
}

fn binary_op(op: py::Operator) -> BinaryOp {
    match op {
        py::Operator::Add => BinaryOp::Add,
        py::Operator::Sub => BinaryOp::Sub,
        py::Operator::Mult => BinaryOp::Mul,
        py::Operator::MatMult => BinaryOp::MatMul,
        py::Operator::Div => BinaryOp::Div,
        py::Operator::Mod => BinaryOp::Mod,
        py::Operator::Pow => BinaryOp::Pow,
        py::Operator::LShift => BinaryOp::Shl,
        py::Operator::RShift => BinaryOp::Shr,
        py::Operator::BitOr => BinaryOp::BitOr,
        py::Operator::BitXor => BinaryOp::BitXor,
        py::Operator::BitAnd => BinaryOp::BitAnd,
        py::Operator::FloorDiv => BinaryOp::FloorDiv,
    }
}

fn compare_op(op: py::CmpOp) -> CompareOp {
    match op {
        py::CmpOp::Eq => CompareOp::Eq,
        py::CmpOp::NotEq => CompareOp::Ne,
        py::CmpOp::Lt => CompareOp::Lt,
        py::CmpOp::LtE => CompareOp::Le,
        py::CmpOp::Gt => CompareOp::Gt,
        py::CmpOp::GtE => CompareOp::Ge,
        py::CmpOp::Is => CompareOp::Is,
        py::CmpOp::IsNot => CompareOp::IsNot,
        py::CmpOp::In => CompareOp::In,
        py::CmpOp::NotIn => CompareOp::NotIn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_with_comments_and_spans() {
        let text = "import triton.language as tl\n\n@triton.jit\ndef k(x_ptr, n, B: tl.constexpr = 4):  # entry\n    # own line\n    v = (x_ptr + n)[:, None]\n    if a:\n        pass\n    elif b:\n        pass\n";
        let file = SourceFile::new("k.py", text);
        let module = parse_module(&file).unwrap();
        let comments: Vec<_> = module.comments.iter().map(|c| (file.slice(c.span), c.own_line)).collect();
        assert_eq!(comments, [("# entry", false), ("# own line", true)]);
        let StmtKind::Function(f) = &module.body[1].kind else { panic!("not a function") };
        assert_eq!(file.slice(f.params_span), "(x_ptr, n, B: tl.constexpr = 4)");
        assert_eq!(f.params[2].annotation.as_ref().unwrap().as_dotted().as_deref(), Some("tl.constexpr"));
        let StmtKind::Assign { value, .. } = &f.body[0].kind else { panic!("not an assignment") };
        assert_eq!(file.slice(value.span), "(x_ptr + n)[:, None]");
        let StmtKind::If { orelse, .. } = &f.body[1].kind else { panic!("not an if") };
        assert_eq!(file.slice(orelse[0].span), "elif b:\n        pass");
    }

    #[test]
    fn errors_say_where() {
        let file = SourceFile::new("k.py", "def f(:\n  pass\n");
        let error = parse_module(&file).unwrap_err();
        assert_eq!(error.code.id, "S001");
        assert!(error.place.is_some());
        for monster in ["(".repeat(5000), "-".repeat(100_000), "not ".repeat(100_000), "lambda:".repeat(50_000)] {
            assert_eq!(parse_expression(&SourceFile::new("m", monster)).unwrap_err().code.id, "S001");
        }
    }
}
