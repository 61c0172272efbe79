//! Our own Python syntax tree: the part of the language that kernels, host code and YAML
//! expressions are written in. Anything else is kept as `Other(name)`, so that later stages can
//! refuse it by name and line.

use std::sync::Arc;

use crate::source::{SourceFile, Span};

/// A parsed file.
#[derive(Clone, Debug)]
pub struct Module {
    pub file: Arc<SourceFile>,
    pub body: Vec<Stmt>,
    /// In order of appearance.
    pub comments: Vec<Comment>,
}

/// A `#` comment: the span includes the `#`.
#[derive(Clone, Debug, PartialEq)]
pub struct Comment {
    pub span: Span,
    /// Whether nothing but blanks stands before it on its line.
    pub own_line: bool,
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `import a.b as c`: (dotted name, alias).
    Import(Vec<(String, Option<String>)>),
    /// `from a.b import c as d`; `level` counts leading dots.
    ImportFrom {
        module: String,
        names: Vec<(String, Option<String>)>,
        level: u32,
    },
    Function(FunctionDef),
    Class {
        name: String,
        decorators: Vec<Expr>,
        bases: Vec<Expr>,
        /// `metaclass=…` and its like.
        keywords: Vec<Keyword>,
        body: Vec<Stmt>,
    },
    /// `a = b = value`: several targets.
    Assign {
        targets: Vec<Expr>,
        value: Expr,
    },
    /// `target: annotation = value`.
    AnnAssign {
        target: Expr,
        annotation: Expr,
        value: Option<Expr>,
    },
    /// `target op= value`.
    AugAssign {
        target: Expr,
        op: BinaryOp,
        value: Expr,
    },
    Expr(Expr),
    If {
        test: Expr,
        body: Vec<Stmt>,
        orelse: Vec<Stmt>,
    },
    For {
        target: Expr,
        iter: Expr,
        body: Vec<Stmt>,
        orelse: Vec<Stmt>,
    },
    While {
        test: Expr,
        body: Vec<Stmt>,
        orelse: Vec<Stmt>,
    },
    Return(Option<Expr>),
    Raise(Option<Expr>),
    Assert {
        test: Expr,
        message: Option<Expr>,
    },
    Pass,
    Break,
    Continue,
    /// Anything else, by the name of its syntax (`try`, `with`, `del`, …).
    Other(&'static str),
}

#[derive(Clone, Debug)]
pub struct FunctionDef {
    pub name: String,
    pub name_span: Span,
    pub params: Vec<Param>,
    pub decorators: Vec<Expr>,
    pub returns: Option<Expr>,
    pub body: Vec<Stmt>,
    /// From `(` to `)` of the parameter list, both included.
    pub params_span: Span,
}

#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    pub annotation: Option<Expr>,
    pub default: Option<Expr>,
    pub kind: ParamKind,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    Positional,
    KeywordOnly,
    /// `*args`
    VarArgs,
    /// `**kwargs`
    VarKeywords,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Name(String),
    Int(i64),
    /// An integer literal beyond i64, as written.
    BigInt(String),
    Float(f64),
    Str(String),
    Bool(bool),
    None,
    Ellipsis,
    /// An f-string: literal pieces and expressions, in order.
    FString(Vec<FStringPart>),
    Tuple(Vec<Expr>),
    List(Vec<Expr>),
    Dict(Vec<(Option<Expr>, Expr)>),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a < b <= c`: `rest` holds each operator with its right operand.
    Compare {
        left: Box<Expr>,
        rest: Vec<(CompareOp, Expr)>,
    },
    /// `a and b and c`.
    Logical(BoolOp, Vec<Expr>),
    /// `then if test else other`.
    Conditional {
        test: Box<Expr>,
        then: Box<Expr>,
        other: Box<Expr>,
    },
    Call {
        func: Box<Expr>,
        args: Vec<Expr>,
        keywords: Vec<Keyword>,
    },
    Attribute {
        value: Box<Expr>,
        name: String,
    },
    Subscript {
        value: Box<Expr>,
        index: Box<Expr>,
    },
    Slice {
        lower: Option<Box<Expr>>,
        upper: Option<Box<Expr>>,
        step: Option<Box<Expr>>,
    },
    Starred(Box<Expr>),
    Lambda {
        params: Vec<Param>,
        body: Box<Expr>,
    },
    /// Anything else, by the name of its syntax (`list comprehension`, `await`, …).
    Other(&'static str),
}

#[derive(Clone, Debug)]
pub enum FStringPart {
    Literal(String),
    Expr(Expr),
}

/// `name=value`, or `**value` when there is no name.
#[derive(Clone, Debug)]
pub struct Keyword {
    pub name: Option<String>,
    pub value: Expr,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    Neg,
    Pos,
    Invert,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
    MatMul,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Is,
    IsNot,
    In,
    NotIn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoolOp {
    And,
    Or,
}

/// Whether a text is a name of Python in ASCII.
pub fn is_identifier(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.starts_with(|c: char| word(c) && !c.is_ascii_digit()) && text.chars().all(word)
}

impl Stmt {
    /// Whether the statement is a text and nothing else, as a docstring is.
    pub fn is_text(&self) -> bool {
        matches!(&self.kind, StmtKind::Expr(e) if matches!(e.kind, ExprKind::Str(_)))
    }
}

impl Expr {
    /// The name when the expression is just a name.
    pub fn as_name(&self) -> Option<&str> {
        match &self.kind {
            ExprKind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// `a.b.c` as a dotted string, when the expression is names and attributes only.
    pub fn as_dotted(&self) -> Option<String> {
        match &self.kind {
            ExprKind::Name(name) => Some(name.clone()),
            ExprKind::Attribute { value, name } => Some(format!("{}.{name}", value.as_dotted()?)),
            _ => None,
        }
    }
}
