//! What a program is given: tensors of the archive, and what the user gives.

use std::collections::HashMap;
use std::sync::Arc;

use super::Lowering;
use crate::diag::{Class, codes};
use crate::graph::{Role, TensorType, Weight};
use crate::import::build::{Known, Operand};
use crate::import::torch_export::payload::{Payload, Place};
use crate::import::torch_export::program::{Argument, Program, Spec, Symbolic};
use crate::shape::Shape;
use crate::tensor::Tensor;

/// A tensor of the archive that is read.
struct Stored<'p> {
    place: Place,
    name: &'p str,
    operand: Operand,
}

/// Whether the elements of a tensor of the archive may be computed with.
enum Held {
    Known {
        exact: bool,
    },
    /// They may be others when the kernels run.
    Open,
}

impl<'p> Lowering<'p> {
    /// Parameters, buffers and constants from the archive, and what the user gives.
    pub(super) fn inputs(&mut self, program: &'p Program, payload: &Payload) {
        let graph = &program.graph_module.graph;
        let specs = &program.graph_module.signature.input_specs;
        if specs.len() != graph.inputs.len() {
            let message = format!("the signature has {} inputs, the graph {}", specs.len(), graph.inputs.len());
            return self.error(&codes::MODEL_INVALID, message);
        }
        let mut stored = HashMap::new();
        for (spec, argument) in specs.iter().zip(&graph.inputs) {
            let Argument::Tensor(name) = argument else {
                if let Err(what) = self.number(spec, argument) {
                    self.unsupported.message(&codes::NOT_OFFERED, what);
                }
                continue;
            };
            match spec.kind.as_str() {
                "user_input" => match self.types.of(name) {
                    Ok(ty) => {
                        let input = self.builder.add_input(name, ty);
                        self.scope.define(name, input);
                        self.writable.push((name.clone(), name.clone()));
                    }
                    Err(message) => {
                        self.unsupported.message(&codes::DTYPE_UNSUPPORTED, format!("input {message}"));
                        self.scope.refuse(name, &format!("input `{name}`"));
                    }
                },
                "parameter" | "buffer" | "tensor_constant" => {
                    let own = spec.text(&format!("{}_name", spec.kind)).unwrap_or(name).to_owned();
                    match payload.tensor(&own) {
                        Ok((tensor, place)) => {
                            let fixed = !tensor.dtype().is_float() || spec.kind == "tensor_constant";
                            let held = match self.open_parameters {
                                true if !fixed => Held::Open,
                                _ => Held::Known { exact: fixed || tensor.len() <= 1 },
                            };
                            self.stored(name, &own, (tensor, held), place, &mut stored);
                            if spec.kind == "buffer" {
                                self.writable.push((name.clone(), own));
                            }
                        }
                        Err(error) if error.code.class == Class::Unsupported => {
                            self.unsupported.message(error.code, error.message);
                            self.scope.refuse(name, &format!("tensor `{own}`"));
                        }
                        Err(error) => {
                            self.errors.push(*error);
                            self.scope.wrong(name);
                        }
                    }
                }
                other => {
                    self.unsupported.message(&codes::NOT_OFFERED, format!("input `{name}` is a {other}"));
                    self.scope.refuse(name, &format!("input `{name}`"));
                }
            }
        }
    }

    /// A tensor of the archive. It is the memory of another where it lies in the same place.
    fn stored(
        &mut self,
        name: &'p str,
        own: &str,
        (tensor, held): (Tensor, Held),
        place: Place,
        stored: &mut HashMap<String, Vec<Stored<'p>>>,
    ) {
        let others = stored.entry(place.path.clone()).or_default();
        if let Some(first) = others.iter().find(|other| other.place == place) {
            return self.scope.view(name, first.name, Vec::new(), first.operand.clone());
        }
        let (fresh, tensor) = (self.builder.fresh(own), Arc::new(tensor));
        let operand = match held {
            Held::Known { exact } => Operand::Known(Arc::new(Known { name: fresh, tensor, exact })),
            Held::Open => {
                let ty = TensorType { dtype: tensor.dtype(), shape: Shape::from_slice(tensor.shape()) };
                Operand::Graph(self.builder.add_weight(&fresh, ty, Role::Activation, Weight::Data(tensor)))
            }
        };
        self.scope.define(name, operand.clone());
        for other in others.iter().filter(|other| other.place.meets(&place)) {
            self.scope.overlap(name, other.name);
        }
        others.push(Stored { place, name, operand });
    }

    /// An input that is no tensor: a number that the example had.
    fn number(&mut self, spec: &Spec, argument: &Argument) -> Result<(), String> {
        match argument {
            Argument::Int(Symbolic::Is(_)) | Argument::Float(Symbolic::Is(_)) | Argument::Bool(Symbolic::Is(_)) => Ok(()),
            Argument::None | Argument::String(_) => Ok(()),
            Argument::Int(Symbolic::Name(name))
            | Argument::Float(Symbolic::Name(name))
            | Argument::Bool(Symbolic::Name(name)) => {
                self.scope.refuse(name, &format!("input `{name}`"));
                Err(format!("input `{name}` is a number that varies"))
            }
            _ => Err(format!("an input is a {}", spec.kind)),
        }
    }
}
