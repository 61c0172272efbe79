//! Scalar expressions over the elements of one output: what a `Map` computes.
//!
//! [`Expr`] is a typed, hash-consed DAG in topological order: each node has one dtype, casts are
//! nodes, and no operator is overloaded (division names its rounding, minimum names its NaN rule).
//! [`index::Index`] is the integer expression that an access uses to find an element.
//!
//! The same expression is printed as graph text ([`print`]), as Triton and as torch, and evaluated
//! by the reference; the latter printers are small files of their own beside the consumer. A person
//! writes one as a [`formula`].

pub mod affine;
pub mod eval;
pub mod formula;
pub mod index;
pub mod parse;
pub mod print;
pub mod proof;
pub mod scalar;
pub mod simplify;
pub mod typing;

use std::collections::HashMap;

use crate::dtype::{Carrier, DType};

/// A node of an [`Expr`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// A constant lane. Floats are kept by bits so that nodes can be hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    /// Bits of an `f64`; rounded where it is used, to the type that the node's dtype is computed in.
    Float(u64),
    Int(i64),
    Bool(bool),
}

impl Constant {
    /// All NaNs are one.
    pub fn float(value: f64) -> Constant {
        Constant::Float(if value.is_nan() { f64::NAN } else { value }.to_bits())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    Neg,
    Abs,
    Exp,
    Log,
    Sqrt,
    Rsqrt,
    Sin,
    Cos,
    Tanh,
    Erf,
    Sigmoid,
    Floor,
    Ceil,
    /// Half to even.
    RoundEven,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    /// Float division.
    Div,
    /// Integer division towards zero.
    DivTrunc,
    /// Integer division towards −∞.
    DivFloor,
    /// Keeps NaN (torch, ONNX).
    MinNan,
    MaxNan,
    /// Drops NaN (C's fmin).
    MinNum,
    MaxNum,
    Pow,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// The value of the Map's k-th access.
    Read(u32),
    /// The k-th output coordinate as a value (for range, trilu).
    Coordinate(u32),
    Constant(Constant),
    Unary(Unary, ExprId),
    Binary(Binary, ExprId, ExprId),
    /// The operands have one dtype; the result is bool.
    Compare(Compare, ExprId, ExprId),
    Select(ExprId, ExprId, ExprId),
    /// To the node's dtype. Floats round to nearest even, float to integer truncates.
    Cast(ExprId),
}

/// A DAG with one root. Nodes are distinct, all are reachable from the root, and they stand in the
/// order in which a depth-first walk from the root finishes them (operands first, left to right),
/// so that equal trees compare equal however they were built.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expr {
    nodes: Vec<(Node, DType)>,
}

impl Expr {
    /// The nodes, operands first; the last one is the root.
    pub fn nodes(&self) -> &[(Node, DType)] {
        &self.nodes
    }

    pub fn root(&self) -> ExprId {
        ExprId(self.nodes.len() as u32 - 1)
    }

    pub fn dtype(&self) -> DType {
        self.nodes[self.nodes.len() - 1].1
    }

    /// Just the k-th read.
    pub fn read(k: u32, dtype: DType) -> Expr {
        Expr { nodes: vec![(Node::Read(k), dtype)] }
    }
}

/// Builds an [`Expr`], interning equal nodes.
#[derive(Default)]
pub struct ExprBuilder {
    nodes: Vec<(Node, DType)>,
    ids: HashMap<(Node, DType), ExprId>,
}

impl ExprBuilder {
    pub fn new() -> ExprBuilder {
        ExprBuilder::default()
    }

    /// Interns a node.
    ///
    /// # Panics
    /// When an operand was not made by this builder.
    pub fn node(&mut self, node: Node, dtype: DType) -> ExprId {
        operands(node, |id| assert!((id.0 as usize) < self.nodes.len(), "invariant: operands are built first"));
        *self.ids.entry((node, dtype)).or_insert_with(|| {
            self.nodes.push((node, dtype));
            ExprId(self.nodes.len() as u32 - 1)
        })
    }

    pub fn dtype(&self, id: ExprId) -> DType {
        self.nodes[id.0 as usize].1
    }

    /// The node with its result type.
    pub fn get(&self, id: ExprId) -> (Node, DType) {
        self.nodes[id.0 as usize]
    }

    pub fn read(&mut self, k: u32, dtype: DType) -> ExprId {
        self.node(Node::Read(k), dtype)
    }

    pub fn float(&mut self, value: f64, dtype: DType) -> ExprId {
        self.node(Node::Constant(Constant::float(value)), dtype)
    }

    /// A constant of any dtype: `value` is truncated for integers, compared with 0 for bool.
    pub fn number(&mut self, value: f64, dtype: DType) -> ExprId {
        let constant = match dtype.carrier() {
            Carrier::Bool => Constant::Bool(value != 0.0),
            Carrier::I64 => Constant::Int(value as i64),
            Carrier::F32 | Carrier::F64 => Constant::float(value),
        };
        self.node(Node::Constant(constant), dtype)
    }

    pub fn unary(&mut self, op: Unary, a: ExprId) -> ExprId {
        let dtype = self.dtype(a);
        self.node(Node::Unary(op, a), dtype)
    }

    pub fn binary(&mut self, op: Binary, a: ExprId, b: ExprId) -> ExprId {
        let dtype = self.dtype(a);
        assert_eq!(dtype, self.dtype(b), "invariant: operands of a binary node have one dtype");
        self.node(Node::Binary(op, a, b), dtype)
    }

    pub fn compare(&mut self, op: Compare, a: ExprId, b: ExprId) -> ExprId {
        assert_eq!(self.dtype(a), self.dtype(b), "invariant: operands of a comparison have one dtype");
        self.node(Node::Compare(op, a, b), DType::Bool)
    }

    pub fn select(&mut self, condition: ExprId, then: ExprId, other: ExprId) -> ExprId {
        let dtype = self.dtype(then);
        self.node(Node::Select(condition, then, other), dtype)
    }

    pub fn cast(&mut self, a: ExprId, dtype: DType) -> ExprId {
        if self.dtype(a) == dtype { a } else { self.node(Node::Cast(a), dtype) }
    }

    /// An index expression as a value over the same coordinates. `None` where it uses an index read
    /// (whose element type an index does not say).
    pub fn index(&mut self, index: &index::Index, dtype: DType) -> Option<ExprId> {
        use index::Index;
        let constant = |b: &mut Self, c: i64| b.node(Node::Constant(Constant::Int(c)), dtype);
        Some(match index {
            Index::Dim(d) => self.node(Node::Coordinate(*d as u32), dtype),
            Index::Constant(c) => constant(self, *c),
            Index::Add(a, b) => {
                let (a, b) = (self.index(a, dtype)?, self.index(b, dtype)?);
                self.binary(Binary::Add, a, b)
            }
            Index::Mul(a, c) => {
                let (a, c) = (self.index(a, dtype)?, constant(self, *c));
                self.binary(Binary::Mul, a, c)
            }
            Index::FloorDiv(a, n) => {
                let (a, n) = (self.index(a, dtype)?, constant(self, *n));
                self.binary(Binary::DivFloor, a, n)
            }
            Index::Mod(a, n) => {
                let (a, n) = (self.index(a, dtype)?, constant(self, *n));
                let quotient = self.binary(Binary::DivFloor, a, n);
                let whole = self.binary(Binary::Mul, quotient, n);
                self.binary(Binary::Sub, a, whole)
            }
            Index::Read(_) => return None,
        })
    }

    /// Copies another expression in, with its k-th read replaced by `reads[k]`.
    pub fn inline(&mut self, expr: &Expr, reads: &[ExprId]) -> ExprId {
        let mut map: Vec<ExprId> = Vec::with_capacity(expr.nodes.len());
        for &(node, dtype) in &expr.nodes {
            let id = match node {
                Node::Read(k) => reads[k as usize],
                Node::Coordinate(_)
                | Node::Constant(_)
                | Node::Unary(..)
                | Node::Binary(..)
                | Node::Compare(..)
                | Node::Select(..)
                | Node::Cast(_) => self.node(node.with_operands(|id| map[id.0 as usize]), dtype),
            };
            map.push(id);
        }
        map[map.len() - 1]
    }

    /// The expression rooted at `root`; unreachable nodes are dropped.
    pub fn finish(self, root: ExprId) -> Expr {
        let mut moved: Vec<Option<ExprId>> = vec![None; self.nodes.len()];
        let mut nodes = Vec::new();
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            let (node, dtype) = self.nodes[id.0 as usize];
            let depth = stack.len();
            operands(node, |operand| {
                if moved[operand.0 as usize].is_none() {
                    stack.insert(depth, operand);
                }
            });
            if stack.len() == depth {
                stack.pop();
                if moved[id.0 as usize].is_none() {
                    let at = |id: ExprId| moved[id.0 as usize].expect("invariant: operands are finished first");
                    nodes.push((node.with_operands(at), dtype));
                    moved[id.0 as usize] = Some(ExprId(nodes.len() as u32 - 1));
                }
            }
        }
        Expr { nodes }
    }
}

impl Node {
    /// The same node over other operands.
    pub fn with_operands(self, at: impl Fn(ExprId) -> ExprId) -> Node {
        match self {
            Node::Read(_) | Node::Coordinate(_) | Node::Constant(_) => self,
            Node::Unary(op, a) => Node::Unary(op, at(a)),
            Node::Binary(op, a, b) => Node::Binary(op, at(a), at(b)),
            Node::Compare(op, a, b) => Node::Compare(op, at(a), at(b)),
            Node::Select(c, a, b) => Node::Select(at(c), at(a), at(b)),
            Node::Cast(a) => Node::Cast(at(a)),
        }
    }
}

/// Calls `each` with every operand of a node.
pub fn operands(node: Node, mut each: impl FnMut(ExprId)) {
    match node {
        Node::Read(_) | Node::Coordinate(_) | Node::Constant(_) => {}
        Node::Unary(_, a) | Node::Cast(a) => each(a),
        Node::Binary(_, a, b) | Node::Compare(_, a, b) => {
            each(a);
            each(b);
        }
        Node::Select(c, a, b) => {
            each(c);
            each(a);
            each(b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_nodes_are_one_and_dead_ones_go() {
        let mut b = ExprBuilder::new();
        let x = b.read(0, DType::F32);
        let dead = b.float(3.0, DType::F32);
        let zero = b.float(0.0, DType::F32);
        assert_ne!(dead, zero);
        let first = b.binary(Binary::MaxNan, x, zero);
        let again = b.binary(Binary::MaxNan, x, zero);
        assert_eq!(first, again);
        let expr = b.finish(first);
        assert_eq!(expr.nodes().len(), 3);
        assert_eq!(expr.root(), ExprId(2));
    }

    #[test]
    fn the_order_of_building_does_not_matter() {
        let build = |swapped: bool| {
            let mut b = ExprBuilder::new();
            let (x, y);
            if swapped {
                y = b.read(1, DType::F32);
                x = b.read(0, DType::F32);
            } else {
                x = b.read(0, DType::F32);
                y = b.read(1, DType::F32);
            }
            let product = b.binary(Binary::Mul, x, y);
            let root = b.binary(Binary::Sub, product, x);
            b.finish(root)
        };
        assert_eq!(build(false), build(true));
        assert_eq!(build(true).nodes()[0].0, Node::Read(0));
    }
}
