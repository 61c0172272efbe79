//! A Python expression of a template's YAML: evaluated over an environment, or printed as host text.

use std::sync::Arc;

use crate::diag::{Diagnostic, Result, codes};
use crate::source::SourceFile;
use crate::syntax::ast::{Expr, ExprKind};
use crate::syntax::eval::{Environment, evaluate};
use crate::syntax::walk::each_expr;
use crate::syntax::yaml::Yaml;
use crate::syntax::{Constant, parse_expression};

#[derive(Clone, Debug)]
pub struct Expression {
    pub file: Arc<SourceFile>,
    pub ast: Expr,
}

impl Expression {
    pub fn from_yaml(yaml: &Yaml) -> Result<Expression> {
        // A slip in a YAML file is the user's to mend, not a bug of a kernel.
        let as_usage = |mut error: Box<Diagnostic>| {
            if error.code == &codes::PYTHON_SYNTAX {
                error.code = &codes::EXPRESSION;
            }
            error
        };
        let (file, ast) = yaml.as_expression().map_err(as_usage)?;
        Ok(Expression { file, ast })
    }

    /// An expression that is no part of a file.
    pub fn from_text(text: &str) -> Result<Expression> {
        let file = SourceFile::new("expression", text);
        Ok(Expression { ast: parse_expression(&file)?, file })
    }

    pub fn evaluate<E: Environment + ?Sized>(&self, env: &E) -> Result<Constant> {
        evaluate(&self.file, &self.ast, env)
    }

    pub fn truth<E: Environment + ?Sized>(&self, env: &E) -> Result<bool> {
        Ok(self.evaluate(env)?.truthy())
    }

    pub fn int<E: Environment + ?Sized>(&self, env: &E) -> Result<i64> {
        let value = self.evaluate(env)?;
        value.as_int().ok_or_else(|| self.error(format!("an integer is needed here, this is {}", value.type_name())))
    }

    /// S002 at this expression.
    pub fn error(&self, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(&codes::EXPRESSION, message).at(&self.file, self.ast.span))
    }

    /// Names it reads, each once, functions that it calls excepted.
    pub fn names(&self) -> Vec<&str> {
        let mut called = Vec::new();
        let mut names = Vec::new();
        each_expr(&self.ast, &mut |e| match &e.kind {
            ExprKind::Call { func, .. } => called.push(func.span),
            ExprKind::Name(name) if !called.contains(&e.span) && !names.contains(&name.as_str()) => names.push(name),
            _ => {}
        });
        names
    }

    /// As host-subset Python: calls of `cdiv` and `next_power_of_2` get their module. `None` when
    /// it uses attributes, which a wrapper's names do not have.
    pub fn host_text(&self) -> Option<String> {
        let mut edits = Vec::new();
        let mut plain = true;
        each_expr(&self.ast, &mut |e| match &e.kind {
            ExprKind::Call { func, .. } if matches!(func.as_name(), Some("cdiv" | "next_power_of_2")) => {
                edits.push(func.span.start);
            }
            ExprKind::Attribute { .. } => plain = false,
            _ => {}
        });
        let mut text = self.file.slice(self.ast.span).to_owned();
        edits.sort_unstable();
        for at in edits.into_iter().rev() {
            text.insert_str((at - self.ast.span.start) as usize, "triton.");
        }
        plain.then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_host_text() {
        let e = Expression::from_text("cdiv(N * P, BM) * cdiv(K // GROUPS, BN) + N").unwrap();
        assert_eq!(e.names(), ["N", "P", "BM", "K", "GROUPS", "BN"]);
        assert_eq!(e.host_text().unwrap(), "triton.cdiv(N * P, BM) * triton.cdiv(K // GROUPS, BN) + N");
        assert_eq!(Expression::from_text("X.rank + 1").unwrap().host_text(), None);
    }
}
