//! Views and writes made functional.
//!
//! In a torch program several names may share memory, and a write through one is seen by all. Here every name
//! remembers its *storage* and the steps that lead from it to the name's elements. A write puts the new elements
//! into the storage's current value, step by step backwards, and counts the storage's version; a name whose version
//! is old takes the steps again when it is next read.
//!
//! Not caught: whether torch's `reshape` copied (it does when strides cannot express the result). Where a write goes
//! through one, the operand is taken to be shared, as it is for operands without gaps.

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
    /// The same elements.
    Same,
    /// One after the other.
    Chain(Vec<Step>),
}

impl Step {
    /// The view's elements.
    pub fn take(&self, site: &mut Site, x: Operand) -> Result<Operand, Failure> {
        match self {
            Step::Reshape(shape) => site.reshape(x, shape),
            Step::Permute(order) => site.permute(x, order),
            Step::Slice(parts) => site.slice(x, parts),
            Step::Broadcast(shape) => site.grown(x, shape),
            Step::Same => Ok(x),
            Step::Chain(steps) => steps.iter().try_fold(x, |x, step| step.take(site, x)),
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
            Step::Broadcast(_) => Err(Failure::unsupported("a write through an expanded tensor")),
            Step::Same => Ok(new),
            Step::Chain(steps) => put_all(site, steps, whole, new),
        }
    }
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

/// A Map over the whole tensor that reads the new elements where the coordinate lies in the parts.
fn spliced(site: &mut Site, whole: Operand, new: Operand, parts: &[Part]) -> Result<Operand, Failure> {
    if parts.iter().any(|part| part.step != 1) {
        return Err(Failure::unsupported("a write through a slice with a step"));
    }
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
}

impl Storages {
    /// Memory of its own.
    pub fn fresh(&mut self, operand: Operand) -> Slot {
        self.0.push(Storage { operand: operand.clone(), version: 0 });
        Slot { storage: self.0.len() - 1, steps: Vec::new(), operand, version: 0 }
    }

    /// A view of a name's elements.
    pub fn view(&self, of: &Slot, step: Step, operand: Operand) -> Slot {
        let mut steps = of.steps.clone();
        if !matches!(step, Step::Same) {
            steps.push(step);
        }
        Slot { storage: of.storage, steps, operand, version: self.0[of.storage].version }
    }

    /// The name's elements now.
    pub fn read(&self, site: &mut Site, slot: &mut Slot) -> Result<Operand, Failure> {
        let storage = &self.0[slot.storage];
        if slot.version != storage.version {
            slot.operand = slot.steps.iter().try_fold(storage.operand.clone(), |x, step| step.take(site, x))?;
            slot.version = storage.version;
        }
        Ok(slot.operand.clone())
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

    /// The elements of the whole storage behind a name, when something wrote there.
    pub fn written(&self, slot: &Slot) -> Option<Operand> {
        let storage = &self.0[slot.storage];
        (storage.version > 0).then(|| storage.operand.clone())
    }
}

impl Call<'_> {
    /// The one result of an operator that gives another view of `self`.
    pub fn viewed(&mut self, step: Step) -> Result<Outs, Failure> {
        let x = self.tensor_arg("self")?;
        let operand = step.take(self, x.operand)?;
        Ok(vec![Out::View { operand, of: x.name, step }].into())
    }
}
