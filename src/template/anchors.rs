//! Fusion anchors: `# fuse: …` comments in `kernel.py` and the statement that each owns.
//!
//! ```text
//! anchor = "# fuse: params" | "# fuse: args"
//!        | "# fuse: " ("load" | "value" | "store" | "body") NAME "at" coord ("," coord)*
//! coord  = NAME "=" expression ("if" mask)?
//! ```
//! Comment lines that directly follow and start with `#` and two or more blanks continue an anchor.
//! An anchor owns the next statement; anchors above one statement own it together.
//!
//! The contract is checked here, with a place: a load anchor owns exactly
//! `x = tl.load(pointer, mask=…, other=…)`, a store anchor `tl.store(pointer, value, mask=…)`, a body
//! anchor an assignment, and a value anchor's variable occurs in its statement. Not checked: that
//! each output element passes one value anchor exactly once (`check` probes that).

use std::sync::Arc;

use crate::diag::{Diagnostic, Result, codes};
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Module, Stmt, StmtKind};
use crate::syntax::parse_expression_at;
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

/// One coordinate at an anchor: an expression that broadcasts to the block, and where it is valid.
#[derive(Clone, Debug, PartialEq)]
pub struct Coord {
    pub axis: String,
    pub text: String,
    pub mask: Option<String>,
}

/// What an anchor owns; spans point into `kernel.py`.
#[derive(Clone, Debug)]
pub enum Site {
    /// In a signature.
    Params,
    /// In a call of a jit helper.
    Args,
    /// `target = tl.load(pointer, mask=mask, other=other)`.
    Load { target: String, pointer: Span, mask: Span, other: Span },
    /// `tl.store(pointer, value, mask=mask)`.
    Store { pointer: Span, value: Span, mask: Span },
    /// Uses of the variable in the statement.
    Value { uses: Vec<Span> },
    /// `target = …`.
    Body { target: String },
}

#[derive(Clone, Debug)]
pub struct Anchor {
    /// The operand (load, store) or the variable (value, body); empty for params and args.
    pub name: String,
    pub coords: Vec<Coord>,
    /// The comment's lines, their line breaks included.
    pub lines: Span,
    /// The comment itself, from its first `#`.
    pub comment: Span,
    /// The owned statement; for params and args the parameter list or the call.
    pub owner: Span,
    pub site: Site,
}

/// All anchors of a file, in order of appearance.
pub fn find(module: &Module) -> Result<Vec<Anchor>> {
    let mut anchors = Vec::new();
    for raw in comments(module) {
        anchors.push(resolve(module, raw)?);
    }
    Ok(anchors)
}

/// An anchor's text, and where each byte of it stands.
struct Raw {
    /// The text behind `# fuse:`, continuation lines joined by blanks, of the same length as in the file.
    text: String,
    start: usize,
    lines: Span,
}

fn comments(module: &Module) -> Vec<Raw> {
    let file = &module.file;
    let mut raws: Vec<Raw> = Vec::new();
    for comment in module.comments.iter().filter(|c| c.own_line) {
        let text = file.slice(comment.span);
        let line_end =
            file.text()[comment.span.end as usize..].find('\n').map_or(file.text().len(), |i| comment.span.end as usize + i + 1);
        if text.starts_with("# fuse:") {
            let line_start = file.text()[..comment.span.start as usize].rfind('\n').map_or(0, |i| i + 1);
            let start = comment.span.start as usize + "# fuse:".len();
            raws.push(Raw {
                text: file.text()[start..comment.span.end as usize].to_owned(),
                start,
                lines: Span::new(line_start, line_end),
            });
        } else if let Some(last) = raws.last_mut() {
            let between = &file.text()[last.lines.end as usize..comment.span.start as usize];
            if text.starts_with("#  ") && between.trim().is_empty() && !between.contains('\n') {
                // What lies between (line break, indentation, `#`) becomes blanks, so that offsets stay.
                let gap = comment.span.start as usize + 1 - (last.start + last.text.len());
                last.text.push_str(&" ".repeat(gap));
                last.text.push_str(&text[1..]);
                last.lines.end = line_end as u32;
            }
        }
    }
    raws
}

fn invalid(file: &Arc<SourceFile>, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&codes::TEMPLATE_INVALID, message).at(file, span))
}

fn resolve(module: &Module, raw: Raw) -> Result<Anchor> {
    let file = &module.file;
    let comment = Span::new(raw.start - "# fuse:".len(), raw.start + raw.text.len());
    let (head, rest) = match raw.text.find(" at ") {
        Some(at) => (raw.text[..at].trim(), Some((raw.start + at + 4, &raw.text[at + 4..]))),
        None => (raw.text.trim(), None),
    };
    let words: Vec<&str> = head.split_whitespace().collect();
    let bad = || {
        invalid(
            file,
            comment,
            format!("`{head}` is no anchor; known: params, args, load X at …, value v at …, store Y at …, body v at …"),
        )
    };
    match (words.as_slice(), rest) {
        (["params"], None) => {
            let mut found = None;
            each_function(&module.body, &mut |f| {
                if f.params_span.start <= comment.start && comment.end <= f.params_span.end {
                    found = Some(f.params_span);
                }
            });
            let owner = found.ok_or_else(|| invalid(file, comment, "a params anchor stands in a parameter list"))?;
            Ok(Anchor { name: String::new(), coords: Vec::new(), lines: raw.lines, comment, owner, site: Site::Params })
        }
        (["args"], None) => {
            let mut found = None;
            each_stmt(&module.body, &mut |stmt| {
                for expr in own_exprs(stmt) {
                    each_expr(expr, &mut |e| {
                        if matches!(e.kind, ExprKind::Call { .. }) && e.span.start <= comment.start && comment.end <= e.span.end {
                            found = Some(e.span);
                        }
                    });
                }
            });
            let owner = found.ok_or_else(|| invalid(file, comment, "an args anchor stands in a call"))?;
            Ok(Anchor { name: String::new(), coords: Vec::new(), lines: raw.lines, comment, owner, site: Site::Args })
        }
        ([kind @ ("load" | "value" | "store" | "body"), name], Some((start, text))) => {
            let coords = coords(file, start, text)?;
            let stmt = owned(module, raw.lines.end).ok_or_else(|| invalid(file, comment, "no statement below this anchor"))?;
            let site = match *kind {
                "load" => load(stmt),
                "store" => store(stmt),
                "value" => value(stmt, name),
                _ => body(stmt, name),
            };
            let site = site.ok_or_else(|| {
                let wanted = match *kind {
                    "load" => "`x = tl.load(pointer, mask=…, other=…)`".to_owned(),
                    "store" => "`tl.store(pointer, value, mask=…)`".to_owned(),
                    "value" => format!("a simple statement that uses `{name}`"),
                    _ => format!("`{name} = …`"),
                };
                invalid(file, stmt.span, format!("the statement below `# fuse: {kind} {name}` must be {wanted}"))
            })?;
            Ok(Anchor { name: (*name).to_owned(), coords, lines: raw.lines, comment, owner: stmt.span, site })
        }
        _ => Err(bad()),
    }
}

fn each_function<'a>(block: &'a [Stmt], visit: &mut dyn FnMut(&'a FunctionDef)) {
    each_stmt(block, &mut |stmt| {
        if let StmtKind::Function(f) = &stmt.kind {
            visit(f);
        }
    });
}

/// The first statement that starts behind an offset.
fn owned(module: &Module, behind: u32) -> Option<&Stmt> {
    let mut first: Option<&Stmt> = None;
    each_stmt(&module.body, &mut |stmt| {
        if stmt.span.start >= behind && first.is_none_or(|f| stmt.span.start < f.span.start) {
            first = Some(stmt);
        }
    });
    first
}

/// Splits at commas outside brackets, then each piece at ` if `.
fn coords(file: &Arc<SourceFile>, start: usize, text: &str) -> Result<Vec<Coord>> {
    let mut coords = Vec::new();
    for (at, piece) in split(text, ',') {
        let span = Span::new(start + at, start + at + piece.len());
        let (axis, rest) =
            piece.split_once('=').ok_or_else(|| invalid(file, span, "a coordinate is `axis=expression if mask`"))?;
        let axis = axis.trim().to_owned();
        let offset = at + piece.len() - rest.len();
        let (value, mask) = match rest.find(" if ") {
            Some(i) => (&rest[..i], Some((&rest[i + 4..], offset + i + 4))),
            None => (rest, None),
        };
        let checked = |text: &str, at: usize| -> Result<String> {
            let lead = text.len() - text.trim_start().len();
            let place = Span::new(start + at + lead, start + at + lead + text.trim().len());
            parse_expression_at(file, place).map_err(|error| invalid(file, place, error.message))?;
            Ok(text.trim().to_owned())
        };
        let text = checked(value, offset)?;
        let mask = mask.map(|(m, at)| checked(m, at)).transpose()?;
        coords.push(Coord { axis, text, mask });
    }
    Ok(coords)
}

/// Pieces between separators that stand outside brackets, each with its offset.
pub fn split(text: &str, separator: char) -> Vec<(usize, &str)> {
    let mut pieces = Vec::new();
    let (mut depth, mut from) = (0, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            c if c == separator && depth == 0 => {
                pieces.push((from, &text[from..i]));
                from = i + c.len_utf8();
            }
            _ => {}
        }
    }
    pieces.push((from, &text[from..]));
    pieces
}

/// The arguments of a call of `function`: positional ones, and those of these keywords.
fn call<'a>(expr: &'a Expr, function: &str, positional: usize, words: &[&str]) -> Option<Vec<&'a Expr>> {
    let ExprKind::Call { func, args, keywords } = &expr.kind else { return None };
    if func.as_dotted().as_deref() != Some(function) || args.len() != positional || keywords.len() != words.len() {
        return None;
    }
    let mut found: Vec<&Expr> = args.iter().collect();
    for word in words {
        found.push(&keywords.iter().find(|k| k.name.as_deref() == Some(word))?.value);
    }
    Some(found)
}

fn load(stmt: &Stmt) -> Option<Site> {
    let StmtKind::Assign { targets, value } = &stmt.kind else { return None };
    let [target] = targets.as_slice() else { return None };
    let args = call(value, "tl.load", 1, &["mask", "other"])?;
    Some(Site::Load { target: target.as_name()?.to_owned(), pointer: args[0].span, mask: args[1].span, other: args[2].span })
}

fn store(stmt: &Stmt) -> Option<Site> {
    let StmtKind::Expr(expr) = &stmt.kind else { return None };
    let args = call(expr, "tl.store", 2, &["mask"])?;
    Some(Site::Store { pointer: args[0].span, value: args[1].span, mask: args[2].span })
}

fn value(stmt: &Stmt, name: &str) -> Option<Site> {
    if !matches!(stmt.kind, StmtKind::Assign { .. } | StmtKind::Expr(_) | StmtKind::AugAssign { .. }) {
        return None;
    }
    let mut uses = Vec::new();
    let exprs = match &stmt.kind {
        StmtKind::Assign { targets: _, value } => vec![value],
        _ => own_exprs(stmt),
    };
    for expr in exprs {
        each_expr(expr, &mut |e| {
            if e.as_name() == Some(name) {
                uses.push(e.span);
            }
        });
    }
    (!uses.is_empty()).then_some(Site::Value { uses })
}

fn body(stmt: &Stmt, name: &str) -> Option<Site> {
    let StmtKind::Assign { targets, value: _ } = &stmt.kind else { return None };
    let [target] = targets.as_slice() else { return None };
    (target.as_name() == Some(name)).then(|| Site::Body { target: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::render::render;
    use crate::syntax::parse_module;

    fn anchors(text: &str) -> Result<Vec<Anchor>> {
        find(&parse_module(&SourceFile::new("kernel.py", text)).unwrap())
    }

    #[test]
    fn an_anchor_owns_the_statement_below_it() {
        let text = "\
def f(
    x_ptr,
    # fuse: params
    B,
):
    for i in range(4):
        # fuse: load X at m=m[:, None] if (m < M)[:, None],
        #   k=k[None, :] if k[None, :] < K
        x = tl.load(x_ptr + m, mask=m < M, other=0.0)
    # fuse: value x at m=m
    # fuse: store Y at m=m
    tl.store(y_ptr, x + x, mask=m < M)
";
        let found = anchors(text).unwrap();
        assert!(matches!(found[0].site, Site::Params));
        let Site::Load { target, pointer, .. } = &found[1].site else { panic!() };
        assert_eq!((target.as_str(), &text[pointer.start as usize..pointer.end as usize]), ("x", "x_ptr + m"));
        assert_eq!(
            found[1].coords[1],
            Coord { axis: "k".into(), text: "k[None, :]".into(), mask: Some("k[None, :] < K".into()) }
        );
        let Site::Value { uses } = &found[2].site else { panic!() };
        assert_eq!(uses.len(), 2);
        assert_eq!(found[2].owner, found[3].owner);
    }

    #[test]
    fn a_broken_contract_is_named_at_its_statement() {
        let error = anchors("def f():\n    # fuse: load X at m=m\n    x = tl.load(x_ptr + m, mask=m < M)\n").unwrap_err();
        expect_test::expect![[r#"
            error[T001]: the statement below `# fuse: load X` must be `x = tl.load(pointer, mask=…, other=…)`
             --> kernel.py:3:5
              |
            3 |     x = tl.load(x_ptr + m, mask=m < M)
              |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ invalid operator template"#]]
        .assert_eq(&render(&error, false));
        let error = anchors("def f():\n    # fuse: load X at m=m[\n    x = 1\n").unwrap_err();
        assert_eq!(error.code.id, "T001");
        assert!(anchors("# fuse: lod X at m=m\nx = 1\n").unwrap_err().message.starts_with("`lod X` is no anchor"));
    }
}
