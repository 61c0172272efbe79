//! What a kernel is given or computes and never reads, put back where it may have stood.
//!
//! A bias that is loaded and added nowhere, `PAD_H` in no statement while `PAD_W` is in one. How a parameter was used is
//! its twin's to say, the parameter that differs in its last part: by the same operator, beside an expression of the same
//! form. A variable is added, multiplied, taken away, divided by, or stands for another, after it is bound and where
//! nothing is addressed.
//!
//! Not found: what is read elsewhere besides; parameters without a twin, some of which right kernels do not read either.

use crate::conform::diagnose::header;
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, FunctionDef, Stmt, StmtKind};
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

use super::edits::{Edit, grouped};

/// By our names: a product with a stride, or a statement with a pointer, is an address, and no value is put back there.
const STRIDE: &str = "_stride_";
const POINTER: &str = "_ptr";

/// The edits of a function that read what it does not, each with its statement.
pub fn edits(file: &SourceFile, function: &FunctionDef) -> Vec<(Span, Edit)> {
    let mut statements = Vec::new();
    each_stmt(&function.body, &mut |stmt| statements.push(stmt));
    let parameters: Vec<&str> = function.params.iter().map(|param| param.name.as_str()).collect();
    let variables: Vec<&str> = statements.iter().filter_map(|stmt| target(stmt)).collect();
    let mut read = Vec::new();
    for stmt in &statements {
        each_value(stmt, &mut |e| read.extend(e.as_name()));
    }
    let mut found = Vec::new();
    for name in parameters.iter().filter(|name| !read.contains(*name)) {
        let twin = read.iter().find(|other| is_twin(name, other));
        let twins = twin.map_or(Vec::new(), |twin| uses(&statements, twin));
        each_place(&statements, &mut |stmt, e| {
            let fits = |(_, beside): &&(&str, bool)| match &e.kind {
                ExprKind::Name(other) => *beside && variables.contains(&other.as_str()),
                ExprKind::Binary(BinaryOp::Mul, ..) => !*beside && !file.slice(e.span).contains(STRIDE),
                _ => false,
            };
            for (sign, _) in twins.iter().filter(fits) {
                found.push((header(stmt), Edit::new(e.span, format!("({} {sign} {name})", grouped(file, e)))));
            }
        });
    }
    for name in variables.iter().filter(|name| !read.contains(*name)) {
        let bound = statements.iter().position(|stmt| target(stmt) == Some(name));
        let bound = bound.expect("invariant: variables are what statements bind");
        let after = statements[bound + 1..].iter().copied().filter(|stmt| !file.slice(header(stmt)).contains(POINTER));
        each_place(&after.collect::<Vec<_>>(), &mut |stmt, e| {
            let mut put = |span: Span, text: String| found.push((header(stmt), Edit::new(span, text)));
            match &e.kind {
                ExprKind::Name(other) if other != name && variables.contains(&other.as_str()) => {
                    for sign in ["+", "*", "-"] {
                        put(e.span, format!("({other} {sign} {name})"));
                    }
                    put(e.span, format!("tl.div_rn({other}, {name})"));
                    put(e.span, (*name).to_owned());
                }
                ExprKind::Binary(BinaryOp::Div, _, divisor) => put(divisor.span, (*name).to_owned()),
                _ => {}
            }
        });
    }
    found
}

/// Whether two names differ in their last part alone.
fn is_twin(name: &str, other: &str) -> bool {
    name != other && matches!((name.rsplit_once('_'), other.rsplit_once('_')), (Some((a, _)), Some((b, _))) if a == b)
}

/// The operators to whose right a name stands, and whether to their left stands a name.
fn uses(statements: &[&Stmt], name: &str) -> Vec<(&'static str, bool)> {
    let mut found = Vec::new();
    each_place(statements, &mut |_, e| {
        if let ExprKind::Binary(op, a, b) = &e.kind
            && b.as_name() == Some(name)
        {
            let sign = match op {
                BinaryOp::Add => "+",
                BinaryOp::Sub => "-",
                BinaryOp::Mul => "*",
                _ => return,
            };
            found.push((sign, a.as_name().is_some()));
        }
    });
    found
}

/// The name that a statement binds.
fn target(stmt: &Stmt) -> Option<&str> {
    match &stmt.kind {
        StmtKind::Assign { targets, value: _ } => match &targets[..] {
            [target] => target.as_name(),
            _ => None,
        },
        _ => None,
    }
}

/// The expressions of a statement that are no target of it: `count += 1` reads no count but for itself.
fn each_value<'a>(stmt: &'a Stmt, f: &mut impl FnMut(&'a Expr)) {
    let skipped = match &stmt.kind {
        StmtKind::AugAssign { target, .. } => usize::from(target.as_name().is_some()),
        _ => usize::from(target(stmt).is_some()),
    };
    own_exprs(stmt).into_iter().skip(skipped).for_each(|expr| each_expr(expr, f));
}

fn each_place<'a>(statements: &[&'a Stmt], f: &mut impl FnMut(&'a Stmt, &'a Expr)) {
    for stmt in statements {
        each_value(stmt, &mut |e| f(stmt, e));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conform::diagnose::functions;
    use crate::syntax::parse_module;

    fn proposed(params: &str, body: &[&str]) -> Vec<String> {
        let text = format!("def k({params}):\n{}", body.iter().map(|line| format!("    {line}\n")).collect::<String>());
        let file = SourceFile::new("k.py", &text);
        let module = parse_module(&file).unwrap();
        let function = functions(&module).next().unwrap();
        let after = edits(&file, function).into_iter().map(|(_, edit)| edit.apply(&file));
        after.map(|text| text.lines().skip(1).map(str::trim).collect::<Vec<_>>().join("; ")).collect()
    }

    #[test]
    fn a_parameter_is_put_back_as_its_twin_stands() {
        let all = proposed("p, q, S, PAD_H, PAD_W", &["h = p * S", "w = q * S - PAD_W", "use(h, w)"]);
        let own = "h = ((p * S) - PAD_H); w = q * S - PAD_W; use(h, w)";
        assert_eq!(all, [own, "h = p * S; w = ((q * S) - PAD_H) - PAD_W; use(h, w)"]);
        let all = proposed("DIL_H, DIL_W", &["r = of()", "s = of()", "h = r * DIL_H", "w = s + 1", "use(h, w)"]);
        assert!(all.contains(&"r = of(); s = of(); h = r * DIL_H; w = (s * DIL_W) + 1; use(h, w)".to_owned()), "{all:#?}");
    }

    #[test]
    fn a_variable_is_put_back_beside_others() {
        let all = proposed("acc", &["t = of(acc)", "bias = load()", "y = t", "store(y)"]);
        assert!(all.contains(&"t = of(acc); bias = load(); y = (t + bias); store(y)".to_owned()), "{all:#?}");
        assert!(all.contains(&"t = of(acc); bias = load(); y = bias; store(y)".to_owned()), "{all:#?}");
        let all = proposed("N, C", &["count = 0", "count += 1", "y = sum() / (N * C)", "store(y)"]);
        assert!(all.contains(&"count = 0; count += 1; y = sum() / (count); store(y)".to_owned()), "{all:#?}");
    }

    #[test]
    fn what_is_read_is_left_alone() {
        assert_eq!(proposed("PAD_H, PAD_W, N", &["y = PAD_H + PAD_W", "store(y)"]), Vec::<String>::new());
        // Nothing says how N was used.
        assert_eq!(proposed("N, C", &["y = C * 2", "store(y)"]), Vec::<String>::new());
    }
}
