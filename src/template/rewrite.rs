//! The edits of a template's text at its anchors.
//!
//! Only what an anchor owns changes: its comment makes room for epilogue code or added parameters,
//! its statement gets a fresh value or another address. Functions that no launch needs are dropped.

use super::address::{Access, Address, PartId, Space, Surroundings, Writer, internal};
use super::anchors::{Anchor, Site, split};
use super::axes::affine_stride;
use super::bind::Work;
use super::bound::{ArgumentValue, HostInt};
use super::edit::{Edits, without};
use super::expression::Expression;
use super::format::{WIDTH, call, name_lines};
use super::kernel_file::{Function, KernelFile};
use super::problem::{Operand, linear};
use super::step::{Extra, Step, StepRead};
use super::triton_expr::{Printer, Text, cast, compute_dtype, number};
use crate::diag::Result;
use crate::dtype::DType;
use crate::expr::proof::keeps;
use crate::expr::{Constant, Node};
use crate::graph::op::OutOfBounds;
use crate::source::Span;
use crate::syntax::Constant as PythonConstant;

/// A parameter of a written function.
#[derive(Clone, Debug)]
pub struct FinalParam {
    pub name: String,
    pub constexpr: bool,
}

pub struct Rewritten {
    pub text: String,
    /// Of each function, in order.
    pub params: Vec<(String, Vec<FinalParam>)>,
    /// Values of the parameters that binding added; pointers are not among them.
    pub added: Vec<(String, ArgumentValue)>,
}

/// Writes the functions that `entries` need; `wide` makes indices 64-bit.
pub fn rewrite(writer: Writer<'_>, work: &Work, entries: &[&str], wide: bool) -> Result<Rewritten> {
    let template = writer.problem.template.clone();
    let kernel = &template.kernel;
    let functions = kernel.reached(entries);
    let inside = |span: Span| functions.iter().any(|f| f.span.start <= span.start && span.end <= f.span.end);
    let mut rewriter =
        Rewriter { kernel, functions: &functions, writer, edits: Edits::default(), rewritten: Vec::new(), assigned: Vec::new() };
    let anchors: Vec<&Anchor> = kernel.anchors.iter().filter(|a| inside(a.lines)).collect();
    for anchor in &anchors {
        match &anchor.site {
            Site::Params | Site::Args => {}
            Site::Load { .. } => rewriter.load(anchor, work)?,
            Site::Body { target } => rewriter.body(anchor, target, work)?,
            Site::Value { .. } | Site::Store { .. } => {
                // Anchors above one statement are written together, at the first.
                let owners: Vec<&Anchor> = anchors.iter().copied().filter(|a| a.owner == anchor.owner).collect();
                if owners.first().is_some_and(|first| first.lines == anchor.lines) {
                    rewriter.statement(&owners, work)?;
                }
            }
        }
    }
    if wide {
        for root in kernel.index_roots.iter().filter(|&&root| inside(root)) {
            rewriter.edits.insert(root.end, ".to(tl.int64)");
        }
    }
    let Lists { params, added } = rewriter.lists(&anchors, work);
    let text = kernel.file.text();
    let parts: Vec<String> = functions.iter().map(|f| rewriter.edits.apply(text, f.span).trim_end().to_owned()).collect();
    Ok(Rewritten { text: parts.join("\n\n\n") + "\n", params, added })
}

/// Parameters after rewriting.
struct Lists {
    params: Vec<(String, Vec<FinalParam>)>,
    added: Vec<(String, ArgumentValue)>,
}

struct Rewriter<'a> {
    kernel: &'a KernelFile,
    functions: &'a [&'a Function],
    writer: Writer<'a>,
    edits: Edits,
    /// Stems of operands whose addresses were rewritten.
    rewritten: Vec<String>,
    /// Where parts' coordinates were assigned: the place, its indentation, the coordinates there.
    assigned: Vec<Assigned>,
}

struct Assigned {
    part: PartId,
    /// Start of the statement that the assignment stands before.
    at: u32,
    indent: usize,
    coord: String,
}

impl Rewriter<'_> {
    fn slice(&self, span: Span) -> &str {
        self.kernel.file.slice(span)
    }

    fn indent(&self, owner: Span) -> usize {
        self.kernel.file.position(owner.start).column - 1
    }

    /// Starts to write at an anchor: parts that are assigned in an enclosing block before it, from
    /// the same coordinate, are known.
    fn enter(&mut self, anchor: &Anchor) {
        let text = self.kernel.file.text();
        let known = self
            .assigned
            .iter()
            .filter(|a| {
                let between = text.get(a.at as usize..anchor.owner.start as usize).unwrap_or("");
                let stays = |line: &str| line.trim().is_empty() || line.len() - line.trim_start().len() >= a.indent;
                let axis = &self.writer.problem.axes[a.part.0].name;
                let same = anchor.coords.iter().any(|c| c.axis == *axis && c.text == a.coord);
                a.at < anchor.owner.start && between.lines().skip(1).all(stays) && same
            })
            .map(|a| a.part)
            .collect();
        self.writer.enter(known);
    }

    /// Ends what `enter` began: the assignments that must stand before the anchor's other lines.
    fn leave(&mut self, anchor: &Anchor) -> String {
        let indent = self.indent(anchor.owner);
        let Surroundings { needed, known } = self.writer.leave();
        for part in known {
            let axis = &self.writer.problem.axes[part.0].name;
            let coord = anchor.coords.iter().find(|c| c.axis == *axis).map(|c| c.text.clone());
            self.assigned.push(Assigned { part, at: anchor.owner.start, indent, coord: coord.unwrap_or_default() });
        }
        let mut lines = Lines { indent, text: String::new() };
        needed.iter().for_each(|(name, text)| lines.assign(name, text));
        lines.text
    }

    fn has_param(&self, name: &str) -> bool {
        self.functions.iter().any(|f| f.params.iter().any(|p| p.name == name))
    }

    /// Whether the template's own text reaches an operand's elements as they lie.
    fn needs_address(&self, operand: &Operand) -> bool {
        let line = linear(&operand.index, &operand.layout, operand.shape.len());
        if !line.bent.is_empty() || operand.oob != OutOfBounds::InBounds || line.base + operand.layout.offset != 0 {
            return true;
        }
        operand.dims.iter().zip(&operand.ranges).any(|(dim, range)| {
            let axis = if dim.index.is_none() { self.writer.problem.axis(&dim.name) } else { None };
            let stride = match axis {
                Some(axis) => {
                    let coefs = self.writer.problem.over_members(operand, axis, &line.coefs);
                    affine_stride(&coefs, &self.writer.problem.axes[axis].sizes)
                }
                None => Some(line.coefs[range.start]),
            };
            let size = axis.map_or_else(|| operand.shape[range.start] as i64, |a| self.writer.problem.axes[a].size());
            match stride {
                None => true,
                Some(stride) => !self.has_param(&format!("{}_stride_{}", operand.stem(), dim.name)) && stride != 1 && size > 1,
            }
        })
    }

    /// An operand's own address at one of its anchors.
    fn own_address(&mut self, operand: &Operand, space: &Space) -> Result<Address> {
        let stem = operand.stem();
        let params: Vec<String> = self.functions.iter().flat_map(|f| f.params.iter().map(|p| p.name.clone())).collect();
        let own = move |name: &str| params.iter().any(|p| p == name);
        let access = Access {
            stem: &stem,
            layout: &operand.layout,
            index: &operand.index,
            oob: operand.oob,
            reads: &[],
            own: &own,
            whole: true,
        };
        let address = self.writer.address(space, &access)?;
        if !self.rewritten.contains(&stem) {
            self.rewritten.push(stem);
        }
        Ok(address)
    }

    fn load(&mut self, anchor: &Anchor, work: &Work) -> Result<()> {
        let Site::Load { target, pointer: _, mask, other } = &anchor.site else { return Ok(()) };
        let problem = self.writer.problem;
        let position = problem.operands.iter().position(|o| o.name == anchor.name);
        let position = position.ok_or_else(|| internal("a load anchor names no operand"))?;
        let operand = &problem.operands[position];
        let space = Space::new(problem, operand, anchor);
        let indent = self.indent(anchor.owner);
        self.enter(anchor);
        let mask_text = self.slice(*mask).to_owned();
        let other_text = self.slice(*other).to_owned();
        if self.needs_address(operand) {
            let address = self.own_address(operand, &space)?;
            let masks: Vec<String> = std::iter::once(mask_text.clone()).chain(address.inside.iter().cloned()).collect();
            let other = match operand.oob {
                OutOfBounds::InBounds => other_text.clone(),
                OutOfBounds::Fill(fill) => number(fill).text,
            };
            let args = [sum(&operand.stem(), &address.terms), format!("mask={}", conjunction(&masks)), format!("other={other}")];
            self.edits.replace(anchor.owner, call(indent, &format!("{target} = tl.load"), &args).trim_start());
        }
        let Some((_, step)) = work.prologues.iter().find(|(at, _)| *at == position) else {
            let before = self.leave(anchor);
            self.edits.replace(anchor.lines, before);
            return Ok(());
        };
        let mut lines = Lines { indent, text: String::new() };
        let result = self.step(step, target, &space, &mut lines)?;
        let before = self.leave(anchor);
        self.edits.replace(anchor.lines, before);
        let narrow = step.body.dtype();
        let result = if compute_dtype(narrow) == narrow { result } else { cast(&result, narrow) };
        let kept = operand.oob == OutOfBounds::InBounds && proven(step, &other_text);
        if kept && result.text == *target {
            // A prologue that only moves elements is done by the address.
        } else if kept {
            lines.assign(target, &result.text);
        } else {
            let args = [mask_text, result.text, other_text];
            lines.push(&call(indent, &format!("{target} = tl.where"), &args));
        }
        if !lines.text.is_empty() {
            self.edits.insert(anchor.owner.end, format!("\n{}", lines.text.trim_end()));
        }
        Ok(())
    }

    fn body(&mut self, anchor: &Anchor, target: &str, work: &Work) -> Result<()> {
        let problem = self.writer.problem;
        let step = work.body.as_ref().ok_or_else(|| internal("a body anchor without a Map"))?;
        let space = Space::new(problem, problem.output(), anchor);
        let mut lines = Lines { indent: self.indent(anchor.owner), text: String::new() };
        self.enter(anchor);
        if let ([StepRead::Extra(extra)], [(Node::Read(0), _)]) = (step.reads.as_slice(), step.body.nodes()) {
            // Pure movement: the load itself gives the target.
            self.load_extra(extra, target, &space, &[], &mut lines)?;
            let before = self.leave(anchor);
            self.edits.replace(anchor.lines, before);
            self.edits.replace(anchor.owner, lines.text.trim());
            return Ok(());
        }
        let result = self.step(step, target, &space, &mut lines)?;
        let before = self.leave(anchor);
        self.edits.replace(anchor.lines, before + &lines.text);
        self.edits.replace(anchor.owner, format!("{target} = {}", result.text));
        Ok(())
    }

    /// Value and store anchors of one statement.
    fn statement(&mut self, anchors: &[&Anchor], work: &Work) -> Result<()> {
        let problem = self.writer.problem;
        let mut local = Edits::default();
        let mut address = None;
        let mut parts = None;
        let mut renamed = false;
        for anchor in anchors {
            let space = Space::new(problem, problem.output(), anchor);
            let mut lines = Lines { indent: self.indent(anchor.owner), text: String::new() };
            self.enter(anchor);
            match &anchor.site {
                Site::Value { uses } => {
                    let mut current = anchor.name.clone();
                    for step in &work.epilogues {
                        let result = self.step(step, &current, &space, &mut lines)?;
                        let name = self.writer.names.fresh(&format!("{}_{}", anchor.name, step.label));
                        lines.assign(&name, &result.text);
                        current = name;
                    }
                    if current != anchor.name {
                        uses.iter().for_each(|&span| local.replace(span, current.clone()));
                        renamed = true;
                    }
                }
                Site::Store { pointer: _, value, mask } => {
                    parts = Some((*value, *mask));
                    if self.needs_address(problem.output()) {
                        address = Some(self.own_address(problem.output(), &space)?);
                    }
                }
                Site::Params | Site::Args | Site::Load { .. } | Site::Body { .. } => {}
            }
            let before = self.leave(anchor);
            self.edits.replace(anchor.lines, before + &lines.text);
        }
        let owner = anchors[0].owner;
        let text = self.kernel.file.text();
        let written = local.apply(text, owner);
        let indent = self.indent(owner);
        let too_long = renamed && !written.contains('\n') && indent + written.chars().count() > WIDTH;
        match parts {
            Some((value, mask)) if address.is_some() || too_long => {
                let pointer = match &address {
                    Some(address) => sum(&problem.output().stem(), &address.terms),
                    None => match &anchors.iter().find_map(|a| match &a.site {
                        Site::Store { pointer, .. } => Some(*pointer),
                        _ => None,
                    }) {
                        Some(pointer) => self.slice(*pointer).to_owned(),
                        None => String::new(),
                    },
                };
                let args = [pointer, local.apply(text, value), format!("mask={}", self.slice(mask))];
                self.edits.replace(owner, call(indent, "tl.store", &args).trim_start());
            }
            _ => self.edits.replace(owner, written),
        }
        Ok(())
    }

    /// Loads a step's operands and writes its expression; the result's text.
    fn step(&mut self, step: &Step, previous: &str, space: &Space, lines: &mut Lines) -> Result<Text> {
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
        let mut coordinates = std::collections::BTreeMap::new();
        let mut used = vec![false; space.entries.len()];
        for (node, _) in step.body.nodes() {
            if let Node::Coordinate(k) = node {
                coordinates.insert(*k as usize, self.writer.coordinate(space, *k as usize, &mut used)?);
            }
        }
        let coordinate = |k: usize| coordinates.get(&k).cloned().unwrap_or_else(|| Text::atom("0"));
        let mut printer =
            Printer { reads: &reads, coordinate: &coordinate, names: &mut self.writer.names, statements: Vec::new() };
        let result = printer.print(&step.body)?;
        for (name, text) in printer.statements {
            lines.assign(&name, &text);
        }
        Ok(result)
    }

    /// `bias = tl.load(…)` under the masks of the axes that it reads.
    fn load_extra(&mut self, extra: &Extra, target: &str, space: &Space, reads: &[String], lines: &mut Lines) -> Result<String> {
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

    /// Parameter and argument lists: what is added stands at the anchors, what is unused goes.
    fn lists(&mut self, anchors: &[&Anchor], work: &Work) -> Lists {
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        let axes = self.writer.problem.axes.iter().map(|a| a.name.clone());
        let own = self.writer.problem.operands.iter().map(Operand::stem);
        groups.extend(axes.chain(own).map(|name| (name, Vec::new())));
        for extra in work.extras() {
            groups.push((extra.stem.clone(), vec![format!("{}_ptr", extra.stem)]));
        }
        for added in &self.writer.added {
            // An axis and an operand may share a name (matmul's b and B): sizes stand with the axis, the first.
            let sizes = self.writer.part_sizes.values().any(|n| *n == added.name);
            let group = match sizes {
                true => groups.iter_mut().find(|g| g.0 == added.group),
                false => groups.iter_mut().rfind(|g| g.0 == added.group),
            };
            if let Some(group) = group {
                group.1.push(added.name.clone());
            }
        }
        let sizes = self.writer.problem.axes.len();
        groups[..sizes].iter_mut().for_each(|g| g.1.sort());
        let lines: Vec<Vec<String>> = groups.into_iter().map(|g| g.1).collect();
        let dropped: Vec<String> = self
            .functions
            .iter()
            .flat_map(|f| f.params.iter().map(|p| p.name.clone()))
            .filter(|name| self.rewritten.iter().any(|stem| name.starts_with(&format!("{stem}_stride_"))))
            .filter(|name| !self.writer.used_strides.contains(name))
            .collect();
        for anchor in anchors.iter().filter(|a| matches!(a.site, Site::Params | Site::Args)) {
            let line = self.slice(anchor.lines);
            let indent = line.len() - line.trim_start().len();
            self.edits.replace(anchor.lines, name_lines(indent, &lines));
            for name in &dropped {
                if let Some(span) = without(self.kernel.file.text(), anchor.owner, name) {
                    self.edits.replace(span, "");
                }
            }
        }
        let params = self
            .functions
            .iter()
            .map(|f| {
                let at = anchors
                    .iter()
                    .find(|a| matches!(a.site, Site::Params) && f.span.start <= a.lines.start && a.lines.end <= f.span.end)
                    .map(|a| a.lines.end);
                let mut list: Vec<FinalParam> = Vec::new();
                let mut inserted = false;
                let insert = |list: &mut Vec<FinalParam>| {
                    list.extend(lines.iter().flatten().map(|name| FinalParam { name: name.clone(), constexpr: false }));
                };
                for param in &f.params {
                    if !inserted && at.is_some_and(|at| param.span.start >= at) {
                        insert(&mut list);
                        inserted = true;
                    }
                    if !dropped.contains(&param.name) {
                        list.push(FinalParam { name: param.name.clone(), constexpr: param.constexpr });
                    }
                }
                if !inserted && at.is_some() {
                    insert(&mut list);
                }
                (f.name.clone(), list)
            })
            .collect();
        let int = |value: &HostInt| ArgumentValue::Int(value.clone());
        let added = self.writer.added.iter().map(|a| (a.name.clone(), int(&a.value))).collect();
        Lists { params, added }
    }
}

/// Statements at one indentation.
struct Lines {
    indent: usize,
    text: String,
}

impl Lines {
    fn push(&mut self, statement: &str) {
        self.text.push_str(statement);
        self.text.push('\n');
    }

    fn assign(&mut self, name: &str, text: &str) {
        let line = format!("{}{name} = {text}", " ".repeat(self.indent));
        self.push(&line);
    }
}

fn sum(stem: &str, terms: &[String]) -> String {
    std::iter::once(format!("{stem}_ptr")).chain(terms.iter().cloned()).collect::<Vec<_>>().join(" + ")
}

/// Masks joined by `&`; comparisons get brackets when there are several.
fn conjunction(masks: &[String]) -> String {
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
fn proven(step: &Step, other: &str) -> bool {
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
