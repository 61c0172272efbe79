//! A step as statements: loads of its operands, each under the masks of the axes it reads, and its
//! expression.

use std::collections::BTreeMap;

use super::address::Access;
use super::anchors::split;
use super::expression::Expression;
use super::format::call;
use super::rewrite::Rewriter;
use super::space::Space;
use super::step::{Extra, Step, StepRead};
use super::triton_expr::{Printer, Text, cast, compute_dtype, number};
use crate::diag::Result;
use crate::dtype::DType;
use crate::expr::proof::keeps;
use crate::expr::{Constant, Node, simplify};
use crate::graph::op::OutOfBounds;
use crate::syntax::Constant as PythonConstant;

impl Rewriter<'_> {
    /// Loads a step's operands and writes its expression; the result's text.
    pub(super) fn step(&mut self, step: &Step, previous: &str, space: &Space, lines: &mut Lines) -> Result<Text> {
        let mut reads: Vec<String> = Vec::with_capacity(step.reads.len());
        for (k, read) in step.reads.iter().enumerate() {
            let name = match read {
                StepRead::Previous => {
                    let dtype = read_dtype(step, k as u32);
                    match dtype.filter(|&d| compute_dtype(d) != d) {
                        Some(narrow) => cast(&Text::atom(previous), compute_dtype(narrow)).text,
                        None => previous.to_owned(),
                    }
                }
                StepRead::Extra(extra) => self.load_extra(extra, &extra.stem, space, &reads, lines)?,
            };
            reads.push(name);
        }
        let mut coordinates = BTreeMap::new();
        let mut used = vec![false; space.entries.len()];
        // A literal 0 has no type that `.to` could change.
        let body = simplify::over(&step.body, &space.dims);
        for (node, _) in body.nodes() {
            if let Node::Coordinate(k) = node {
                coordinates.insert(*k as usize, self.writer.coordinate(space, *k as usize, &mut used)?);
            }
        }
        let coordinate = |k: usize| coordinates.get(&k).cloned().unwrap_or_else(|| Text::atom("0"));
        let mut printer =
            Printer { reads: &reads, coordinate: &coordinate, names: &mut self.writer.names, statements: Vec::new() };
        let result = printer.print(&body)?;
        for (name, text) in printer.statements {
            lines.assign(&name, &text);
        }
        Ok(result)
    }

    /// `bias = tl.load(…)` under the masks of the axes that it reads.
    pub(super) fn load_extra(
        &mut self,
        extra: &Extra,
        target: &str,
        space: &Space,
        reads: &[String],
        lines: &mut Lines,
    ) -> Result<String> {
        let access = Access {
            stem: &extra.stem,
            layout: &extra.layout,
            index: &extra.index,
            oob: extra.oob,
            reads,
            own: &|_| false,
            whole: false,
        };
        let address = self.writer.address(space, &access)?;
        let masks: Vec<String> = address.masks.iter().chain(&address.inside).cloned().collect();
        let mut args = vec![sum(&extra.stem, &address.terms)];
        if !masks.is_empty() {
            let fill = match extra.oob {
                OutOfBounds::InBounds => 0.0,
                OutOfBounds::Fill(fill) => fill,
            };
            args.push(format!("mask={}", conjunction(&masks)));
            args.push(format!("other={}", if extra.dtype.is_float() { number(fill).text } else { format!("{}", fill as i64) }));
        }
        lines.push(&call(lines.indent, &format!("{target} = tl.load"), &args));
        let wide = compute_dtype(extra.dtype);
        if wide != extra.dtype {
            lines.assign(target, &cast(&Text::atom(target), wide).text);
        }
        Ok(target.to_owned())
    }
}

/// Statements at one indentation.
pub struct Lines {
    pub indent: usize,
    pub text: String,
}

impl Lines {
    pub fn push(&mut self, statement: &str) {
        self.text.push_str(statement);
        self.text.push('\n');
    }

    pub fn assign(&mut self, name: &str, text: &str) {
        let line = format!("{}{name} = {text}", " ".repeat(self.indent));
        self.push(&line);
    }
}

/// `x_ptr + …`.
pub fn sum(stem: &str, terms: &[String]) -> String {
    std::iter::once(format!("{stem}_ptr")).chain(terms.iter().cloned()).collect::<Vec<_>>().join(" + ")
}

/// Masks joined by `&`; comparisons get brackets when there are several.
pub fn conjunction(masks: &[String]) -> String {
    if let [one] = masks {
        return one.clone();
    }
    let bracketed = |m: &String| {
        let bare = ['<', '>', '=', '|'].iter().any(|&c| split(m, c).len() > 1);
        if bare { format!("({m})") } else { m.clone() }
    };
    masks.iter().map(bracketed).collect::<Vec<_>>().join(" & ")
}

fn read_dtype(step: &Step, k: u32) -> Option<DType> {
    step.body.nodes().iter().find(|(node, _)| *node == Node::Read(k)).map(|(_, dtype)| *dtype)
}

/// Whether a prologue leaves the load's `other` as it is.
pub fn proven(step: &Step, other: &str) -> bool {
    let value = Expression::from_text(other).and_then(|e| e.evaluate::<[(&str, PythonConstant)]>(&[]));
    let Some(main) = step.reads.iter().position(|r| matches!(r, StepRead::Previous)) else { return false };
    let constant = match value {
        Ok(PythonConstant::Float(x)) => Constant::float(x),
        Ok(PythonConstant::Int(i)) if step.body.dtype().is_float() => Constant::float(i as f64),
        Ok(PythonConstant::Int(i)) => Constant::Int(i),
        _ => return false,
    };
    keeps(&step.body, main as u32, constant)
}
