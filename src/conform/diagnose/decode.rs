//! Flat indices that are taken apart inconsistently.
//!
//! `n = i // (P * Q)`, `p = i // Q % P`, `q = i % Q` are digits of one number in mixed radix: each digit
//! begins where the one below it ends, and only the highest has no size. Lines that take the same
//! index apart must fit together, whatever the sizes are; where all but one do, that one is wrong. Two that
//! are the same, or that could both be it, are told apart by their own names: `p` is a digit of size `P`, so
//! that `p = i // P` and `n = i % P` contradict themselves.
//!
//! A divisor that differs between lanes takes nothing apart. Not understood, and passed over: indices
//! that are decoded in other ways (swizzles), and single digits.

use std::collections::BTreeMap;

use super::varying::{Varying, functions};
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, FunctionDef, Module, StmtKind};
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

/// A product of names and numbers, sorted.
type Product = Vec<String>;

/// One digit: `index // divisor % size`.
#[derive(Clone, Debug, PartialEq)]
struct Digit {
    divisor: Product,
    size: Option<Product>,
    /// The name that it becomes, where the statement assigns it to one.
    target: Option<String>,
    stmt: Span,
}

/// How a statement takes an index apart.
enum Form {
    Digit(Digit),
    /// The whole index stands where a digit would.
    Whole(Span),
    /// In a way that is no digit.
    Odd(Span),
}

/// Statements that contradict the others, or themselves, with what is wrong.
pub fn contradictions(module: &Module, varying: &Varying) -> Vec<(Span, String)> {
    let mut found = Vec::new();
    for function in functions(module) {
        let mut families: BTreeMap<String, Vec<Form>> = BTreeMap::new();
        each_stmt(&function.body, &mut |stmt| {
            let target = match &stmt.kind {
                StmtKind::Assign { targets, value: _ } => targets.first().and_then(Expr::as_name),
                _ => None,
            };
            for expr in own_exprs(stmt) {
                let reader = Reader { function, varying, target, stmt: super::flow::header(stmt) };
                reader.read(expr, &mut families, &mut found);
            }
            if let StmtKind::Assign { targets: _, value } = &stmt.kind
                && let Some(index) = whole(value)
            {
                families.entry(index.to_owned()).or_default().push(Form::Whole(stmt.span));
            }
        });
        for (index, forms) in families {
            found.extend(outlier(&forms).map(|(span, how)| (span, format!("{how} `{index}`, against the lines beside it"))));
        }
    }
    found
}

/// An index that an assignment takes as it is, or spreads over a block: `i`, `i * B + tl.arange(0, B)`.
fn whole(value: &Expr) -> Option<&str> {
    match &value.kind {
        ExprKind::Binary(BinaryOp::Add, a, b) if is_range(b) => match &a.kind {
            ExprKind::Binary(BinaryOp::Mul, index, _) => base(index),
            _ => base(a),
        },
        _ => base(value),
    }
}

fn is_range(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call { func, .. } if super::flow::called(func) == "arange")
}

/// The name of an index, perhaps spread along an axis: `i`, `i[:, None]`.
pub fn base(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Subscript { value, index: _ } => value.as_name(),
        _ => None,
    }
}

struct Reader<'a> {
    function: &'a FunctionDef,
    varying: &'a Varying,
    target: Option<&'a str>,
    stmt: Span,
}

impl Reader<'_> {
    fn read(&self, expr: &Expr, families: &mut BTreeMap<String, Vec<Form>>, found: &mut Vec<(Span, String)>) {
        let mut taken: Vec<Span> = Vec::new();
        each_expr(expr, &mut |e| {
            let inside = taken.iter().any(|t| t.start <= e.span.start && e.span.end <= t.end);
            let ExprKind::Binary(BinaryOp::FloorDiv | BinaryOp::Mod, _, divisor) = &e.kind else { return };
            if self.varies(divisor) {
                found.push((self.stmt, "divides by what differs between lanes".to_owned()));
                taken.push(e.span);
                return;
            }
            if inside {
                return;
            }
            if let Some((index, form)) = self.form(e) {
                taken.push(e.span);
                families.entry(index.to_owned()).or_default().push(form);
            }
        });
    }

    fn varies(&self, expr: &Expr) -> bool {
        self.varying.expr(&self.function.name, expr)
    }

    /// A chain of divisions and remainders of one varying name.
    fn form<'e>(&self, expr: &'e Expr) -> Option<(&'e str, Form)> {
        let mut steps = Vec::new();
        let mut inner = expr;
        while let ExprKind::Binary(op @ (BinaryOp::FloorDiv | BinaryOp::Mod), a, b) = &inner.kind {
            steps.push((*op, b.as_ref()));
            inner = a;
        }
        let index = base(inner).filter(|name| self.varying.name(&self.function.name, name))?;
        let mut divisor = Product::new();
        let mut size = None;
        for (op, by) in steps.into_iter().rev() {
            let factors = product(by);
            match (op, factors, &size) {
                (BinaryOp::FloorDiv, Some(factors), None) => divisor.extend(factors),
                (BinaryOp::Mod, Some(factors), None) => size = Some(factors),
                _ => return Some((index, Form::Odd(self.stmt))),
            }
        }
        divisor.sort();
        Some((index, Form::Digit(Digit { divisor, size, target: self.target.map(str::to_owned), stmt: self.stmt })))
    }
}

fn product(expr: &Expr) -> Option<Product> {
    match &expr.kind {
        ExprKind::Name(name) => Some(vec![name.clone()]),
        ExprKind::Int(number) => Some(vec![number.to_string()]),
        ExprKind::Binary(BinaryOp::Mul, a, b) => {
            let mut factors = product(a)?;
            factors.extend(product(b)?);
            factors.sort();
            Some(factors)
        }
        _ => None,
    }
}

/// The one form that does not fit the others.
fn outlier(forms: &[Form]) -> Option<(Span, &'static str)> {
    let digits: Vec<&Digit> = distinct(forms);
    let odd: Vec<Span> = forms.iter().filter_map(|f| if let Form::Odd(span) = f { Some(*span) } else { None }).collect();
    if let [first, rest @ ..] = odd.as_slice() {
        let one = rest.iter().all(|span| span == first);
        return (one && !digits.is_empty() && fit(&digits)).then_some((*first, "is no digit of"));
    }
    if digits.is_empty() {
        return None;
    }
    if fit(&digits) {
        // Nobody takes the lowest digit, and somebody takes the whole instead.
        let lowest = digits.iter().any(|d| d.divisor.is_empty());
        let whole: Vec<Span> = forms.iter().filter_map(|f| if let Form::Whole(span) = f { Some(*span) } else { None }).collect();
        return match whole.as_slice() {
            [span] if !lowest => Some((*span, "does not take the remainder of")),
            _ => digits.iter().find(|d| denies_itself(d, &digits)).map(|d| (d.stmt, "takes another name's digit of")),
        };
    }
    let without = |i: usize| -> Vec<&Digit> { digits.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, d)| *d).collect() };
    let candidates: Vec<usize> = (0..digits.len()).filter(|&i| fit(&without(i))).collect();
    let named: Vec<usize> = candidates.iter().copied().filter(|&i| denies_itself(digits[i], &digits)).collect();
    let gaps: Vec<usize> = candidates.iter().copied().filter(|&i| leaves_a_gap(&without(i))).collect();
    let chosen = [candidates, named, gaps].into_iter().find_map(|set| if let [one] = set[..] { Some(one) } else { None })?;
    Some((digits[chosen].stmt, "takes no digit of"))
}

/// Digits, equal ones of one name once.
fn distinct(forms: &[Form]) -> Vec<&Digit> {
    let mut found: Vec<&Digit> = Vec::new();
    for form in forms {
        if let Form::Digit(digit) = form
            && !found.iter().any(|d| d.divisor == digit.divisor && d.size == digit.size && d.target == digit.target)
        {
            found.push(digit);
        }
    }
    found
}

/// Whether digits stand side by side, gaps allowed.
fn fit(digits: &[&Digit]) -> bool {
    let mut sorted: Vec<&&Digit> = digits.iter().collect();
    sorted.sort_by_key(|d| (d.divisor.len(), d.size.is_none()));
    sorted.windows(2).all(|pair| match &pair[0].size {
        None => false,
        Some(size) => {
            let mut end: Vec<&String> = pair[0].divisor.iter().chain(size).collect();
            end.sort();
            is_part(&end, &pair[1].divisor)
        }
    })
}

/// Whether every factor is one of a product.
fn is_part(factors: &[&String], product: &Product) -> bool {
    let mut rest: Vec<&String> = product.iter().collect();
    factors.iter().all(|factor| match rest.iter().position(|r| r == factor) {
        Some(at) => {
            rest.remove(at);
            true
        }
        None => false,
    })
}

/// Whether digits that fit leave room for one more: below, between, or above.
fn leaves_a_gap(digits: &[&Digit]) -> bool {
    let mut sorted: Vec<&&Digit> = digits.iter().collect();
    sorted.sort_by_key(|d| d.divisor.len());
    let below = sorted.first().is_none_or(|d| !d.divisor.is_empty());
    let above = sorted.last().is_some_and(|d| d.size.is_some());
    let between =
        sorted.windows(2).any(|pair| pair[0].divisor.len() + pair[0].size.as_ref().map_or(0, Vec::len) < pair[1].divisor.len());
    below || above || between
}

/// Whether a digit's name says that it is another one of its family: `p = i // P`, `n = i % P`.
fn denies_itself(digit: &Digit, family: &[&Digit]) -> bool {
    let Some(target) = digit.target.as_deref() else { return false };
    let own = digit.divisor.iter().any(|size| owner(size) == target);
    let foreign = match digit.size.as_deref() {
        Some([size]) => owner(size) != target && family.iter().any(|d| d.target.as_deref() == Some(&owner(size))),
        Some(_) | None => false,
    };
    own || foreign
}

/// The name that a size belongs to: `p` of `P`, `tiles_p` and `BIN_P`.
pub fn owner(size: &str) -> String {
    size.rsplit('_').next().unwrap_or(size).to_ascii_lowercase()
}
