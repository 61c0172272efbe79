//! A Map's scalar expression as Triton statements.
//!
//! 16- and 8-bit floats are computed in fp32: a fused chain drops their intermediate roundings and
//! adds none; explicit casts stay. Values used twice, and texts that grow long, get a name.
//! `max(x, 0)` is a `where`, other NaN-keeping extrema name their rule: `tl.maximum` alone drops NaN.
//!
//! `triton.language` itself has no tanh and no rounding to even: tanh is 1 − 2t/(1 + t) with
//! t = e^(−2|x|), and its Taylor polynomial of degree 9 where |x| < ¼ (next term below 1e-8
//! relative); rounding adds and subtracts 1.5·2^m, m the mantissa's bits. Not printed: powers other
//! than −1, 1, 2, 3.

use super::names::Names;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::expr::print::float_text;
use crate::expr::{Binary, Compare, Constant, Expr, ExprId, Node, Unary, operands};

/// Binding strength of a Python text, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    Compare,
    Or,
    Xor,
    And,
    Sum,
    Product,
    Unary,
    Atom,
}

/// A Python expression with how strongly it binds.
#[derive(Clone, Debug)]
pub struct Text {
    pub text: String,
    pub strength: Strength,
}

impl Text {
    pub fn atom(text: impl Into<String>) -> Text {
        Text { text: text.into(), strength: Strength::Atom }
    }

    pub fn new(text: String, strength: Strength) -> Text {
        Text { text, strength }
    }

    /// The text, in brackets where it binds weaker than needed.
    pub fn at(&self, needed: Strength) -> String {
        if self.strength < needed { format!("({})", self.text) } else { self.text.clone() }
    }
}

/// The dtype that a value of `dtype` is computed in.
pub fn compute_dtype(dtype: DType) -> DType {
    dtype.computed_in()
}

/// Expressions longer than this are split into named statements.
const LONG: usize = 72;

/// What stands for reads and coordinates, and where statements go.
pub struct Printer<'a> {
    /// The k-th read, already in its compute dtype.
    pub reads: &'a [String],
    /// The k-th output coordinate.
    pub coordinate: &'a dyn Fn(usize) -> Text,
    pub names: &'a mut Names,
    /// `name = text`, in order.
    pub statements: Vec<(String, String)>,
}

impl Printer<'_> {
    /// The root's text; statements it needs are appended first.
    pub fn print(&mut self, expr: &Expr) -> Result<Text> {
        let mut uses = vec![0usize; expr.nodes().len()];
        for &(node, _) in expr.nodes() {
            operands(node, |id| uses[id.0 as usize] += 1);
        }
        let mut texts: Vec<Text> = Vec::with_capacity(expr.nodes().len());
        for (i, &(node, dtype)) in expr.nodes().iter().enumerate() {
            let mut text = self.node(expr, node, dtype, &mut texts)?;
            let twice = uses[i] > 1 && (text.strength != Strength::Atom || text.text.contains('('));
            if twice && !matches!(node, Node::Constant(_) | Node::Read(_)) {
                text = self.name(text);
            }
            texts.push(text);
        }
        Ok(texts.pop().expect("invariant: an expression has a root"))
    }

    fn name(&mut self, text: Text) -> Text {
        let name = self.names.fresh("t");
        self.statements.push((name.clone(), text.text));
        Text::atom(name)
    }

    fn node(&mut self, expr: &Expr, node: Node, dtype: DType, texts: &mut [Text]) -> Result<Text> {
        // Long operands become statements before they are used.
        let mut total = 0;
        operands(node, |id| total += texts[id.0 as usize].text.len());
        if total > LONG {
            let mut long = Vec::new();
            operands(node, |id| long.push(id.0 as usize));
            for i in long {
                if texts[i].text.len() > LONG / 3 {
                    texts[i] = self.name(texts[i].clone());
                }
            }
        }
        for id in repeated(node, dtype, |id| expr.nodes()[id.0 as usize].0) {
            let text = &texts[id.0 as usize];
            if text.strength != Strength::Atom || text.text.contains('(') {
                texts[id.0 as usize] = self.name(text.clone());
            }
        }
        let of = |id: ExprId| &texts[id.0 as usize];
        let ty = |id: ExprId| expr.nodes()[id.0 as usize].1;
        let constant = |id: ExprId| if let Node::Constant(c) = expr.nodes()[id.0 as usize].0 { Some(c) } else { None };
        let call = |name: &str, args: &[ExprId]| {
            let args: Vec<&str> = args.iter().map(|&a| of(a).text.as_str()).collect();
            Text::atom(format!("{name}({})", args.join(", ")))
        };
        Ok(match node {
            Node::Read(k) => Text::atom(self.reads[k as usize].clone()),
            Node::Coordinate(k) => {
                let text = (self.coordinate)(k as usize);
                if dtype == DType::I32 { text } else { cast(&text, dtype) }
            }
            Node::Constant(c) => literal(c, dtype),
            Node::Unary(op, a) => match op {
                Unary::Neg => Text::new(format!("-{}", of(a).at(Strength::Unary)), Strength::Unary),
                Unary::Not => Text::new(format!("~{}", of(a).at(Strength::Unary)), Strength::Unary),
                Unary::Abs => call("tl.abs", &[a]),
                Unary::Exp => call("tl.exp", &[a]),
                Unary::Log => call("tl.log", &[a]),
                Unary::Sqrt if compute_dtype(dtype) == DType::F32 => call("tl.sqrt_rn", &[a]),
                Unary::Sqrt => call("tl.sqrt", &[a]),
                Unary::Rsqrt => call("tl.rsqrt", &[a]),
                Unary::Sin => call("tl.sin", &[a]),
                Unary::Cos => call("tl.cos", &[a]),
                Unary::Erf => call("tl.erf", &[a]),
                Unary::Sigmoid => call("tl.sigmoid", &[a]),
                Unary::Floor => call("tl.floor", &[a]),
                Unary::Ceil => call("tl.ceil", &[a]),
                Unary::Tanh => tanh(self, &of(a).text.clone()),
                Unary::RoundEven => {
                    let (limit, magic) = if dtype == DType::F64 {
                        ("2251799813685248.0", "6755399441055744.0")
                    } else {
                        ("4194304.0", "12582912.0")
                    };
                    let x = &of(a).text;
                    Text::atom(format!("tl.where(tl.abs({x}) < {limit}, {x} + {magic} - {magic}, {x})"))
                }
            },
            Node::Binary(op, a, b) => {
                let infix = |symbol: &str, strength: Strength| {
                    let tighter = match strength {
                        Strength::Sum => Strength::Product,
                        Strength::Product => Strength::Unary,
                        other => other,
                    };
                    // a + (b + c) keeps its brackets: floats do not reassociate.
                    let right = if matches!(strength, Strength::Sum | Strength::Product) { tighter } else { strength };
                    Text::new(format!("{} {symbol} {}", of(a).at(strength), of(b).at(right)), strength)
                };
                match op {
                    Binary::Add => infix("+", Strength::Sum),
                    Binary::Sub => infix("-", Strength::Sum),
                    Binary::Mul => infix("*", Strength::Product),
                    Binary::Div => infix("/", Strength::Product),
                    Binary::DivTrunc => infix("//", Strength::Product),
                    Binary::DivFloor if dtype.is_unsigned() => infix("//", Strength::Product),
                    Binary::DivFloor => {
                        let (x, y) = (of(a).at(Strength::Unary), of(b).at(Strength::Unary));
                        let odd = format!("(({x} % {y} != 0) & (({x} < 0) != ({y} < 0)))");
                        Text::new(format!("{x} // {y} - {odd}.to(tl.{})", dtype.triton_name()), Strength::Sum)
                    }
                    Binary::MaxNan | Binary::MinNan if is_zero(constant(b)) => {
                        let symbol = if op == Binary::MaxNan { "<" } else { ">" };
                        let x = of(a);
                        Text::atom(format!("tl.where({} {symbol} 0, 0, {})", x.at(Strength::Or), x.text))
                    }
                    Binary::MaxNan if dtype.is_float() => nan_keeping("tl.maximum", of(a), of(b)),
                    Binary::MinNan if dtype.is_float() => nan_keeping("tl.minimum", of(a), of(b)),
                    Binary::MaxNan | Binary::MaxNum => call("tl.maximum", &[a, b]),
                    Binary::MinNan | Binary::MinNum => call("tl.minimum", &[a, b]),
                    Binary::And => infix("&", Strength::And),
                    Binary::Or => infix("|", Strength::Or),
                    Binary::Xor => infix("^", Strength::Xor),
                    Binary::Pow => return power(of(a), constant(b)).ok_or_else(|| unprintable("pow")),
                }
            }
            Node::Compare(op, a, b) => {
                // Coordinates fit 32 bits, so comparing them needs no 64-bit lanes.
                let narrow = |id: ExprId, with: ExprId| {
                    if let (Node::Coordinate(k), Some(Constant::Int(_))) = (expr.nodes()[id.0 as usize].0, constant(with)) {
                        (self.coordinate)(k as usize)
                    } else {
                        of(id).clone()
                    }
                };
                let (left, right) = (narrow(a, b), narrow(b, a));
                let symbol = match op {
                    Compare::Eq => "==",
                    Compare::Ne => "!=",
                    Compare::Lt => "<",
                    Compare::Le => "<=",
                    Compare::Gt => ">",
                    Compare::Ge => ">=",
                };
                Text::new(format!("{} {symbol} {}", left.at(Strength::Or), right.at(Strength::Or)), Strength::Compare)
            }
            Node::Select(c, a, b) => {
                let select = call("tl.where", &[c, a, b]);
                // Two literals give Triton no type to keep.
                if constant(a).is_some() && constant(b).is_some() { cast(&select, compute_dtype(dtype)) } else { select }
            }
            Node::Cast(a) => match (ty(a), dtype) {
                (_, DType::Bool) => Text::new(format!("{} != 0", of(a).at(Strength::Or)), Strength::Compare),
                // The value is rounded to the narrow type, then computed with in fp32 again.
                (_, narrow) if compute_dtype(narrow) != narrow => cast(&cast(of(a), narrow), DType::F32),
                (from, to) if compute_dtype(from) == to => of(a).clone(),
                (_, to) => cast(of(a), to),
            },
        })
    }
}

/// Operands whose text stands twice in the node's own.
fn repeated(node: Node, dtype: DType, of: impl Fn(ExprId) -> Node) -> Vec<ExprId> {
    match node {
        Node::Binary(op, a, b) => match op {
            Binary::MaxNan | Binary::MinNan => match of(b) {
                Node::Constant(c) if is_zero(Some(c)) => vec![a],
                Node::Constant(_) | Node::Read(_) | Node::Coordinate(_) => Vec::new(),
                Node::Unary(..) | Node::Binary(..) | Node::Compare(..) | Node::Select(..) | Node::Cast(_) => Vec::new(),
            },
            Binary::DivFloor if !dtype.is_unsigned() => vec![a, b],
            Binary::Pow => vec![a],
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::DivTrunc | Binary::DivFloor => Vec::new(),
            Binary::MinNum | Binary::MaxNum | Binary::And | Binary::Or | Binary::Xor => Vec::new(),
        },
        Node::Unary(op, a) => match op {
            Unary::Tanh | Unary::RoundEven => vec![a],
            Unary::Neg | Unary::Not | Unary::Abs | Unary::Exp | Unary::Log | Unary::Sqrt | Unary::Rsqrt => Vec::new(),
            Unary::Sin | Unary::Cos | Unary::Erf | Unary::Sigmoid | Unary::Floor | Unary::Ceil => Vec::new(),
        },
        Node::Read(_) | Node::Coordinate(_) | Node::Constant(_) => Vec::new(),
        Node::Compare(..) | Node::Select(..) | Node::Cast(_) => Vec::new(),
    }
}

fn is_zero(constant: Option<Constant>) -> bool {
    match constant {
        Some(Constant::Float(bits)) => f64::from_bits(bits) == 0.0,
        Some(Constant::Int(i)) => i == 0,
        Some(Constant::Bool(_)) | None => false,
    }
}

fn nan_keeping(function: &str, a: &Text, b: &Text) -> Text {
    Text::atom(format!("{function}({}, {}, propagate_nan=tl.PropagateNan.ALL)", a.text, b.text))
}

/// See the head of this file.
fn tanh(printer: &mut Printer<'_>, x: &str) -> Text {
    let t = printer.name(Text::atom(format!("tl.exp(-2.0 * tl.abs({x}))"))).text;
    let far = printer.name(Text::atom(format!("(1.0 - {t}) / (1.0 + {t})"))).text;
    let s = printer.name(Text::atom(format!("{x} * {x}"))).text;
    let (c3, c5, c7, c9) = (1.0 / 3.0, 2.0 / 15.0, 17.0 / 315.0, 62.0 / 2835.0);
    let high = printer.name(Text::atom(format!("{c5} - {s} * ({c7} - {s} * {c9})"))).text;
    let near = printer.name(Text::atom(format!("{x} * (1.0 - {s} * ({c3} - {s} * {high}))"))).text;
    Text::atom(format!("tl.where({s} < 0.0625, {near}, tl.where({x} < 0, -{far}, {far}))"))
}

/// Powers with an exponent that multiplication or a root expresses.
fn power(base: &Text, exponent: Option<Constant>) -> Option<Text> {
    let exponent = match exponent? {
        Constant::Float(bits) => f64::from_bits(bits),
        Constant::Int(i) => i as f64,
        Constant::Bool(_) => return None,
    };
    let x = base.at(Strength::Unary);
    let text = if exponent == 2.0 {
        format!("{x} * {x}")
    } else if exponent == 3.0 {
        format!("{x} * {x} * {x}")
    } else if exponent == 1.0 {
        return Some(base.clone());
    } else if exponent == -1.0 {
        format!("1.0 / {x}")
    } else {
        return None;
    };
    Some(Text::new(text, Strength::Product))
}

/// `x.to(tl.float32)`.
pub fn cast(text: &Text, dtype: DType) -> Text {
    Text::atom(format!("{}.to(tl.{})", text.at(Strength::Atom), dtype.triton_name()))
}

fn literal(constant: Constant, dtype: DType) -> Text {
    let text = match constant {
        Constant::Bool(true) => "True".to_owned(),
        Constant::Bool(false) => "False".to_owned(),
        Constant::Int(i) if dtype.is_float() => return number(i as f64),
        Constant::Int(i) => i.to_string(),
        Constant::Float(bits) => return number(f64::from_bits(bits)),
    };
    let strength = if text.starts_with('-') { Strength::Unary } else { Strength::Atom };
    Text::new(text, strength)
}

/// A Python float.
pub fn number(value: f64) -> Text {
    if value.is_finite() {
        let text = float_text(value);
        let strength = if text.starts_with('-') { Strength::Unary } else { Strength::Atom };
        Text::new(text, strength)
    } else {
        Text::atom(format!("float(\"{}\")", float_text(value)))
    }
}

fn unprintable(name: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&codes::OP_UNSUPPORTED, format!("`{name}` has no form in triton.language")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::parse::parse;
    use std::collections::BTreeSet;

    fn print(text: &str, dtype: DType) -> String {
        let expr = parse(text, &[dtype, dtype]).unwrap();
        let mut names = Names::new(&BTreeSet::new());
        let reads = ["x".to_owned(), "y".to_owned()];
        let mut printer =
            Printer { reads: &reads, coordinate: &|k| Text::atom(format!("d{k}")), names: &mut names, statements: Vec::new() };
        let root = printer.print(&expr).unwrap().text;
        let mut out: String = printer.statements.iter().map(|(n, t)| format!("{n} = {t}; ")).collect();
        out.push_str(&root);
        out
    }

    #[test]
    fn operators_keep_their_order_and_nan_rule() {
        let f = |text| print(text, DType::F32);
        assert_eq!(f("add(r0, add(r1, r0))"), "x + (y + x)");
        assert_eq!(f("mul(add(r0, r1), 2.0)"), "(x + y) * 2.0");
        assert_eq!(f("max_nan(r0, 0.0)"), "tl.where(x < 0, 0, x)");
        assert_eq!(f("max_nan(add(r0, r1), 0.0)"), "t = x + y; tl.where(t < 0, 0, t)");
        assert_eq!(f("max_nan(r0, r1)"), "tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)");
        assert_eq!(f("select(lt(r0, 0.0), mul(r0, 0.01), r0)"), "tl.where(x < 0.0, x * 0.01, x)");
        assert_eq!(f("mul(sigmoid(add(r0, r1)), add(r0, r1))"), "t = x + y; tl.sigmoid(t) * t");
        assert_eq!(print("div_floor(r0, r1)", DType::I64), "x // y - ((x % y != 0) & ((x < 0) != (y < 0))).to(tl.int64)");
        assert_eq!(print("add(f32(r0), 1.0)", DType::F16), "x + 1.0");
    }
}
