//! A scalar expression written in Python over named operands: `value + BIAS`, `max(X, 0)`,
//! `where(X < 0, 0, X)`, `X * sigmoid(X)`.
//!
//! Templates say in it what a Map computes, and users what an operator of their own does. `max` and
//! `min` keep NaN, as torch and ONNX do; the other functions are those of [`Unary`], by their names,
//! and `pow`.
//!
//! Not known: logical operators, integer division, conditional expressions.

use std::sync::Arc;

use super::{Binary, Compare, Constant, Expr, ExprBuilder, ExprId, Node, Unary};
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::source::SourceFile;
use crate::syntax::ast::{BinaryOp, CompareOp, Expr as Ast, ExprKind, UnaryOp};
use crate::syntax::parse_expression;

/// An expression that is not typed yet: the operands' dtypes decide.
#[derive(Clone, Debug)]
pub struct Formula {
    file: Arc<SourceFile>,
    ast: Ast,
}

/// Two formulas are equal where they are the same text.
impl PartialEq for Formula {
    fn eq(&self, other: &Formula) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Formula {}

impl Formula {
    /// An expression of a file: messages point there.
    pub fn new(file: &Arc<SourceFile>, ast: &Ast) -> Formula {
        Formula { file: file.clone(), ast: ast.clone() }
    }

    /// An expression that is no part of a file.
    ///
    /// # Errors
    /// S002 for a text that does not parse.
    pub fn parse(name: &str, text: &str) -> Result<Formula> {
        let file = SourceFile::new(name, text);
        // A slip in a formula is the user's to mend, not a bug of a kernel.
        let wrong = |error: Box<Diagnostic>| Box::new(Diagnostic { code: &codes::EXPRESSION, ..*error });
        let ast = parse_expression(&file).map_err(wrong)?;
        Ok(Formula { file, ast })
    }

    pub fn text(&self) -> &str {
        self.file.slice(self.ast.span)
    }

    /// Operands that it reads, each once, in the order of the text.
    pub fn operands(&self) -> Vec<&str> {
        let mut names = Vec::new();
        collect(&self.ast, &mut names);
        names
    }

    /// The typed expression; read k is the operand `names[k]`.
    ///
    /// # Errors
    /// S002 at what is not known, or does not fit the dtypes.
    pub fn over(&self, names: &[(&str, DType)]) -> Result<Expr> {
        let mut scalar = Scalar { formula: self, names, builder: ExprBuilder::new() };
        let root = scalar.value(&self.ast, None)?;
        let expr = scalar.builder.finish(root);
        let dtypes: Vec<DType> = names.iter().map(|(_, dtype)| *dtype).collect();
        match expr.complaint(&dtypes) {
            Some(complaint) => Err(self.error(&self.ast, complaint)),
            None => Ok(expr),
        }
    }

    fn error(&self, at: &Ast, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(&codes::EXPRESSION, message).at(&self.file, at.span))
    }
}

/// Names of operands, in the order of the text. What is no scalar expression has none.
fn collect<'a>(ast: &'a Ast, names: &mut Vec<&'a str>) {
    match &ast.kind {
        ExprKind::Name(name) if !names.contains(&name.as_str()) => names.push(name),
        ExprKind::Unary(_, a) => collect(a, names),
        ExprKind::Binary(_, a, b) => {
            collect(a, names);
            collect(b, names);
        }
        ExprKind::Compare { left, rest } => {
            collect(left, names);
            rest.iter().for_each(|(_, right)| collect(right, names));
        }
        ExprKind::Call { func: _, args, keywords: _ } => args.iter().for_each(|arg| collect(arg, names)),
        _ => {}
    }
}

struct Scalar<'a> {
    formula: &'a Formula,
    names: &'a [(&'a str, DType)],
    builder: ExprBuilder,
}

impl Scalar<'_> {
    /// A number takes the dtype of what it stands beside.
    fn value(&mut self, ast: &Ast, beside: Option<DType>) -> Result<ExprId> {
        let dtype = beside.or_else(|| self.dtype(ast)).unwrap_or(DType::F32);
        match &ast.kind {
            ExprKind::Name(name) => match self.names.iter().position(|(n, _)| n == name) {
                Some(k) => Ok(self.builder.read(k as u32, self.names[k].1)),
                None => Err(self.formula.error(ast, format!("unknown operand `{name}`"))),
            },
            ExprKind::Int(i) if dtype.is_integer() => Ok(self.builder.node(Node::Constant(Constant::Int(*i)), dtype)),
            ExprKind::Int(i) => Ok(self.builder.float(*i as f64, dtype)),
            ExprKind::Float(x) => Ok(self.builder.float(*x, dtype)),
            ExprKind::Unary(UnaryOp::Neg, a) => {
                let a = self.value(a, Some(dtype))?;
                Ok(self.builder.unary(Unary::Neg, a))
            }
            ExprKind::Binary(op, a, b) => {
                let op = match op {
                    BinaryOp::Add => Binary::Add,
                    BinaryOp::Sub => Binary::Sub,
                    BinaryOp::Mul => Binary::Mul,
                    BinaryOp::Div => Binary::Div,
                    BinaryOp::Pow => Binary::Pow,
                    _ => return Err(self.formula.error(ast, "only + - * / ** are known here")),
                };
                self.binary(ast, op, a, b, dtype)
            }
            ExprKind::Compare { left, rest } => {
                let [(op, right)] = rest.as_slice() else {
                    return Err(self.formula.error(ast, "one comparison at a time"));
                };
                let op = match op {
                    CompareOp::Eq => Compare::Eq,
                    CompareOp::Ne => Compare::Ne,
                    CompareOp::Lt => Compare::Lt,
                    CompareOp::Le => Compare::Le,
                    CompareOp::Gt => Compare::Gt,
                    CompareOp::Ge => Compare::Ge,
                    _ => return Err(self.formula.error(ast, "only comparisons of numbers are known here")),
                };
                let dtype = self.dtype(left).or_else(|| self.dtype(right)).unwrap_or(DType::F32);
                let (a, b) = (self.value(left, Some(dtype))?, self.value(right, Some(dtype))?);
                self.alike(ast, a, b)?;
                Ok(self.builder.compare(op, a, b))
            }
            ExprKind::Call { func, args, keywords } if keywords.is_empty() => {
                let name = func.as_name().unwrap_or_default();
                match (name, args.as_slice()) {
                    ("max", [a, b]) => self.binary(ast, Binary::MaxNan, a, b, dtype),
                    ("min", [a, b]) => self.binary(ast, Binary::MinNan, a, b, dtype),
                    ("pow", [a, b]) => self.binary(ast, Binary::Pow, a, b, dtype),
                    ("where", [c, a, b]) => {
                        let c = self.value(c, None)?;
                        let (a, b) = (self.value(a, Some(dtype))?, self.value(b, Some(dtype))?);
                        self.alike(ast, a, b)?;
                        Ok(self.builder.select(c, a, b))
                    }
                    (_, [a]) => match Unary::ALL.iter().find(|op| op.name() == name) {
                        Some(&op) => {
                            let a = self.value(a, Some(dtype))?;
                            Ok(self.builder.unary(op, a))
                        }
                        None => Err(self.unknown_function(ast)),
                    },
                    _ => Err(self.unknown_function(ast)),
                }
            }
            _ => Err(self.formula.error(ast, "a scalar expression over operands is needed here")),
        }
    }

    fn unknown_function(&self, at: &Ast) -> Box<Diagnostic> {
        let functions: Vec<&str> = Unary::ALL.iter().map(|op| op.name()).collect();
        let message = format!(
            "`{}` is not known here: max(a, b), min(a, b), pow(a, b), where(c, a, b), and of one operand {}",
            self.formula.file.slice(at.span),
            functions.join(", ")
        );
        self.formula.error(at, message)
    }

    fn binary(&mut self, at: &Ast, op: Binary, a: &Ast, b: &Ast, dtype: DType) -> Result<ExprId> {
        let (a, b) = (self.value(a, Some(dtype))?, self.value(b, Some(dtype))?);
        self.alike(at, a, b)?;
        Ok(self.builder.binary(op, a, b))
    }

    fn alike(&self, at: &Ast, a: ExprId, b: ExprId) -> Result<()> {
        let (a, b) = (self.builder.dtype(a), self.builder.dtype(b));
        if a == b { Ok(()) } else { Err(self.formula.error(at, format!("operands of different dtypes, {a} and {b}"))) }
    }

    /// The dtype of the first operand in an expression.
    fn dtype(&self, ast: &Ast) -> Option<DType> {
        let mut found = Vec::new();
        collect(ast, &mut found);
        found.iter().find_map(|name| self.names.iter().find(|(n, _)| n == name).map(|(_, dtype)| *dtype))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(text: &str, names: &[(&str, DType)]) -> Result<Expr> {
        Formula::parse("formula", text)?.over(names)
    }

    #[test]
    fn formulas_are_typed_by_their_operands() {
        let f = |text: &str| over(text, &[("X", DType::F32), ("B", DType::F32)]).unwrap().to_string();
        assert_eq!(f("X + B"), "add(r0, r1)");
        assert_eq!(f("max(X, 0)"), "max_nan(r0, 0.0)");
        assert_eq!(f("where(X < 0, 0, X)"), "select(lt(r0, 0.0), 0.0, r0)");
        assert_eq!(f("X * sigmoid(1.5 * X)"), "mul(r0, sigmoid(mul(1.5, r0)))");
        assert_eq!(f("-tanh(X) ** 2"), "neg(pow(tanh(r0), 2.0))");
        assert_eq!(over("X * 2", &[("X", DType::I64)]).unwrap().to_string(), "mul(r0, 2)");
    }

    #[test]
    fn operands_stand_in_the_order_of_the_text() {
        let formula = Formula::parse("formula", "where(B < A, exp(C), B)").unwrap();
        assert_eq!(formula.operands(), ["B", "A", "C"]);
    }

    #[test]
    fn what_is_not_known_is_named() {
        let error = |text: &str| over(text, &[("X", DType::F32), ("N", DType::I64)]).unwrap_err();
        for (text, message) in [
            ("X + Z", "unknown operand `Z`"),
            ("X // 2", "only + - * / ** are known here"),
            ("0 < X < 1", "one comparison at a time"),
            ("X + N", "operands of different dtypes, f32 and i64"),
            ("exp(N)", "exp of i64"),
            ("X if X < 0 else 0", "a scalar expression over operands is needed here"),
        ] {
            assert_eq!((error(text).code.id, error(text).message.as_str()), ("S002", message), "{text}");
        }
        assert!(error("relu(X)").message.starts_with("`relu(X)` is not known here: max(a, b), "));
        assert_eq!(error("X +").code.id, "S002");
    }
}
