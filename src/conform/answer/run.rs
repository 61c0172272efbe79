//! One run of an answer: parameters are prepared as `__init__` says, the launches of `forward` emulated, and its results
//! read.

use std::borrow::Cow;
use std::sync::Arc;

use super::Answer;
use crate::conform::execute::{Cost, Executor};
use crate::conform::layout;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::emulate::{self, BufferId, Memory, View};
use crate::graph::{Producer, ValueId};
use crate::host::prepare_eval::{self, float16};
use crate::host::{Constructed, Event, HostTensor, KernelArg};
use crate::reference::{Env, seeded};
use crate::rng::{self, Seed};
use crate::tensor::{Storage, Tensor};

impl Answer<'_> {
    /// A value that enters: the task's own weight, or a generated input.
    pub(super) fn given(&self, value: ValueId, seed: u64) -> Result<Arc<Tensor>> {
        let data = self.graph.value(value);
        if let Producer::Weight(_) = data.producer {
            return seeded::own(self.graph, value);
        }
        let (dtype, shape) = (data.ty.dtype, data.ty.shape.clone());
        Ok(Arc::new(match seeded::law(data.role, dtype) {
            Some(law) => rng::fill(law, Seed::derive(seed, &data.name), dtype, shape),
            None => Tensor::zeros(dtype, shape),
        }))
    }

    /// What forward returns for these elements.
    pub(super) fn run(&self, executor: &Executor, env: &Env, seed: u64) -> Result<(Vec<Tensor>, Cost)> {
        let mut memory = Memory::default();
        let Constructed { prepare, names, .. } = &self.constructed;
        let made = prepare_eval::evaluate(prepare, |name| match self.graph.find(name) {
            Some(value) => Ok(Cow::Owned(match env.get(value) {
                Some(tensor) => tensor.as_ref().clone(),
                None => self.given(value, seed)?.as_ref().clone(),
            })),
            None => self.unread(name),
        })?;
        for (at, (name, tensor)) in names.iter().zip(made).enumerate() {
            let lanes = match self.half(at, &tensor) {
                Some(dtype) => {
                    Storage::F32((0..tensor.len()).map(|i| float16(dtype, tensor.storage().get_f64(i) as i64)).collect())
                }
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
                Event::Launch(launch) => cost.add(executor.launch(&mut memory, launch)?),
            }
        }
        let results = self.trace.returned.iter().map(|tensor| self.result(executor, &memory, tensor)).collect::<Result<_>>()?;
        Ok((results, cost))
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
        let at = self.constructed.names.iter().position(|own| own == name);
        let read = self.trace.launches().flat_map(|launch| &launch.args).any(|(_, argument)| match argument {
            KernelArg::Tensor(tensor) => Some(tensor.storage.0) == at,
            _ => false,
        });
        if read {
            let what = format!("reading the parameter `{name}`, which the task's forward does not read,");
            return Err(Box::new(self.at_forward(Diagnostic::new(&codes::HOST_SYNTAX, what + " is not offered yet"))));
        }
        Ok(Cow::Owned(Tensor::zeros(parameter.ty.dtype, parameter.ty.shape.clone())))
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
