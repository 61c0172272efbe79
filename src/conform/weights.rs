//! Weights and prepared values in the chain's memory: made before the launch that first reads them,
//! dropped after the one that last does, so that a network takes the memory of its largest layers
//! and not of all of them.
//!
//! A prepared value is what `run.py`'s `prepare` computes, and is compared with the reference's when it
//! is made; [`Weights::rest_as_planned`] compares those that no launch reads.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::conform::forward::at_return;
use crate::conform::prepare;
use crate::conform::subject::Subject;
use crate::diag::{Diagnostic, Result, codes};
use crate::emulate::Memory;
use crate::graph::TensorType;
use crate::host::{self, Event, KernelArg, KernelLaunch, Prepare, Trace, prepare_eval};
use crate::tensor::{Storage, Tensor};

/// Storages from `first` on: the weights, then the prepared values.
pub struct Weights<'s> {
    subject: &'s Subject,
    prepare: Prepare,
    /// Whether prepared values are compared.
    checked: bool,
    first: usize,
    /// Names of the weights.
    own: Vec<String>,
    /// Which storages hold their elements.
    loaded: Vec<bool>,
    /// Which prepared values were compared.
    compared: Vec<bool>,
    /// The last event that reads a storage; those that are returned have none.
    last: HashMap<usize, usize>,
}

/// `run.py`'s `prepare`, which must return as many values as the manifest has.
pub fn prepare(subject: &Subject, types: &[(String, TensorType)]) -> Result<Prepare> {
    let prepare = host::prepare(&subject.modules, "run", types)?;
    let planned = subject.manifest.prepared.len();
    if prepare.returned.len() != planned {
        let what = format!("prepare returns {} tensors, the manifest has {planned}", prepare.returned.len());
        return Err(Box::new(at_return(subject, "prepare", Diagnostic::new(&codes::HOST_EDITED, what))));
    }
    Ok(prepare)
}

fn run(subject: &Subject) -> String {
    format!("{}/run.py", subject.name)
}

impl<'s> Weights<'s> {
    /// Takes their places in the memory, and none of it.
    pub fn new(
        subject: &'s Subject,
        types: Vec<(String, TensorType)>,
        prepare: Prepare,
        trace: &Trace,
        memory: &mut Memory,
        checked: bool,
    ) -> Weights<'s> {
        let first = memory.buffers.len();
        let empty = |ty: &TensorType| Storage::zeros(ty.dtype.carrier(), 0);
        for (name, ty) in &types {
            memory.insert(name, empty(ty));
        }
        for (name, &at) in subject.manifest.prepared.iter().zip(&prepare.returned) {
            memory.insert(name, empty(&prepare.steps[at].ty));
        }
        let mut last = HashMap::new();
        for (at, event) in trace.events.iter().enumerate() {
            if let Event::Launch(launch) = event {
                last.extend(read(launch).map(|storage| (storage, at)));
            }
        }
        for tensor in &trace.returned {
            last.remove(&tensor.storage.0);
        }
        let own: Vec<String> = types.into_iter().map(|(name, _)| name).collect();
        let (loaded, compared) = (vec![false; memory.buffers.len() - first], vec![false; prepare.returned.len()]);
        Weights { subject, prepare, checked, first, own, loaded, compared, last }
    }

    /// The storage of a weight or prepared value.
    pub fn storage(&self, name: &str) -> Option<usize> {
        let own = self.own.iter().position(|known| known == name);
        let prepared = || self.subject.manifest.prepared.iter().position(|known| known == name).map(|i| self.own.len() + i);
        Some(self.first + own.or_else(prepared)?)
    }

    /// Makes what a launch reads.
    pub fn load(&mut self, launch: &KernelLaunch, memory: &mut Memory) -> Result<()> {
        read(launch).try_for_each(|storage| self.make(storage, memory))
    }

    /// Makes the elements of one storage, when it is one of these and they are not there.
    pub fn make(&mut self, storage: usize, memory: &mut Memory) -> Result<()> {
        let Some(at) = storage.checked_sub(self.first).filter(|&at| at < self.loaded.len() && !self.loaded[at]) else {
            return Ok(());
        };
        let tensor = match at.checked_sub(self.own.len()) {
            None => self.weight(&self.own[at])?,
            Some(i) => {
                self.compared[i] = true;
                self.prepared(i)?
            }
        };
        memory.buffers[storage].lanes = tensor.into_storage();
        self.loaded[at] = true;
        Ok(())
    }

    /// Drops what no later event reads.
    pub fn drop_after(&mut self, event: usize, memory: &mut Memory) {
        for at in 0..self.loaded.len() {
            if self.loaded[at] && self.last.get(&(self.first + at)) == Some(&event) {
                let lanes = &mut memory.buffers[self.first + at].lanes;
                *lanes = Storage::zeros(lanes.carrier(), 0);
                self.loaded[at] = false;
            }
        }
    }

    /// Compares the prepared values that nothing has read.
    pub fn rest_as_planned(&self) -> Result<()> {
        let mut rest = (0..self.compared.len()).filter(|&i| !self.compared[i]);
        rest.try_for_each(|i| self.prepared(i).map(drop))
    }

    fn weight(&self, name: &str) -> Result<Tensor> {
        let missing = || {
            let what = format!("prepare reads `{name}`, which the model lacks");
            Box::new(Diagnostic::new(&codes::SUITE_INVALID, what).in_file(&self.subject.name))
        };
        let value = self.subject.imported.find(name).ok_or_else(missing)?;
        self.subject.weight(value).map(Arc::unwrap_or_clone)
    }

    /// What `run.py` computes for the i-th prepared value, which must be what the reference computes.
    fn prepared(&self, i: usize) -> Result<Tensor> {
        let (own, expected) = self.both(i)?;
        match own {
            Some(tensor) if !self.checked || tensor.is_same(&expected) => Ok(tensor),
            Some(_) | None => {
                let name = &self.subject.manifest.prepared[i];
                let what = format!("prepare computes other elements for {name} than the manifest's graph");
                let diagnostic = Diagnostic::new(&codes::HOST_EDITED, what).help("undo the edit, or decompose again");
                Err(Box::new(match (self.subject.modules.ast("run"), self.cause(i)) {
                    (Some(module), Some(step)) => diagnostic.at(&module.file, self.prepare.steps[step].span),
                    (_, None) | (None, _) => diagnostic.in_file(run(self.subject)),
                }))
            }
        }
    }

    /// The last step behind the i-th prepared value, which is wrong, and behind every wrong one that shares
    /// steps with it, but behind no right one.
    fn cause(&self, i: usize) -> Option<usize> {
        let mut common = self.behind(i);
        for other in (0..self.prepare.returned.len()).filter(|&other| other != i) {
            let steps = self.behind(other);
            if steps.is_disjoint(&common) {
                continue;
            }
            common = match self.is_right(other) {
                true => common.difference(&steps).copied().collect(),
                false => common.intersection(&steps).copied().collect(),
            };
        }
        common.last().copied()
    }

    /// The steps that a prepared value is made of.
    fn behind(&self, i: usize) -> BTreeSet<usize> {
        let (mut found, mut open) = (BTreeSet::new(), vec![self.prepare.returned[i]]);
        while let Some(step) = open.pop() {
            if found.insert(step) {
                open.extend(prepare_eval::operands(&self.prepare.steps[step].op));
            }
        }
        found
    }

    fn is_right(&self, i: usize) -> bool {
        self.both(i).is_ok_and(|(own, expected)| own.is_some_and(|own| own.is_same(&expected)))
    }

    /// The i-th prepared value as `run.py` computes it, and as the reference does.
    fn both(&self, i: usize) -> Result<(Option<Tensor>, Arc<Tensor>)> {
        let name = self.subject.manifest.prepared[i].as_str();
        let one = Prepare { returned: vec![self.prepare.returned[i]], ..self.prepare.clone() };
        let own = prepare_eval::evaluate(&one, |weight| self.weight(weight).map(Cow::Owned))?;
        let mut expected = prepare::values(&self.subject.rewritten, &[name], |weight| self.weight(weight).map(Arc::new))?;
        let expected = expected.remove(name).expect("invariant: what is asked for is prepared");
        Ok((own.into_iter().next(), expected))
    }
}

/// The storages that a launch is given.
fn read(launch: &KernelLaunch) -> impl Iterator<Item = usize> {
    launch.args.iter().filter_map(|(_, value)| match value {
        KernelArg::Tensor(tensor) => Some(tensor.storage.0),
        KernelArg::Int(_) | KernelArg::Float(_) | KernelArg::Bool(_) | KernelArg::Str(_) | KernelArg::None => None,
    })
}
