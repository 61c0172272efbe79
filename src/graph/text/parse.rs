//! Reads graph text.
//!
//! One pass over the lines: an operand must be defined before it is used. Whether the graph is well
//! formed is `verify`'s work; here only what the text itself needs is checked.

use std::iter::Peekable;
use std::str::Lines;
use std::sync::Arc;

use smallvec::SmallVec;

use super::print::is_bare_char;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::{Carrier, DType};
use crate::expr::parse as parse_expr;
use crate::graph::op::{
    Access, ArgKind, ArgReduce, Conv, ConvTranspose, Lrn, Map, Norm, OutOfBounds, Pool, PoolKind, Reduce, ReduceKind, Scan,
    ScanKind, View,
};
use crate::graph::{Graph, Op, Role, Source, TensorType, ValueId, Weight};
use crate::shape::{Shape, numel};
use crate::source::{SourceFile, Span};
use crate::tensor::{Storage, Tensor};

/// Reads a graph; an error (M013) points at the place in the text.
pub fn parse(file: &Arc<SourceFile>) -> Result<Graph> {
    let mut lines = file.text().lines().peekable();
    let first = lines.next().unwrap_or("");
    let mut at = Cursor::new(file, first);
    at.want("graph")?;
    let mut graph = Graph::new(at.string()?);
    at.end()?;
    let mut outputs = Vec::new();
    while let Some(line) = lines.next() {
        let mut at = Cursor::new(file, line);
        if at.rest().is_empty() {
            continue;
        }
        if at.keyword("input") {
            let (name, ty, role) = at.value()?;
            graph.add_input(name, ty, role).map_err(|_| at.error("two values have this name"))?;
        } else if at.keyword("weight") {
            let (name, ty, role) = at.value()?;
            at.want("=")?;
            let weight = at.elements(&ty)?;
            graph.add_weight(name, ty, role, weight).map_err(|_| at.error("two values have this name"))?;
        } else if at.keyword("output") {
            outputs.push(at.operand(&graph)?);
        } else {
            node(&mut at, &mut lines, &mut graph)?;
            continue;
        }
        at.end()?;
    }
    graph.set_outputs(outputs);
    Ok(graph)
}

/// A node with its indented lines.
fn node<'a>(at: &mut Cursor<'a>, lines: &mut Peekable<Lines<'a>>, graph: &mut Graph) -> Result<()> {
    let mut outputs = Vec::new();
    loop {
        let (name, ty, role) = at.value()?;
        if graph.find(&name).is_some() || outputs.iter().any(|(other, ..): &(String, TensorType, Role)| *other == name) {
            return Err(at.error("two values have this name"));
        }
        outputs.push((name, ty, role));
        if !at.take(",") {
            break;
        }
    }
    at.want("=")?;
    let operator = at.name()?;
    let label = if operator == "map" { Some(at.name()?) } else { None };
    at.want("(")?;
    let inputs = at.separated(")", |at| if at.absent() { Ok(None) } else { at.operand(graph).map(Some) })?;
    let mut op = match label {
        Some(label) => Op::Map(Map {
            label,
            dims: outputs[0].1.shape.clone(),
            reads: Vec::new(),
            body: crate::expr::Expr::read(0, outputs[0].1.dtype),
        }),
        None => at.operator(&operator)?,
    };
    at.end()?;
    let mut sources = Vec::new();
    let mut body = None;
    while let Some(line) = lines.next_if(|line| line.starts_with("  ")) {
        let mut at = Cursor::new(at.file, line);
        match &mut op {
            Op::Map(map) if at.keyword("read") => map.reads.push(at.access(inputs.len())?),
            Op::Map(map) if at.keyword("body") => {
                let dtypes: Option<Vec<DType>> = map.reads.iter().map(|a| inputs[a.input].map(|v| graph.dtype(v))).collect();
                let dtypes = dtypes.ok_or_else(|| at.error("an access reads an absent operand"))?;
                map.body = at.expression(|text| parse_expr::parse(text, &dtypes))?;
                body = Some(());
                continue;
            }
            _ => {
                at.want("from")?;
                let (operator, node) = (at.name()?, at.string()?);
                let module = if at.take("in") { Some(at.string()?) } else { None };
                sources.push(Source { operator, node, module });
            }
        }
        at.end()?;
    }
    if matches!(op, Op::Map(_)) && body.is_none() {
        return Err(at.error("a map needs a `body`"));
    }
    let types = outputs.iter().map(|(name, ty, _)| (name.clone(), ty.clone())).collect();
    let id = graph.add_node(op, &inputs, types, sources);
    let values = graph.node(id).outputs.clone();
    values.into_iter().zip(outputs).for_each(|(value, (.., role))| graph.set_role(value, role));
    Ok(())
}

/// A place in one line.
struct Cursor<'a> {
    file: &'a Arc<SourceFile>,
    line: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn new(file: &'a Arc<SourceFile>, line: &'a str) -> Cursor<'a> {
        Cursor { file, line, at: 0 }
    }

    fn error(&self, message: impl Into<String>) -> Box<Diagnostic> {
        // Lines are slices of the file's text: the distance of their addresses is the offset.
        let start = self.line.as_ptr() as usize - self.file.text().as_ptr() as usize;
        let at = start + self.at.min(self.line.len());
        Box::new(
            Diagnostic::new(&codes::GRAPH_SYNTAX, message)
                .at(self.file, Span::new(at, (at + 1).min(start + self.line.len()).max(at))),
        )
    }

    fn rest(&mut self) -> &'a str {
        let rest = self.line[self.at..].trim_start();
        self.at = self.line.len() - rest.len();
        rest
    }

    fn take(&mut self, token: &str) -> bool {
        let hit = self.rest().starts_with(token);
        self.at += if hit { token.len() } else { 0 };
        hit
    }

    fn want(&mut self, token: &str) -> Result<()> {
        if self.take(token) { Ok(()) } else { Err(self.error(format!("`{token}` is expected"))) }
    }

    /// A word at the start of a line that is not a name (`input x: …`, not `input: …`).
    fn keyword(&mut self, word: &str) -> bool {
        let hit = self.rest().strip_prefix(word).is_some_and(|rest| rest.starts_with(' '));
        self.at += if hit { word.len() } else { 0 };
        hit
    }

    /// `_` in the place of an operand.
    fn absent(&mut self) -> bool {
        let hit = self.rest().strip_prefix('_').is_some_and(|rest| !rest.starts_with(is_bare_char));
        self.at += usize::from(hit);
        hit
    }

    fn end(&mut self) -> Result<()> {
        if self.rest().is_empty() { Ok(()) } else { Err(self.error("the line should end here")) }
    }

    /// Items separated by commas, up to the closing token.
    fn separated<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        if self.take(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.take(close) {
                return Ok(items);
            }
            self.want(",")?;
        }
    }

    fn string(&mut self) -> Result<String> {
        let rest = self.rest();
        let mut texts = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        match texts.next() {
            Some(Ok(text)) if rest.starts_with('"') => {
                self.at += texts.byte_offset();
                Ok(text)
            }
            _ => Err(self.error("a string in quotes is expected")),
        }
    }

    /// A bare or quoted name. A colon ends a bare name when it is the last of its characters.
    fn name(&mut self) -> Result<String> {
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.string();
        }
        let name = &rest[..rest.find(|c| !is_bare_char(c)).unwrap_or(rest.len())];
        let name = name.trim_end_matches(':');
        if name.is_empty() {
            return Err(self.error("a name is expected"));
        }
        self.at += name.len();
        Ok(name.to_owned())
    }

    fn operand(&mut self, graph: &Graph) -> Result<ValueId> {
        let before = self.at;
        let name = self.name()?;
        graph.find(&name).ok_or_else(|| {
            self.at = before;
            self.rest();
            self.error(format!("the value `{name}` is not defined above"))
        })
    }

    fn number(&mut self) -> Result<&'a str> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-' | '+')).unwrap_or(rest.len());
        if end == 0 {
            return Err(self.error("a number is expected"));
        }
        self.at += end;
        Ok(&rest[..end])
    }

    fn parsed<T: std::str::FromStr>(&mut self, what: &str) -> Result<T> {
        let text = self.number()?;
        text.parse().map_err(|_| {
            self.at -= text.len();
            self.error(format!("{what} is expected"))
        })
    }

    fn size(&mut self) -> Result<usize> {
        self.parsed("a size")
    }

    fn float(&mut self) -> Result<f64> {
        self.parsed("a number")
    }

    fn sizes<const N: usize>(&mut self) -> Result<SmallVec<[usize; N]>>
    where
        [usize; N]: smallvec::Array<Item = usize>,
    {
        self.want("[")?;
        Ok(self.separated("]", Cursor::size)?.into_iter().collect())
    }

    fn value(&mut self) -> Result<(String, TensorType, Role)> {
        let name = self.name()?;
        self.want(":")?;
        let rest = self.rest();
        let word = &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len())];
        let dtype = DType::from_name(word).ok_or_else(|| self.error("an element type is expected"))?;
        self.at += word.len();
        let shape: Shape = self.sizes()?;
        Ok((name, TensorType { dtype, shape }, self.role()?))
    }

    fn role(&mut self) -> Result<Role> {
        let words = [
            ("bias", Role::Bias),
            ("scale", Role::Scale),
            ("mean", Role::Mean),
            ("variance", Role::Variance),
            ("divisor", Role::Divisor),
            ("probability", Role::Probability),
            ("mask", Role::Mask),
            ("exact", Role::Exact),
        ];
        if let Some((_, role)) = words.into_iter().find(|(word, _)| self.take(word)) {
            return Ok(role);
        }
        let role = if self.take("weight(") {
            Role::Weight { fan_in: self.size()? }
        } else if self.take("index(") {
            Role::IndexBelow(self.size()?)
        } else {
            return Ok(Role::Activation);
        };
        self.want(")").map(|()| role)
    }

    fn elements(&mut self, ty: &TensorType) -> Result<Weight> {
        if self.take("filled") {
            return self.float().map(Weight::Filled);
        }
        if self.take("missing") || self.take("stored") {
            return Ok(Weight::Missing);
        }
        self.want("data")?;
        self.want("[")?;
        let storage = match ty.dtype.carrier() {
            Carrier::F64 => Storage::F64(self.separated("]", Cursor::float)?),
            Carrier::F32 => Storage::F32(self.separated("]", |at| at.parsed("a number"))?),
            Carrier::I64 => Storage::I64(self.separated("]", |at| at.parsed("an integer"))?),
            Carrier::Bool => Storage::Bool(self.separated("]", |at| at.parsed("0 or 1"))?),
        };
        if numel(&ty.shape) != Some(storage.len()) {
            return Err(self.error(format!("{} elements do not fill the shape", storage.len())));
        }
        Ok(Weight::Data(Arc::new(Tensor::new(ty.dtype, ty.shape.clone(), storage))))
    }

    /// ` key=`.
    fn attribute(&mut self, key: &str) -> Result<()> {
        self.want(key)?;
        self.want("=")
    }

    /// An operator other than a map, by name, with its attributes.
    fn operator(&mut self, name: &str) -> Result<Op> {
        let shape = |at: &mut Self| at.attribute("shape").and_then(|()| at.sizes());
        Ok(match name {
            "matmul" => Op::MatMul,
            "conv" => {
                let [strides, dilations, pads_begin, pads_end] = self.window()?;
                self.attribute("groups")?;
                Op::Conv(Conv { strides, dilations, pads_begin, pads_end, groups: self.size()? })
            }
            "max_pool" | "average_pool" => {
                self.attribute("kernel")?;
                let kernel = self.sizes()?;
                let [strides, dilations, pads_begin, pads_end] = self.window()?;
                let kind =
                    if name == "max_pool" { PoolKind::Max } else { PoolKind::Average { count_pad: self.flag("count_pad")? } };
                Op::Pool(Pool { kind, kernel, strides, dilations, pads_begin, pads_end })
            }
            "adaptive_average_pool" => {
                self.attribute("size")?;
                Op::Pool(Pool::adaptive_average(self.sizes()?))
            }
            "batch_norm" => {
                self.attribute("epsilon")?;
                Op::BatchNorm { epsilon: self.float()? }
            }
            "conv_transpose" => {
                let [strides, dilations, pads_begin, pads_end] = self.window()?;
                self.attribute("output_padding")?;
                let output_padding = self.sizes()?;
                self.attribute("groups")?;
                let groups = self.size()?;
                Op::ConvTranspose(ConvTranspose { strides, dilations, pads_begin, pads_end, output_padding, groups })
            }
            "norm" | "rms_norm" => {
                self.attribute("axes")?;
                let axes = self.sizes()?;
                self.attribute("epsilon")?;
                Op::Norm(Norm { axes, epsilon: self.float()?, centred: name == "norm" })
            }
            "softmax" | "log_softmax" => {
                self.attribute("axis")?;
                Op::Softmax { axis: self.size()?, log: name == "log_softmax" }
            }
            "argmax" | "argmin" => {
                let kind = if name == "argmax" { ArgKind::Max } else { ArgKind::Min };
                self.attribute("axis")?;
                let axis = self.size()?;
                Op::ArgReduce(ArgReduce { kind, axis, keep: self.flag("keep")?, last: self.flag("last")? })
            }
            "cumsum" | "cumprod" => {
                let kind = if name == "cumsum" { ScanKind::Sum } else { ScanKind::Prod };
                self.attribute("axis")?;
                let axis = self.size()?;
                Op::Scan(Scan { kind, axis, reverse: self.flag("reverse")?, exclusive: self.flag("exclusive")? })
            }
            "lrn" => {
                self.attribute("size")?;
                let size = self.size()?;
                let mut number = |key: &str| self.attribute(key).and_then(|()| self.float());
                Op::Lrn(Lrn { size, alpha: number("alpha")?, beta: number("beta")?, bias: number("bias")? })
            }
            "reshape" => Op::View(View::Reshape(shape(self)?)),
            "broadcast" => Op::View(View::Broadcast(shape(self)?)),
            "transpose" => {
                self.attribute("order")?;
                Op::View(View::Transpose(self.sizes()?))
            }
            _ => match ReduceKind::ALL.into_iter().find(|kind| kind.name() == name) {
                Some(kind) => {
                    self.attribute("axes")?;
                    let axes = self.sizes()?;
                    Op::Reduce(Reduce { kind, axes, keep: self.flag("keep")? })
                }
                None => return Err(self.error(format!("`{name}` is no operator"))),
            },
        })
    }

    /// ` key=true`.
    fn flag(&mut self, key: &str) -> Result<bool> {
        self.attribute(key)?;
        self.parsed("true or false")
    }

    fn window(&mut self) -> Result<[SmallVec<[usize; 3]>; 4]> {
        let mut window: [SmallVec<[usize; 3]>; 4] = Default::default();
        for (slot, key) in window.iter_mut().zip(["strides", "dilations", "pads_begin", "pads_end"]) {
            self.attribute(key)?;
            *slot = self.sizes()?;
        }
        Ok(window)
    }

    fn access(&mut self, operands: usize) -> Result<Access> {
        let input = self.size()?;
        if input >= operands {
            return Err(self.error(format!("there is no operand {input}")));
        }
        self.want("[")?;
        let rest = self.rest();
        let close = rest.find(']').ok_or_else(|| self.error("`]` is missing"))?;
        let mut index = Vec::new();
        for text in rest[..close].split_inclusive(',') {
            let length = text.trim_end_matches(',').len();
            let inner = Cursor { file: self.file, line: &self.line[..self.at + length], at: self.at };
            index.push(inner.expression(parse_expr::parse_index)?);
            self.at += text.len();
        }
        self.want("]")?;
        let oob = if self.take("fill") { OutOfBounds::Fill(self.float()?) } else { OutOfBounds::InBounds };
        Ok(Access { input, index, oob })
    }

    /// The rest of the line through a parser of expressions.
    fn expression<T>(&self, parse: impl FnOnce(&str) -> std::result::Result<T, parse_expr::ParseError>) -> Result<T> {
        let inner = Cursor { at: self.at, ..*self };
        parse(&inner.line[inner.at..]).map_err(|error| Cursor { at: inner.at + error.at, ..inner }.error(error.message))
    }
}
