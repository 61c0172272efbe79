//! Small edits of one statement that might undo a slip in it: another operator, bound, constant, name or function, a
//! term left out, operands exchanged.
//!
//! Syntax alone decides what is proposed; whether an edit means anything is found by running it. Little is added that is not
//! written: a sign, a square, a divisor; no mask's missing term, no lost statement.

use crate::conform::diagnose::{called, header};
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{BinaryOp, CompareOp, Expr, ExprKind, Stmt, StmtKind};
use crate::syntax::walk::{each_expr, own_exprs};

/// A replacement of a part of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

impl Edit {
    pub fn new(span: Span, text: impl Into<String>) -> Edit {
        Edit { span, text: text.into() }
    }

    /// The text with the edit made.
    pub fn apply(&self, file: &SourceFile) -> String {
        let text = file.text();
        format!("{}{}{}", &text[..self.span.start as usize], self.text, &text[self.span.end as usize..])
    }
}

/// Names of a function that may stand for each other, by kind.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Sizes and attributes: capitals.
    pub sizes: Vec<String>,
    /// `x_stride_h`.
    pub strides: Vec<String>,
    /// What loads give.
    pub loaded: Vec<String>,
    /// Everything else that statements bind.
    pub bound: Vec<String>,
}

impl Names {
    /// Other names of a name's kind; the strides of its own operand alone.
    fn others<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n String> {
        let owner = |stride: &str| stride.split("_stride_").next().map(str::to_owned);
        let all = [&self.sizes, &self.strides, &self.loaded, &self.bound];
        let kind = all.into_iter().find(|kind| kind.iter().any(|n| n == name));
        let fits = move |other: &&String| other.as_str() != name && (!name.contains("_stride_") || owner(other) == owner(name));
        kind.into_iter().flatten().filter(fits)
    }
}

const MINUS_INFINITY: &str = "float(\"-inf\")";

/// Kinds of edits, the likelier first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likely {
    /// Another operator, bound, constant or function; something left out.
    Changed,
    /// Another size, attribute or stride.
    Size,
    /// Something put in.
    Added,
    /// Another variable.
    Variable,
}

/// The edits of a statement, blocks inside it excepted.
pub fn edits(file: &SourceFile, stmt: &Stmt, names: &Names) -> Vec<(Likely, Edit)> {
    let mut found = Found { list: Vec::new() };
    let targets: Vec<Span> = match &stmt.kind {
        StmtKind::Assign { targets, .. } => targets.iter().map(|t| t.span).collect(),
        StmtKind::AugAssign { target, .. } | StmtKind::AnnAssign { target, .. } | StmtKind::For { target, .. } => {
            vec![target.span]
        }
        _ => Vec::new(),
    };
    for expr in own_exprs(stmt) {
        each_expr(expr, &mut |e| {
            if !targets.contains(&e.span) {
                expression(file, e, names, &mut found);
            }
        });
    }
    assignment(file, stmt, &mut found);
    added(file, stmt, names, &mut found);
    found.list.retain(|(_, edit)| file.slice(edit.span) != edit.text);
    found.list
}

/// Edits as they are found.
struct Found {
    list: Vec<(Likely, Edit)>,
}

impl Found {
    fn push(&mut self, edit: Edit) {
        self.list.push((Likely::Changed, edit));
    }

    fn extend(&mut self, edits: impl IntoIterator<Item = Edit>) {
        edits.into_iter().for_each(|edit| self.push(edit));
    }
}

/// A factor, divisor, square or sign that a statement about values may lack, and a step of an index that is taken apart.
fn added(file: &SourceFile, stmt: &Stmt, names: &Names, found: &mut Found) {
    let text = file.slice(header(stmt));
    let mut put = |span: Span, text: String| found.list.push((Likely::Added, Edit::new(span, text)));
    let exprs = own_exprs(stmt);
    let decodes = text.contains("//") || text.contains('%');
    for expr in &exprs {
        each_expr(expr, &mut |e| match &e.kind {
            ExprKind::Binary(BinaryOp::FloorDiv | BinaryOp::Mod, a, _) if a.as_name().is_some() => {
                for size in &names.sizes {
                    put(a.span, format!("{} // {size}", file.slice(a.span)));
                    put(e.span, format!("{} % {size}", file.slice(e.span)));
                }
            }
            ExprKind::Binary(BinaryOp::Mul, a, _) if !decodes && !text.contains("_ptr") => {
                let a = (a.span, grouped(file, a));
                put(a.0, format!("-{}", a.1));
                names.sizes.iter().for_each(|size| put(a.0, format!("{} / {size}", a.1)));
            }
            _ => {}
        });
    }
    let value = match &stmt.kind {
        StmtKind::Assign { value, .. } | StmtKind::AugAssign { value, .. } => value,
        _ => return,
    };
    if let Some(name) = value.as_name() {
        put(value.span, format!("{name} * {name}"));
        put(value.span, format!("-{name}"));
        for other in names.bound.iter().chain(&names.loaded).filter(|other| *other != name) {
            put(value.span, format!("tl.div_rn({name}, {other})"));
            put(value.span, format!("{name} * {other}"));
            put(value.span, format!("{name} + {other}"));
        }
    }
}

/// `=` for `+=` and back, `-=` for `+=`.
fn assignment(file: &SourceFile, stmt: &Stmt, found: &mut Found) {
    let (target, value, signs): (&Expr, &Expr, &[(&str, &str)]) = match &stmt.kind {
        StmtKind::Assign { targets, value } => match &targets[..] {
            [target] if target.as_name().is_some() => (target, value, &[("=", "+=")]),
            _ => return,
        },
        StmtKind::AugAssign { target, op: _, value } => {
            (target, value, &[("+=", "="), ("-=", "+="), ("+=", "-="), ("*=", "+="), ("+=", "*=")])
        }
        _ => return,
    };
    found.extend(signs.iter().filter_map(|(from, to)| between(file, target, value, from, to)));
}

fn expression(file: &SourceFile, e: &Expr, names: &Names, found: &mut Found) {
    let text = |e: &Expr| file.slice(e.span).to_owned();
    let mut put = |text: String| found.push(Edit::new(e.span, text));
    match &e.kind {
        ExprKind::Int(value) => {
            put((value + 1).to_string());
            put((value - 1).to_string());
        }
        ExprKind::Float(value) => {
            for other in ["0.0", "1.0", MINUS_INFINITY] {
                put(other.to_owned());
            }
            put(format!("(-{value:?})"));
        }
        ExprKind::Name(name) => {
            let size = names.sizes.contains(name) || names.strides.contains(name);
            let likely = if size { Likely::Size } else { Likely::Variable };
            found.list.extend(names.others(name).map(|other| (likely, Edit::new(e.span, other.clone()))));
        }
        ExprKind::Unary(_, inner) => put(grouped(file, inner)),
        ExprKind::Compare { left, rest } => {
            let [(op, right)] = &rest[..] else { return };
            let signs: &[(&str, &str)] = match op {
                CompareOp::Lt => &[("<", "<="), ("<", ">"), ("<", ">=")],
                CompareOp::Le => &[("<=", "<"), ("<=", ">")],
                CompareOp::Gt => &[(">", ">="), (">", "<"), (">", "<=")],
                CompareOp::Ge => &[(">=", ">"), (">=", "<")],
                CompareOp::Eq => &[("==", "!=")],
                CompareOp::Ne => &[("!=", "==")],
                CompareOp::Is | CompareOp::IsNot | CompareOp::In | CompareOp::NotIn => &[],
            };
            found.extend(signs.iter().filter_map(|(from, to)| between(file, left, right, from, to)));
            if !counts(right) {
                found.push(Edit::new(right.span, format!("{} + 1", text(right))));
                found.push(Edit::new(right.span, format!("{} - 1", text(right))));
            }
        }
        ExprKind::Binary(op, a, b) => {
            put(grouped(file, a));
            put(grouped(file, b));
            let (sign, others): (&str, &[&str]) = match op {
                BinaryOp::Add => ("+", &["-", "*"]),
                BinaryOp::Sub => ("-", &["+"]),
                BinaryOp::Mul => ("*", &["/", "+"]),
                BinaryOp::Div => ("/", &["*"]),
                BinaryOp::FloorDiv => ("//", &["%"]),
                BinaryOp::Mod => ("%", &["//"]),
                BinaryOp::BitAnd => ("&", &["|"]),
                BinaryOp::BitOr => ("|", &["&"]),
                BinaryOp::Pow | BinaryOp::MatMul | BinaryOp::BitXor | BinaryOp::Shl | BinaryOp::Shr => ("", &[]),
            };
            found.extend(others.iter().filter_map(|to| between(file, a, b, sign, to)));
            if matches!(op, BinaryOp::Sub | BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod) {
                found.push(Edit::new(e.span, format!("{} {sign} {}", grouped(file, b), grouped(file, a))));
            }
        }
        ExprKind::Call { func, args, keywords: _ } => call(file, (e, func, args), found),
        _ => {}
    }
}

/// Another function, arguments exchanged, an argument for the whole.
fn call(file: &SourceFile, (e, func, args): (&Expr, &Expr, &[Expr]), found: &mut Found) {
    let name = called(func);
    let others: &[&str] = match name.as_str() {
        "maximum" => &["minimum"],
        "minimum" => &["maximum"],
        "max" => &["min", "sum"],
        "min" => &["max"],
        "sum" => &["max"],
        "exp" => &["exp2"],
        "exp2" => &["exp"],
        "log" => &["log2"],
        "log2" => &["log"],
        "sqrt" => &["rsqrt"],
        "rsqrt" => &["sqrt"],
        "sin" => &["cos"],
        "cos" => &["sin"],
        _ => &[],
    };
    let end = func.span.end as usize;
    let last = Span::new(end - name.len().min(end), end);
    if file.slice(last) == name {
        found.extend(others.iter().map(|other| Edit::new(last, *other)));
    }
    match (name.as_str(), args) {
        ("float", [Expr { kind: ExprKind::Str(_), .. }]) => {
            found.extend(["0.0", MINUS_INFINITY, "float(\"inf\")"].map(|other| Edit::new(e.span, other)));
        }
        ("zeros", [shape, rest @ ..]) if rest.len() < 2 => {
            let filled = format!("tl.full({}, {MINUS_INFINITY}", file.slice(shape.span));
            found.push(Edit::new(Span { start: e.span.start, end: shape.span.end }, filled));
        }
        ("to", [_]) => {
            if let ExprKind::Attribute { value, name: _ } = &func.kind {
                found.push(Edit::new(e.span, file.slice(value.span)));
                found.push(Edit::new(args[0].span, "tl.float32"));
            }
        }
        ("where", [_, a, b]) => {
            found.push(Edit::new(e.span, grouped(file, a)));
            found.push(Edit::new(e.span, grouped(file, b)));
            found.push(exchanged(file, a, b));
        }
        ("maximum" | "minimum" | "div_rn" | "fdiv" | "dot" | "cdiv", [a, b, ..]) => {
            found.push(exchanged(file, a, b));
            found.push(Edit::new(e.span, grouped(file, a)));
            found.push(Edit::new(e.span, grouped(file, b)));
        }
        ("range" | "static_range", args) => {
            // The last of `range(n)`, `range(first, end)` and `range(first, end, step)` that is no step.
            if let Some(end) = args.get(usize::from(args.len() > 1)).filter(|end| !counts(end)) {
                found.push(Edit::new(end.span, format!("{} + 1", grouped(file, end))));
                found.push(Edit::new(end.span, format!("{} - 1", grouped(file, end))));
            }
        }
        ("abs" | "exp" | "exp2" | "log" | "log2" | "sqrt" | "rsqrt" | "sigmoid", [a]) => {
            found.push(Edit::new(e.span, grouped(file, a)));
        }
        ("store", [_, value, ..]) => {
            let text = file.slice(value.span);
            found.push(Edit::new(value.span, format!("tl.where({text} < 0, 0.0, {text})")));
        }
        _ => {}
    }
}

/// Whether a number that is added or taken away stands there already, and has edits of its own.
fn counts(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Int(_) => true,
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, _, b) => matches!(b.kind, ExprKind::Int(_)),
        _ => false,
    }
}

/// Exchanges a sign between two expressions.
fn between(file: &SourceFile, a: &Expr, b: &Expr, from: &str, to: &str) -> Option<Edit> {
    let gap = Span { start: a.span.end, end: b.span.start };
    let at = gap.start as usize + file.slice(gap).find(from)?;
    Some(Edit::new(Span::new(at, at + from.len()), to))
}

fn exchanged(file: &SourceFile, a: &Expr, b: &Expr) -> Edit {
    let gap = file.slice(Span { start: a.span.end, end: b.span.start });
    Edit::new(a.span.to(b.span), format!("{}{gap}{}", file.slice(b.span), file.slice(a.span)))
}

/// The text of an expression, in parentheses where it could fall apart.
pub fn grouped(file: &SourceFile, e: &Expr) -> String {
    let text = file.slice(e.span);
    match &e.kind {
        ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Compare { .. } | ExprKind::Logical(..) => format!("({text})"),
        ExprKind::Conditional { .. } | ExprKind::Lambda { .. } => format!("({text})"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse_module;

    fn proposed(line: &str) -> Vec<String> {
        let file = SourceFile::new("k.py", line);
        let module = parse_module(&file).unwrap();
        let name = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        let strides = name(&["x_stride_h", "x_stride_w", "y_stride_h"]);
        let names = Names { sizes: name(&["K", "N"]), strides, loaded: name(&["left", "right"]), bound: name(&["acc"]) };
        edits(&file, &module.body[0], &names).iter().map(|(_, edit)| edit.apply(&file)).collect()
    }

    #[test]
    fn slips_of_one_place_are_among_what_is_proposed() {
        for (line, mended) in [
            ("m = k < K - 1", "m = k < K"),
            ("m = k < K", "m = k < K + 1"),
            ("m = k <= K", "m = k < K"),
            ("y = a - b", "y = b - a"),
            ("y = total * n", "y = total / n"),
            ("y = left + left", "y = right + left"),
            ("p = x_ptr + h * x_stride_w", "p = x_ptr + h * x_stride_h"),
            ("y = tl.exp2(x)", "y = tl.exp(x)"),
            ("y = tl.where(c, a, b)", "y = tl.where(c, b, a)"),
            ("y = x.to(tl.float16)", "y = x"),
            ("best = tl.zeros((4, 4), dtype=tl.float32)", "best = tl.full((4, 4), float(\"-inf\"), dtype=tl.float32)"),
            ("acc = tl.dot(a, b)", "acc += tl.dot(a, b)"),
            ("total += left", "total += left * left"),
            ("y = total", "y = tl.div_rn(total, acc)"),
            ("b = BIAS + ALPHA * total", "b = BIAS + ALPHA / N * total"),
            ("y = x * tl.exp(B * tl.log(b))", "y = x * tl.exp(-B * tl.log(b))"),
            ("r = gk % K", "r = gk // N % K"),
            ("tl.store(y_ptr, acc)", "tl.store(y_ptr, tl.where(acc < 0, 0.0, acc))"),
        ] {
            let all = proposed(line);
            assert!(all.iter().any(|text| text == mended), "{line}: {all:#?}");
        }
        let header = "for r in range(K - 1):\n    pass\n";
        assert!(proposed(header).iter().any(|text| text == "for r in range(K):\n    pass\n"));
        assert!(proposed("for r in range(1, K):\n    pass\n").iter().any(|text| text.starts_with("for r in range(0, K)")));
    }

    #[test]
    fn strides_of_other_operands_and_targets_stay() {
        let all = proposed("acc = h * x_stride_h");
        assert!(all.iter().all(|text| !text.contains("y_stride_h") && text.starts_with("acc ")), "{all:#?}");
    }
}
