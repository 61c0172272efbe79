//! A Map as torch: its accesses, then its scalar expression over whole tensors.
//!
//! Operators keep the graph's meaning: `MaxNan` keeps NaN (`torch.maximum`, `clamp`), `MaxNum` drops
//! it (`torch.fmax`). Constants are Python numbers and a cast to a float type only rounds, so that
//! the text computes in float64 when it is given float64 tensors. A node used twice gets a name.

use super::python::{self, Names, dtype, list};
use super::torch_access;
use crate::dtype::DType;
use crate::expr::{self, Binary, Compare, Constant, Node, Unary};
use crate::graph::op::Map;
use crate::shape;

/// A printed node: its text, how tightly it binds, and whether it is a Python number.
#[derive(Clone)]
struct Printed {
    text: String,
    tightness: u8,
    scalar: bool,
}

// Python's order of operators, loosest first.
const COMPARISON: u8 = 1;
const OR: u8 = 2;
const XOR: u8 = 3;
const AND: u8 = 4;
const SUM: u8 = 5;
const PRODUCT: u8 = 6;
const SIGN: u8 = 7;
const ATOM: u8 = 8;

impl Printed {
    fn atom(text: String) -> Printed {
        Printed { text, tightness: ATOM, scalar: false }
    }

    /// The text as an operand of an operator of this tightness.
    fn within(&self, tightness: u8) -> String {
        if self.tightness >= tightness { self.text.clone() } else { format!("({})", self.text) }
    }

    /// As an argument that must be a tensor.
    fn tensor(&self, of: DType, device: &str) -> String {
        if self.scalar { format!("torch.tensor({}, dtype={}, device={device})", self.text, dtype(of)) } else { self.text.clone() }
    }
}

/// The value of a Map. Lines that it needs first are pushed to `lines` without indent.
pub fn map(map: &Map, operands: &[(String, &[usize])], names: &mut Names, lines: &mut Vec<String>) -> String {
    let device = operands.first().map_or("None".to_owned(), |(name, _)| format!("{name}.device"));
    let mut printer = Printer { map, operands, names, lines, device, coordinates: vec![None; map.dims.len()] };
    let reads: Vec<String> = (0..map.reads.len()).map(|k| printer.read(k)).collect();
    let text = printer.body(&reads);
    // Accesses that all broadcast leave out sizes that no operand has.
    let mut covered = shape::Shape::new();
    let mut plain = true;
    for access in &map.reads {
        let (name, shape) = &operands[access.input];
        plain &= torch_access::broadcast(name, shape, access, &map.dims).is_some();
        let sizes: shape::Shape = (0..map.dims.len())
            .map(|d| if access.index.contains(&crate::expr::index::Index::Dim(d)) { map.dims[d] } else { 1 })
            .collect();
        covered = shape::broadcast(&covered, &sizes).unwrap_or_default();
    }
    if plain && covered != map.dims {
        let atom = if map.body.nodes().len() == 1 { text } else { format!("({text})") };
        return format!("{atom}.expand({})", list(&map.dims));
    }
    text
}

struct Printer<'a> {
    map: &'a Map,
    operands: &'a [(String, &'a [usize])],
    names: &'a mut Names,
    lines: &'a mut Vec<String>,
    device: String,
    coordinates: Vec<Option<String>>,
}

impl Printer<'_> {
    fn named(&mut self, wanted: &str, value: &str) -> String {
        let name = self.names.fresh(wanted);
        self.lines.push(format!("{name} = {value}"));
        name
    }

    fn coordinate(&mut self, d: usize) -> String {
        if let Some(name) = &self.coordinates[d] {
            return name.clone();
        }
        let value = torch_access::coordinate(d, &self.map.dims, &self.device);
        let name = self.named(&format!("i{d}"), &value);
        self.coordinates[d] = Some(name.clone());
        name
    }

    /// The k-th access, as an atom.
    fn read(&mut self, k: usize) -> String {
        let access = &self.map.reads[k];
        let (operand, shape) = &self.operands[access.input];
        if let Some(text) = torch_access::broadcast(operand, shape, access, &self.map.dims) {
            return text;
        }
        // Coordinates and index inputs are named first: two closures cannot both write lines.
        let coordinates: Vec<String> = (0..self.map.dims.len()).map(|d| self.coordinate(d)).collect();
        let mut needed = Vec::new();
        torch_access::indexed(operand, shape, access, &mut |_| String::new(), &mut |k| {
            needed.push(k);
            String::new()
        });
        let reads: Vec<(usize, String)> = needed.into_iter().map(|k| (k, self.read(k))).collect();
        let value = torch_access::indexed(operand, shape, access, &mut |d| coordinates[d].clone(), &mut |k| {
            reads.iter().find(|(at, _)| *at == k).map_or_else(String::new, |(_, text)| text.clone())
        });
        self.named("part", &value)
    }

    fn body(&mut self, reads: &[String]) -> String {
        let nodes = self.map.body.nodes();
        let mut uses = vec![0; nodes.len()];
        for &(node, _) in nodes {
            expr::operands(node, |id| uses[id.0 as usize] += 1);
        }
        if let Some(x) = relu_operand(nodes) {
            return format!("torch.relu({})", reads[x]);
        }
        let mut printed: Vec<Printed> = Vec::with_capacity(nodes.len());
        for (i, &(node, of)) in nodes.iter().enumerate() {
            let mut value = self.node(node, of, nodes, &printed, reads);
            let compound = !matches!(node, Node::Read(_) | Node::Constant(_));
            if compound && uses[i] > 1 && !value.scalar {
                value = Printed::atom(self.named("t", &value.text));
            }
            printed.push(value);
        }
        let root = &printed[printed.len() - 1];
        if root.scalar {
            return format!(
                "torch.full({}, {}, dtype={}, device={})",
                python::tuple(&self.map.dims),
                root.text,
                dtype(self.map.body.dtype()),
                self.device
            );
        }
        root.text.clone()
    }

    fn node(&mut self, node: Node, of: DType, nodes: &[(Node, DType)], printed: &[Printed], reads: &[String]) -> Printed {
        let device = self.device.clone();
        let at = |id: expr::ExprId| &printed[id.0 as usize];
        let kind = |id: expr::ExprId| nodes[id.0 as usize].1;
        let infix = |a: &Printed, sign: &str, b: &Printed, tightness: u8| Printed {
            text: format!("{} {sign} {}", a.within(tightness), b.within(tightness + 1)),
            tightness,
            scalar: a.scalar && b.scalar,
        };
        match node {
            Node::Read(k) => Printed::atom(reads[k as usize].clone()),
            Node::Coordinate(k) => {
                let coordinate = self.coordinate(k as usize);
                Printed::atom(if of == DType::I64 { coordinate } else { format!("{coordinate}.to({})", dtype(of)) })
            }
            Node::Constant(constant) => {
                let text = match constant {
                    Constant::Float(bits) => python::float_of(of.computed_in(), f64::from_bits(bits)),
                    Constant::Int(v) => v.to_string(),
                    Constant::Bool(v) => if v { "True" } else { "False" }.to_owned(),
                };
                let tightness = if text.starts_with('-') { SIGN } else { ATOM };
                Printed { text, tightness, scalar: true }
            }
            Node::Unary(op, a) => {
                let a = at(a);
                match unary_function(op) {
                    Some(function) => Printed::atom(format!("torch.{function}({})", a.tensor(of, &device))),
                    None => {
                        let sign = if op == Unary::Neg { "-" } else { "~" };
                        let text =
                            if op == Unary::Neg { a.within(SIGN) } else { Printed::atom(a.tensor(of, &device)).within(SIGN) };
                        let text = if op == Unary::Not && !a.scalar { a.within(SIGN) } else { text };
                        Printed { text: format!("{sign}{text}"), tightness: SIGN, scalar: a.scalar && op == Unary::Neg }
                    }
                }
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (at(a), at(b));
                match op {
                    Binary::Add => infix(a, "+", b, SUM),
                    Binary::Sub => infix(a, "-", b, SUM),
                    Binary::Mul => infix(a, "*", b, PRODUCT),
                    Binary::Div => infix(a, "/", b, PRODUCT),
                    Binary::And => infix(a, "&", b, AND),
                    Binary::Or => infix(a, "|", b, OR),
                    Binary::Xor => infix(a, "^", b, XOR),
                    Binary::DivTrunc | Binary::DivFloor => {
                        let mode = if op == Binary::DivTrunc { "trunc" } else { "floor" };
                        Printed::atom(format!("torch.div({}, {}, rounding_mode=\"{mode}\")", a.tensor(of, &device), b.text))
                    }
                    Binary::MinNan | Binary::MaxNan => {
                        let (function, bound) = if op == Binary::MinNan { ("minimum", "max") } else { ("maximum", "min") };
                        match (a.scalar, b.scalar) {
                            (false, true) => Printed::atom(format!("torch.clamp({}, {bound}={})", a.text, b.text)),
                            (true, false) => Printed::atom(format!("torch.clamp({}, {bound}={})", b.text, a.text)),
                            _ => Printed::atom(format!("torch.{function}({}, {})", a.tensor(of, &device), b.tensor(of, &device))),
                        }
                    }
                    Binary::MinNum | Binary::MaxNum => {
                        let function = if op == Binary::MinNum { "fmin" } else { "fmax" };
                        Printed::atom(format!("torch.{function}({}, {})", a.tensor(of, &device), b.tensor(of, &device)))
                    }
                    Binary::Pow if a.scalar && b.scalar => {
                        Printed::atom(format!("torch.pow({}, {})", a.tensor(of, &device), b.text))
                    }
                    Binary::Pow => Printed::atom(format!("torch.pow({}, {})", a.text, b.text)),
                }
            }
            Node::Compare(op, a, b) => {
                let sign = match op {
                    Compare::Eq => "==",
                    Compare::Ne => "!=",
                    Compare::Lt => "<",
                    Compare::Le => "<=",
                    Compare::Gt => ">",
                    Compare::Ge => ">=",
                };
                // Comparisons chain in Python: a compared operand always needs parentheses.
                let (x, y) = (at(a), at(b));
                let x = if x.scalar && y.scalar { Printed::atom(x.tensor(kind(a), &device)) } else { x.clone() };
                Printed { text: format!("{} {sign} {}", x.within(OR), y.within(OR)), tightness: COMPARISON, scalar: false }
            }
            Node::Select(condition, a, b) => {
                let condition = at(condition).tensor(DType::Bool, &device);
                Printed::atom(format!("torch.where({condition}, {}, {})", at(a).text, at(b).text))
            }
            Node::Cast(a) => {
                let text = Printed::atom(at(a).tensor(kind(a), &device));
                let text = if at(a).scalar { text } else { at(a).clone() };
                let rounded = || Printed::atom(format!("{}.to({})", text.within(ATOM), dtype(of)));
                match (kind(a).format(), of.format()) {
                    (Some(from), Some(to)) if to.digits >= from.digits && to.max >= from.max => text,
                    (_, None) => rounded(),
                    (_, Some(_)) => Printed::atom(format!("{}.to(torch.float64)", rounded().text)),
                }
            }
        }
    }
}

/// The read that `x < 0 ? 0 : x` or the NaN-keeping max(x, 0) is applied to.
pub(super) fn relu_operand(nodes: &[(Node, DType)]) -> Option<usize> {
    let zero = |id: expr::ExprId| {
        matches!(nodes[id.0 as usize].0, Node::Constant(Constant::Float(bits)) if bits == 0)
            || nodes[id.0 as usize].0 == Node::Constant(Constant::Int(0))
    };
    let read = |id: expr::ExprId| match nodes[id.0 as usize].0 {
        Node::Read(k) => Some(k as usize),
        _ => None,
    };
    match nodes.last()?.0 {
        Node::Binary(Binary::MaxNan, a, b) if zero(b) => read(a),
        Node::Binary(Binary::MaxNan, a, b) if zero(a) => read(b),
        Node::Select(condition, then, other) if zero(then) => match nodes[condition.0 as usize].0 {
            Node::Compare(Compare::Lt, a, b) if zero(b) && a == other => read(a),
            _ => None,
        },
        _ => None,
    }
}

/// `torch.<name>` of a unary operator that is not written as a sign.
fn unary_function(op: Unary) -> Option<&'static str> {
    Some(match op {
        Unary::Neg | Unary::Not => return None,
        Unary::Abs => "abs",
        Unary::Exp => "exp",
        Unary::Log => "log",
        Unary::Sqrt => "sqrt",
        Unary::Rsqrt => "rsqrt",
        Unary::Sin => "sin",
        Unary::Cos => "cos",
        Unary::Tanh => "tanh",
        Unary::Erf => "erf",
        Unary::Sigmoid => "sigmoid",
        Unary::Floor => "floor",
        Unary::Ceil => "ceil",
        Unary::RoundEven => "round",
    })
}
