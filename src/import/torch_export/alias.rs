//! Views and writes made functional.
//!
//! In a torch program several names may share memory, and a write through one is seen by all. Here every name
//! remembers its *storage* and the steps that lead from it to the name's elements. A write puts the new elements
//! into the storage's current value, step by step backwards, and counts the storage's version; a name whose version
//! is old takes the steps again when it is next read.
//!
//! Tensors of the archive that lie in one place are one storage. Where they share memory in another way (a part, a
//! transpose, another element type), each has a storage of its own, and a write to either is refused by name. What a
//! node writes that is not lowered is *lost*: nobody reads there any more.
//!
//! Not caught: whether torch's `reshape` copied (it does when strides cannot express the result). Where a write goes
//! through one, the operand is taken to be shared, as it is for operands without gaps. Nor inputs that share memory,
//! or a constant that shares a parameter's, since the archive does not say so; nor what an operator writes that torch
//! does not have.

use super::call::{Call, Out, Outs};
use crate::dtype::DType;
use crate::expr::index::Index;
use crate::expr::{Binary, Compare, Constant, ExprBuilder, Node};
use crate::graph::op::{Access, Map, Op, OutOfBounds};
use crate::import::build::movement::Part;
use crate::import::build::{Failure, Operand, Site};
use crate::shape::Shape;

/// How the elements of a view come from those of what it views.
#[derive(Clone, Debug)]
pub enum Step {
    Reshape(Shape),
    Permute(Vec<usize>),
    Slice(Vec<Part>),
    Broadcast(Shape),
}

impl Step {
    /// The view's elements.
    pub fn take(&self, site: &mut Site, x: Operand) -> Result<Operand, Failure> {
        match self {
            Step::Reshape(shape) => site.reshape(x, shape),
            Step::Permute(order) => site.permute(x, order),
            Step::Slice(parts) => site.slice(x, parts),
            Step::Broadcast(shape) => site.grown(x, shape),
        }
    }

    /// `whole` with the view's elements replaced by `new`.
    pub fn put(&self, site: &mut Site, whole: Operand, new: Operand) -> Result<Operand, Failure> {
        match self {
            Step::Reshape(_) => {
                let shape = site.shape(&whole);
                site.reshape(new, &shape)
            }
            Step::Permute(order) => {
                let mut back = vec![0; order.len()];
                order.iter().enumerate().for_each(|(i, &axis)| back[axis] = i);
                site.permute(new, &back)
            }
            Step::Slice(parts) => spliced(site, whole, new, parts),
            Step::Broadcast(_) => Err(expanded()),
        }
    }

    /// Whether [`put`](Step::put) is offered.
    fn writable(&self) -> Result<(), Failure> {
        match self {
            Step::Reshape(_) | Step::Permute(_) => Ok(()),
            Step::Slice(parts) => contiguous(parts),
            Step::Broadcast(_) => Err(expanded()),
        }
    }
}

/// The elements of the view behind all steps.
fn take_all(site: &mut Site, steps: &[Step], x: Operand) -> Result<Operand, Failure> {
    steps.iter().try_fold(x, |x, step| step.take(site, x))
}

/// `whole` with the elements of the view behind all steps replaced by `new`.
fn put_all(site: &mut Site, steps: &[Step], whole: Operand, new: Operand) -> Result<Operand, Failure> {
    let mut wholes = vec![whole];
    for step in steps {
        let last = wholes[wholes.len() - 1].clone();
        wholes.push(step.take(site, last)?);
    }
    let mut backwards = steps.iter().rev().zip(wholes.into_iter().rev().skip(1));
    backwards.try_fold(new, |new, (step, whole)| step.put(site, whole, new))
}

fn expanded() -> Failure {
    Failure::unsupported("a write through an expanded tensor")
}

fn contiguous(parts: &[Part]) -> Result<(), Failure> {
    match parts.iter().all(|part| part.step == 1) {
        true => Ok(()),
        false => Err(Failure::unsupported("a write through a slice with a step")),
    }
}

/// A Map over the whole tensor that reads the new elements where the coordinate lies in the parts.
fn spliced(site: &mut Site, whole: Operand, new: Operand, parts: &[Part]) -> Result<Operand, Failure> {
    contiguous(parts)?;
    let (ty, shape) = (site.ty(&whole), site.shape(&whole));
    let read = |input, index, oob| Access { input, index, oob };
    let old = read(0, (0..shape.len()).map(Index::Dim).collect(), OutOfBounds::InBounds);
    let at = |(axis, part): (usize, &Part)| Index::Add(Box::new(Index::Dim(axis)), Box::new(Index::Constant(-part.start)));
    let fresh = read(1, parts.iter().enumerate().map(at).collect(), OutOfBounds::Fill(0.0));
    let mut b = ExprBuilder::new();
    let mut inside = None;
    for (axis, part) in parts.iter().enumerate().filter(|&(axis, part)| *part != Part::whole(shape[axis])) {
        let coordinate = b.node(Node::Coordinate(axis as u32), DType::I64);
        let bound = |b: &mut ExprBuilder, op, value: i64| {
            let value = b.node(Node::Constant(Constant::Int(value)), DType::I64);
            b.compare(op, coordinate, value)
        };
        let (low, high) = (bound(&mut b, Compare::Ge, part.start), bound(&mut b, Compare::Lt, part.start + part.count as i64));
        let both = b.binary(Binary::And, low, high);
        inside = Some(match inside {
            Some(so_far) => b.binary(Binary::And, so_far, both),
            None => both,
        });
    }
    let Some(inside) = inside else { return Ok(new) };
    let (kept, replaced) = (b.read(0, ty.dtype), b.read(1, ty.dtype));
    let body = b.select(inside, replaced, kept);
    let map = Map { label: "slice_scatter".to_owned(), dims: shape, reads: vec![old, fresh], body: b.finish(body) };
    site.emit(Op::Map(map), &[whole, new])
}

/// What a name stands for: a storage and the way from it.
#[derive(Clone, Debug)]
pub struct Slot {
    storage: usize,
    steps: Vec<Step>,
    operand: Operand,
    version: u32,
}

/// The memory behind names.
#[derive(Default)]
pub struct Storages(Vec<Storage>);

struct Storage {
    operand: Operand,
    version: u32,
    /// Other storages that are partly the same memory, and a name of each.
    overlaps: Vec<(usize, String)>,
    /// The node that wrote there what is not known.
    lost: Option<String>,
}

impl Storages {
    /// Memory of its own.
    pub fn fresh(&mut self, operand: Operand) -> Slot {
        self.0.push(Storage { operand: operand.clone(), version: 0, overlaps: Vec::new(), lost: None });
        Slot { storage: self.0.len() - 1, steps: Vec::new(), operand, version: 0 }
    }

    /// A view of a name's elements; the same elements where there are no steps.
    pub fn view(&self, of: &Slot, steps: Vec<Step>, operand: Operand) -> Slot {
        let steps = of.steps.iter().cloned().chain(steps).collect();
        Slot { storage: of.storage, steps, operand, version: self.0[of.storage].version }
    }

    /// The name's elements now.
    pub fn read(&self, site: &mut Site, slot: &mut Slot) -> Result<Operand, Failure> {
        let storage = &self.0[slot.storage];
        if slot.version != storage.version {
            slot.operand = take_all(site, &slot.steps, storage.operand.clone())?;
            slot.version = storage.version;
        }
        Ok(slot.operand.clone())
    }

    /// Says that two storages are partly the same memory.
    pub fn overlap(&mut self, (a, a_name): (&Slot, &str), (b, b_name): (&Slot, &str)) {
        self.0[a.storage].overlaps.push((b.storage, b_name.to_owned()));
        self.0[b.storage].overlaps.push((a.storage, a_name.to_owned()));
    }

    /// Says that a node wrote there what is not known.
    pub fn lose(&mut self, slot: &Slot, node: &str) {
        let overlaps = self.0[slot.storage].overlaps.iter().map(|(other, _)| *other);
        for storage in overlaps.chain([slot.storage]).collect::<Vec<_>>() {
            self.0[storage].lost = Some(node.to_owned());
        }
    }

    /// The node that wrote there what is not known.
    pub fn lost(&self, slot: &Slot) -> Option<&str> {
        self.0[slot.storage].lost.as_deref()
    }

    /// Whether a name's elements can be written.
    pub fn writable(&self, slot: &Slot) -> Result<(), Failure> {
        if let Some((_, other)) = self.0[slot.storage].overlaps.first() {
            return Err(Failure::unsupported(format!("a write to memory that `{other}` shares in another way")));
        }
        slot.steps.iter().try_for_each(Step::writable)
    }

    /// Writes all elements of a name.
    pub fn write(&mut self, site: &mut Site, slot: &mut Slot, new: Operand) -> Result<(), Failure> {
        let storage = &mut self.0[slot.storage];
        storage.operand = put_all(site, &slot.steps, storage.operand.clone(), new.clone())?;
        storage.version += 1;
        slot.operand = new;
        slot.version = storage.version;
        Ok(())
    }

    /// The elements of the whole storage behind a name, when something wrote there and they are known.
    pub fn written(&self, slot: &Slot) -> Option<Operand> {
        let storage = &self.0[slot.storage];
        (storage.version > 0 && storage.lost.is_none()).then(|| storage.operand.clone())
    }
}

impl Call<'_> {
    /// The one result of an operator that gives another view of `self`.
    pub fn viewed(&mut self, step: Step) -> Result<Outs, Failure> {
        let x = self.tensor_arg("self")?;
        let operand = step.take(self, x.operand)?;
        Ok(vec![Out::View { operand, of: x.name, steps: vec![step] }].into())
    }
}
