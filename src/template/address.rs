//! Addresses as Triton text: an access of an operand at an anchor's coordinates.

use std::collections::BTreeMap;

use super::axes::{Axis, affine_stride, bounds};
use super::bound::{HostInt, Layout};
use super::names::Names;
use super::problem::{Operand, Problem, linear};
use super::space::Space;
use super::triton_expr::{Strength, Text};
use crate::diag::{Diagnostic, Result, codes};
use crate::expr::index::Index;
use crate::graph::op::OutOfBounds;

/// A term's stride parameter that binding adds to the kernel.
#[derive(Clone, Debug)]
pub struct Added {
    /// Parameters of one group stand on one line: an operand's stem, or an axis.
    pub group: String,
    pub name: String,
    pub value: HostInt,
}

/// One part of a group: axis and position.
pub type PartId = (usize, usize);

/// What a piece of text asks of its surroundings.
pub struct Surroundings {
    /// Assignments (variable, text) that must stand before it.
    pub needed: Vec<(String, String)>,
    /// All parts that are assigned behind them.
    pub known: Vec<PartId>,
}

/// What binding needs while it writes text: names, parameters to add, sizes of parts.
pub struct Writer<'a> {
    pub problem: &'a Problem,
    pub names: Names,
    pub added: Vec<Added>,
    /// Names of the sizes of parts, by axis and part.
    pub part_sizes: BTreeMap<PartId, String>,
    /// Variables that hold parts' coordinates, by axis and part.
    part_names: BTreeMap<PartId, String>,
    /// Parts whose variable is assigned where text is being written, and by which coordinate.
    known_parts: Vec<PartId>,
    /// Assignments that the text being written needs before it.
    needed: Vec<(String, String)>,
    /// Stride parameters of the template's own operands that texts use.
    pub used_strides: Vec<String>,
}

/// An address's pieces.
pub struct Address {
    /// Summands behind the pointer.
    pub terms: Vec<String>,
    /// Masks of the axes that it reads.
    pub masks: Vec<String>,
    /// Conditions under which the index lies inside the operand.
    pub inside: Vec<String>,
}

/// Where an address's operand comes from.
pub struct Access<'a> {
    /// `x` of `x_ptr`.
    pub stem: &'a str,
    /// The wrapper's tensor, for `x.stride(0)`.
    pub layout: &'a Layout,
    pub index: &'a [Index],
    pub oob: OutOfBounds,
    /// Variables that hold the Map's reads, for index inputs.
    pub reads: &'a [String],
    /// Stride parameters that the kernel has already.
    pub own: &'a dyn Fn(&str) -> bool,
    /// Whether the pointer must have the block's shape, as an anchor's own statement needs it: it then
    /// has a term, of stride 0, along what the operand is broadcast over.
    pub whole: bool,
}

impl<'a> Writer<'a> {
    pub fn new(problem: &'a Problem, names: Names) -> Writer<'a> {
        Writer {
            problem,
            names,
            added: Vec::new(),
            part_sizes: BTreeMap::new(),
            part_names: BTreeMap::new(),
            known_parts: Vec::new(),
            needed: Vec::new(),
            used_strides: Vec::new(),
        }
    }

    /// Starts writing at a place where these parts' variables are assigned already.
    pub fn enter(&mut self, known: Vec<PartId>) {
        self.known_parts = known;
        self.needed.clear();
    }

    /// What was written since `enter` needs.
    pub fn leave(&mut self) -> Surroundings {
        Surroundings { needed: std::mem::take(&mut self.needed), known: std::mem::take(&mut self.known_parts) }
    }

    /// The address of an access in a space.
    pub fn address(&mut self, space: &Space, access: &Access<'_>) -> Result<Address> {
        let line = linear(access.index, access.layout, space.place.len());
        let mut out = Address { terms: Vec::new(), masks: Vec::new(), inside: Vec::new() };
        let base = access.layout.offset + line.base;
        let contiguous = access.layout.is_contiguous();
        let mut used = vec![false; space.entries.len()];
        for (e, entry) in space.entries.iter().enumerate() {
            let dims: Vec<(usize, usize)> = space
                .place
                .iter()
                .enumerate()
                .filter_map(|(dim, place)| place.filter(|p| p.0 == e).map(|p| (dim, p.1)))
                .filter(|&(dim, _)| line.coefs[dim] != 0 && space.dims[dim] > 1)
                .collect();
            // A coordinate that is always 0 adds nothing.
            if entry.coord.at(Strength::Or) == "0" {
                continue;
            }
            if dims.is_empty() {
                if access.whole {
                    out.terms.push(self.term(access, &entry.name, &entry.coord, 0, None, entry.axis.is_some()));
                }
                continue;
            }
            used[e] = true;
            let source = |members: std::ops::Range<usize>| {
                let inner = dims.iter().filter(|d| members.contains(&d.1)).max_by_key(|d| d.1)?;
                line.source[inner.0].filter(|_| contiguous)
            };
            let Some(a) = entry.axis else {
                let term = self.term(access, &entry.name, &entry.coord, line.coefs[dims[0].0], source(0..1), false);
                out.terms.push(term);
                continue;
            };
            let axis = &self.problem.axes[a];
            let mut coefs = vec![0; axis.sizes.len()];
            for &(dim, member) in &dims {
                coefs[member] = line.coefs[dim];
            }
            if let Some(stride) = affine_stride(&coefs, &axis.sizes) {
                let (n, many) = (axis.sizes.len(), axis.many);
                let term = self.term(access, &entry.name, &entry.coord, stride, source(0..n), many);
                out.terms.push(term);
                continue;
            }
            for (part, members) in axis.parts.clone().into_iter().enumerate() {
                let axis = &self.problem.axes[a];
                let stride = affine_stride(&coefs[members.clone()], &axis.sizes[members.clone()]);
                let stride = stride.ok_or_else(|| internal("a group was cut too coarsely"))?;
                if stride != 0 {
                    let many = axis.many;
                    let coord = self.part(a, part, &entry.coord);
                    let name = format!("{}{part}", entry.name);
                    let source = source(members);
                    out.terms.push(self.term(access, &name, &coord, stride, source, many));
                }
            }
        }
        if base != 0 {
            let name = format!("{}_offset", access.stem);
            self.add(access.stem, &name, HostInt { value: base, text: base.to_string() });
            out.terms.insert(0, name);
        }
        for &axis in &line.bent {
            let text = self.index(space, &access.index[axis], access.reads, &mut used)?;
            let name = format!("{}_stride_{axis}", access.stem);
            let stride = access.layout.strides[axis];
            let host = if contiguous { format!("{}.stride({axis})", access.stem) } else { stride.to_string() };
            if access.layout.shape[axis] > 1 || access.oob != OutOfBounds::InBounds {
                self.add(access.stem, &name, HostInt { value: stride, text: host });
                out.terms.push(format!("{} * {name}", text.at(Strength::Product)));
            }
        }
        if access.oob != OutOfBounds::InBounds {
            for (axis, index) in access.index.iter().enumerate() {
                let size = access.layout.shape[axis] as i64;
                let (low, high) = bounds(index, &space.dims).unwrap_or((i64::MIN, i64::MAX));
                if low >= 0 && high < size {
                    continue;
                }
                let (text, shift) = self.shifted(space, index, access.reads, &mut used)?;
                if low < 0 {
                    out.inside.push(format!("({text} >= {})", -shift));
                }
                if high >= size {
                    out.inside.push(format!("({text} < {})", size - shift));
                }
            }
        }
        for (entry, _) in space.entries.iter().zip(&used).filter(|(_, used)| **used) {
            if let Some(mask) = entry.mask.as_ref().filter(|m| !out.masks.contains(m)) {
                out.masks.push(mask.clone());
            }
        }
        Ok(out)
    }

    /// An index as text plus a constant.
    fn shifted(&mut self, space: &Space, index: &Index, reads: &[String], used: &mut [bool]) -> Result<(String, i64)> {
        let (index, shift) = match index {
            Index::Add(a, b) => match **b {
                Index::Constant(c) => (&**a, c),
                _ => (index, 0),
            },
            _ => (index, 0),
        };
        Ok((self.index(space, index, reads, used)?.at(Strength::Or), shift))
    }

    /// `coord * stride`; along a flattened group a stride of 1 is left out, as in the templates' own text.
    fn term(&mut self, access: &Access<'_>, name: &str, coord: &Text, stride: i64, source: Option<usize>, many: bool) -> String {
        let param = format!("{}_stride_{name}", access.stem);
        if (access.own)(&param) {
            self.used_strides.push(param.clone());
        } else if many && stride == 1 {
            return coord.at(Strength::Sum);
        } else {
            let text = source.map_or(stride.to_string(), |axis| format!("{}.stride({axis})", access.stem));
            self.add(access.stem, &param, HostInt { value: stride, text });
        }
        format!("{} * {param}", coord.at(Strength::Product))
    }

    /// Adds a parameter once.
    pub fn add(&mut self, group: &str, name: &str, value: HostInt) {
        if !self.added.iter().any(|a| a.name == name) {
            self.added.push(Added { group: group.to_owned(), name: name.to_owned(), value });
        }
    }

    /// The coordinate of one part of a flattened group: a variable that is assigned before.
    fn part(&mut self, a: usize, part: usize, coord: &Text) -> Text {
        let axis = &self.problem.axes[a];
        let parts = axis.parts.len();
        if parts == 1 {
            return coord.clone();
        }
        let name = match self.part_names.get(&(a, part)) {
            Some(name) => name.clone(),
            None => {
                let name = self.names.fresh(&format!("{}{part}", self.problem.axes[a].name));
                self.part_names.insert((a, part), name.clone());
                name
            }
        };
        if !self.known_parts.contains(&(a, part)) {
            self.known_parts.push((a, part));
            let inner: Vec<String> = (part + 1..parts).map(|p| self.part_size(a, p)).collect();
            let mut text = coord.at(Strength::Product);
            match inner.as_slice() {
                [] => {}
                [one] => text = format!("{text} // {one}"),
                several => text = format!("{text} // ({})", several.join(" * ")),
            }
            if part > 0 {
                text = format!("{text} % {}", self.part_size(a, part));
            }
            self.needed.push((name.clone(), text));
        }
        Text::atom(name)
    }

    fn part_size(&mut self, a: usize, part: usize) -> String {
        let axis: &Axis = &self.problem.axes[a];
        let group = axis.name.clone();
        let value = axis.part_size(part);
        let members = axis.parts[part].clone();
        let name = match self.part_sizes.get(&(a, part)) {
            Some(name) => name.clone(),
            None => {
                let name = self.names.fresh(&format!("{}{part}", axis.name.to_ascii_uppercase()));
                self.part_sizes.insert((a, part), name.clone());
                name
            }
        };
        let text = size_text(self.problem, a, members).unwrap_or_else(|| value.to_string());
        self.add(&group, &name, HostInt { value, text });
        name
    }

    /// The coordinate of a single logical dimension.
    pub fn coordinate(&mut self, space: &Space, dim: usize, used: &mut [bool]) -> Result<Text> {
        if space.dims[dim] == 1 {
            return Ok(Text::atom("0"));
        }
        let (e, member) = space.place[dim].ok_or_else(|| internal("a broadcast dimension has no coordinate"))?;
        used[e] = true;
        let entry = &space.entries[e];
        let Some(a) = entry.axis else { return Ok(entry.coord.clone()) };
        let axis = &self.problem.axes[a];
        let part = axis.parts.iter().position(|p| p.contains(&member)).unwrap_or(0);
        let alone = axis.parts[part].clone().all(|m| m == member || axis.sizes[m] == 1);
        if !alone {
            return Err(internal("a dimension that is read alone was not cut out of its group"));
        }
        let coord = entry.coord.clone();
        Ok(self.part(a, part, &coord))
    }

    /// An index expression. Triton's `//` and `%` truncate: a dividend that may be negative is shifted by a
    /// multiple of the divisor; where nobody knows how negative it is (an index that is read), the
    /// remainder is brought up by the divisor and taken once more.
    fn index(&mut self, space: &Space, index: &Index, reads: &[String], used: &mut [bool]) -> Result<Text> {
        Ok(match index {
            Index::Dim(d) => self.coordinate(space, *d, used)?,
            Index::Constant(c) => Text::new(c.to_string(), if *c < 0 { Strength::Unary } else { Strength::Atom }),
            Index::Add(a, b) => {
                let left = self.index(space, a, reads, used)?.at(Strength::Sum);
                match &**b {
                    Index::Constant(c) if *c < 0 => Text::new(format!("{left} - {}", c.unsigned_abs()), Strength::Sum),
                    b => {
                        Text::new(format!("{left} + {}", self.index(space, b, reads, used)?.at(Strength::Product)), Strength::Sum)
                    }
                }
            }
            Index::Mul(a, c) => {
                Text::new(format!("{} * {c}", self.index(space, a, reads, used)?.at(Strength::Product)), Strength::Product)
            }
            Index::FloorDiv(a, c) | Index::Mod(a, c) => {
                let floors = matches!(index, Index::FloorDiv(..));
                let inner = self.index(space, a, reads, used)?;
                let Some((low, _)) = bounds(a, &space.dims) else {
                    let inner = inner.at(Strength::Product);
                    let remainder = format!("({inner} % {c} + {c}) % {c}");
                    return Ok(Text::new(
                        if floors { format!("({inner} - {remainder}) // {c}") } else { remainder },
                        Strength::Product,
                    ));
                };
                let shift = if low < 0 { -low.div_euclid(*c) } else { 0 };
                let dividend = if shift == 0 {
                    inner
                } else {
                    Text::new(format!("{} + {}", inner.at(Strength::Sum), shift * c), Strength::Sum)
                };
                let dividend = dividend.at(Strength::Product);
                if !floors {
                    Text::new(format!("{dividend} % {c}"), Strength::Product)
                } else if shift == 0 {
                    Text::new(format!("{dividend} // {c}"), Strength::Product)
                } else {
                    Text::new(format!("{dividend} // {c} - {shift}"), Strength::Sum)
                }
            }
            Index::Read(k) => {
                let name = reads.get(*k).ok_or_else(|| internal("an index input is read before it is loaded"))?;
                Text::atom(name.clone())
            }
        })
    }
}

/// Whether the wrapper's tensor for an operand has the operand's logical shape.
pub fn has_logical_shape(operand: &Operand) -> bool {
    let identity = |(i, index): (usize, &Index)| *index == Index::Dim(i) || operand.shape[i] == 1;
    operand.layout.is_contiguous() && operand.layout.shape == operand.shape && operand.index.iter().enumerate().all(identity)
}

/// The product of an axis's members as host text, from a tensor of the wrapper that has these dimensions.
pub fn size_text(problem: &Problem, axis: usize, members: std::ops::Range<usize>) -> Option<String> {
    let name = &problem.axes[axis].name;
    let sizes = &problem.axes[axis].sizes;
    for operand in &problem.operands {
        let Some(range) = operand.range_of(name).filter(|_| has_logical_shape(operand)) else { continue };
        let mut dims: Vec<usize> = Vec::new();
        let mut found = true;
        for member in members.clone().filter(|&m| sizes[m] > 1 || members.len() == 1) {
            match range.clone().find(|&dim| problem.member(operand, axis, dim) == Some(member)) {
                Some(dim) => dims.push(dim),
                None => found = false,
            }
        }
        if !found {
            continue;
        }
        dims.sort_unstable();
        let stem = operand.stem();
        if members.len() > 1 && range.len() == operand.shape.len() && members.len() == sizes.len() {
            return Some(format!("{stem}.numel()"));
        }
        if dims.is_empty() {
            return Some("1".to_owned());
        }
        return Some(dims.iter().map(|d| format!("{stem}.shape[{d}]")).collect::<Vec<_>>().join(" * "));
    }
    None
}

pub fn internal(message: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&codes::INTERNAL, message))
}
