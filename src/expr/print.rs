//! Expressions as text: `select(lt(r0, 0.0), 0.0, r0)`, `d0*2 + d1 - 3`.
//!
//! [`parse`](super::parse) reads all of it back to an equal value. Operators are function calls by
//! name, a cast is a call by dtype name. `r0` is a read (typed by its operand), `d0` a coordinate,
//! and numbers are f32, i64 and bool unless a type follows (`0.0:f16`, `d0:i32`). A node that is no
//! leaf and is used more than once is named first, so that the text grows with the DAG and not with
//! its tree: `t0 = exp(r0); div(t0, add(t0, 1.0))`.

use std::fmt;

use super::index::Index;
use super::{Binary, Compare, Constant, Expr, ExprId, Node, Unary, operands};
use crate::dtype::DType;

/// Gives an operator enum its names and the list of its members.
macro_rules! names {
    ($type:ident { $($variant:ident = $name:literal),* $(,)? }) => {
        impl $type {
            pub const ALL: &[$type] = &[$($type::$variant),*];

            /// The name in graph text.
            pub fn name(self) -> &'static str {
                match self { $($type::$variant => $name),* }
            }
        }
    };
}

names!(Unary {
    Neg = "neg",
    Abs = "abs",
    Exp = "exp",
    Log = "log",
    Sqrt = "sqrt",
    Rsqrt = "rsqrt",
    Sin = "sin",
    Cos = "cos",
    Tanh = "tanh",
    Erf = "erf",
    Sigmoid = "sigmoid",
    Floor = "floor",
    Ceil = "ceil",
    RoundEven = "round_even",
    Not = "not",
});

names!(Binary {
    Add = "add",
    Sub = "sub",
    Mul = "mul",
    Div = "div",
    DivTrunc = "div_trunc",
    DivFloor = "div_floor",
    MinNan = "min_nan",
    MaxNan = "max_nan",
    MinNum = "min_num",
    MaxNum = "max_num",
    Pow = "pow",
    And = "and",
    Or = "or",
    Xor = "xor",
});

names!(Compare { Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge" });

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = self.nodes();
        let mut uses = vec![0usize; nodes.len()];
        for &(node, _) in nodes {
            operands(node, |id| uses[id.0 as usize] += 1);
        }
        let mut texts: Vec<String> = Vec::with_capacity(nodes.len());
        let mut named = 0;
        for (i, &(node, dtype)) in nodes.iter().enumerate() {
            let text = node_text(node, dtype, |id| &texts[id.0 as usize]);
            let leaf = matches!(node, Node::Read(_) | Node::Coordinate(_) | Node::Constant(_));
            if uses[i] > 1 && !leaf {
                write!(f, "t{named} = {text}; ")?;
                texts.push(format!("t{named}"));
                named += 1;
            } else {
                texts.push(text);
            }
        }
        f.write_str(&texts[nodes.len() - 1])
    }
}

fn node_text<'a>(node: Node, dtype: DType, at: impl Fn(ExprId) -> &'a String) -> String {
    let typed = |text: String, default: DType| if dtype == default { text } else { format!("{text}:{dtype}") };
    match node {
        Node::Read(k) => format!("r{k}"),
        Node::Coordinate(k) => typed(format!("d{k}"), DType::I64),
        Node::Constant(Constant::Float(bits)) => typed(float_text(f64::from_bits(bits)), DType::F32),
        Node::Constant(Constant::Int(value)) => typed(value.to_string(), DType::I64),
        Node::Constant(Constant::Bool(value)) => typed(value.to_string(), DType::Bool),
        Node::Unary(op, a) => format!("{}({})", op.name(), at(a)),
        Node::Binary(op, a, b) => format!("{}({}, {})", op.name(), at(a), at(b)),
        Node::Compare(op, a, b) => format!("{}({}, {})", op.name(), at(a), at(b)),
        Node::Select(c, a, b) => format!("select({}, {}, {})", at(c), at(a), at(b)),
        Node::Cast(a) => format!("{dtype}({})", at(a)),
    }
}

/// The shortest text that reads back as the same number; `nan`, `inf`, `-inf` by name.
pub fn float_text(value: f64) -> String {
    if value.is_nan() { "nan".to_owned() } else { format!("{value:?}") }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Index::Add(a, b) => {
                write!(f, "{a}")?;
                match &**b {
                    Index::Constant(c) if *c < 0 && *c != i64::MIN => write!(f, " - {}", -c),
                    Index::Add(..) => write!(f, " + ({b})"),
                    Index::Constant(_)
                    | Index::Dim(_)
                    | Index::Read(_)
                    | Index::Mul(..)
                    | Index::FloorDiv(..)
                    | Index::Mod(..) => {
                        write!(f, " + {b}")
                    }
                }
            }
            Index::Mul(a, c) => write!(f, "{}*{c}", Factor(a)),
            Index::FloorDiv(a, c) => write!(f, "{}//{c}", Factor(a)),
            Index::Mod(a, c) => write!(f, "{}%{c}", Factor(a)),
            Index::Dim(i) => write!(f, "d{i}"),
            Index::Constant(c) => write!(f, "{c}"),
            Index::Read(k) => write!(f, "r{k}"),
        }
    }
}

/// An index expression as the left operand of `*`, `//`, `%`: sums stand in parentheses.
struct Factor<'a>(&'a Index);

impl fmt::Display for Factor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Index::Add(..) => write!(f, "({})", self.0),
            Index::Mul(..) | Index::FloorDiv(..) | Index::Mod(..) | Index::Dim(_) | Index::Constant(_) | Index::Read(_) => {
                write!(f, "{}", self.0)
            }
        }
    }
}
