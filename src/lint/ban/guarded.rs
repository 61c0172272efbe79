//! F010: `try` or `pass` anywhere in the file. KernelBench's own rule: a `try` may hide a fall back, a `pass` an empty kernel.

use super::Ban;
use super::events::Walked;
use crate::lint::rule::Found;
use crate::source::Span;
use crate::syntax::ast::StmtKind;
use crate::syntax::walk::each_stmt;

pub fn check(walked: &Walked<'_>, _: &Ban, found: &mut Found<'_>) {
    each_stmt(&walked.file.module.body, &mut |stmt| {
        let (word, help) = match &stmt.kind {
            StmtKind::Other("try") => ("try", "let errors reach the caller"),
            StmtKind::Pass => ("pass", "take the empty block out"),
            _ => return,
        };
        let span = Span { start: stmt.span.start, end: stmt.span.start + word.len() as u32 };
        found.at(span, format!("the file has a `{word}`")).help(help);
    });
}
