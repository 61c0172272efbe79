//! One run of an answer: parameters are prepared as `__init__` says, the launches of `forward` emulated, and its results
//! read.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Answer, MODULE};
use crate::conform::execute::{Cost, Executor};
use crate::conform::layout;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::emulate::{self, BufferId, Memory, View};
use crate::graph::{Producer, ValueId};
use crate::host::{Constructed, Event, HostTensor, KernelArg, KernelLaunch, PrepareOp, prepare_eval};
use crate::reference::{Env, seeded};
use crate::tensor::Tensor;

impl Answer<'_> {
    /// A value that enters: the task's own weight, or a generated input.
    pub(super) fn given(&self, value: ValueId, seed: u64) -> Result<Arc<Tensor>> {
        match self.graph.value(value).producer {
            Producer::Weight(_) => seeded::own(self.graph, value),
            Producer::Input(_) | Producer::Node { .. } => Ok(Arc::new(seeded::input(self.graph, value, seed))),
        }
    }

    /// What forward returns for these elements.
    pub(super) fn run(&self, executor: &Executor, env: &Env, seed: u64) -> Result<(Vec<Tensor>, Cost)> {
        let mut memory = Memory::default();
        let Constructed { prepare, names, .. } = &self.constructed;
        let made = prepare_eval::evaluate(prepare, |name| match self.graph.find(name) {
            Some(value) => match env.get(value) {
                Some(tensor) => Ok(Cow::Borrowed(tensor.as_ref())),
                None => self.given(value, seed).map(|tensor| Cow::Owned(Arc::unwrap_or_clone(tensor))),
            },
            None => self.unread(name),
        })?;
        for (at, (name, tensor)) in names.iter().zip(made).enumerate() {
            let lanes = match self.half(at, &tensor) {
                Some(dtype) => prepare_eval::halves(dtype, tensor.storage()),
                None => tensor.into_storage(),
            };
            let buffer = memory.insert(format!("self.{name}"), lanes);
            memory.protect(buffer, true);
        }
        for &input in self.graph.inputs() {
            let tensor = env.get(input).ok_or_else(|| self.lost(input))?;
            let buffer = memory.insert(self.graph.value(input).name.clone(), tensor.storage().clone());
            memory.protect(buffer, true);
        }
        let mut cost = Cost::default();
        for event in &self.trace.events {
            match event {
                Event::Alloc { .. } => executor.allocate(&mut memory, &self.trace, event),
                Event::Launch(launch) => {
                    cost.add(executor.launch(&mut memory, launch).map_err(|fault| self.placed(fault, launch))?)
                }
            }
        }
        let results = self.trace.returned.iter().map(|tensor| self.result(executor, &memory, tensor)).collect::<Result<_>>()?;
        Ok((results, cost))
    }

    /// A message about a launch as a whole, at its line.
    fn placed(&self, fault: Box<Diagnostic>, launch: &KernelLaunch) -> Box<Diagnostic> {
        match self.modules.ast(MODULE) {
            Some(module) if fault.place.is_none() => Box::new(fault.at(&module.file, launch.called)),
            Some(_) | None => fault,
        }
    }

    /// What launches read a tensor of `self` as, where that holds halves as integers.
    fn half(&self, at: usize, tensor: &Tensor) -> Option<DType> {
        let read = self.trace.launches().flat_map(|launch| &launch.args).find_map(|(_, argument)| match argument {
            KernelArg::Tensor(read) if read.storage.0 == at => Some(read.dtype),
            _ => None,
        });
        read.filter(|dtype| tensor.dtype() == DType::I16 && matches!(dtype, DType::F16 | DType::BF16))
    }

    /// A parameter that the task's forward does not read: of our own choosing where no launch reads it, either.
    fn unread(&self, name: &str) -> Result<Cow<'static, Tensor>> {
        let Some(parameter) = self.task.parameter(name) else {
            return Err(Box::new(Diagnostic::new(&codes::INTERNAL, format!("the task has no parameter {name}"))));
        };
        let held = self.constructed.prepare.returned.iter().map(|&step| self.is_made_of(step, name)).collect::<Vec<bool>>();
        let read = self.trace.launches().flat_map(|launch| &launch.args).any(|(_, argument)| match argument {
            KernelArg::Tensor(tensor) => held.get(tensor.storage.0) == Some(&true),
            _ => false,
        });
        if read {
            let what = format!("reading the parameter `{name}`, which the task's forward does not read,");
            return Err(Box::new(self.at_forward(Diagnostic::new(&codes::HOST_SYNTAX, what + " is not offered yet"))));
        }
        Ok(Cow::Owned(Tensor::zeros(parameter.ty.dtype, parameter.ty.shape.clone())))
    }

    /// Whether a step of `__init__` computes with a parameter.
    fn is_made_of(&self, step: usize, name: &str) -> bool {
        match &self.constructed.prepare.steps[step].op {
            PrepareOp::Weight(own) => own == name,
            op => prepare_eval::operands(op).into_iter().any(|operand| self.is_made_of(operand, name)),
        }
    }

    fn result(&self, executor: &Executor, memory: &Memory, tensor: &HostTensor) -> Result<Tensor> {
        let buffer = BufferId(tensor.storage.0);
        let origin = tensor.offset as usize;
        let view = View { buffer, pointer: origin, shape: tensor.shape.clone(), strides: tensor.strides.clone(), origin };
        if let Some(fault) = emulate::coverage(memory, &view, executor.checks().emulator) {
            return Err(Box::new(if fault.place.is_some() { fault } else { self.at_forward(fault) }));
        }
        Ok(layout::read(memory.lanes(buffer), tensor.dtype, &tensor.shape, &tensor.strides, tensor.offset))
    }
}
