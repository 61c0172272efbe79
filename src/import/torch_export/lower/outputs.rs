//! What a program returns and what it writes.

use super::Lowering;
use crate::diag::{Diagnostic, codes};
use crate::graph::{Source, ValueId};
use crate::import::Imported;
use crate::import::build::{Operand, Site};
use crate::import::torch_export::program::{Argument, Program};
use crate::shape::display;

impl<'p> Lowering<'p> {
    /// The program's outputs in its order, each under its own name, then what it writes.
    pub(super) fn outputs(mut self, program: &'p Program) -> Result<Imported, Vec<Diagnostic>> {
        let graph = &program.graph_module.graph;
        let specs = &program.graph_module.signature.output_specs;
        let (mut outputs, mut changed): (Vec<ValueId>, Vec<(String, Operand)>) = (Vec::new(), Vec::new());
        for (position, argument) in graph.outputs.iter().enumerate() {
            let kind = specs.get(position).map_or("user_output", |spec| spec.kind.as_str());
            let Argument::Tensor(name) = argument else {
                if !matches!(argument, Argument::None) {
                    let message = format!("output {position} is no tensor");
                    self.unsupported.message(&codes::NOT_OFFERED, message);
                }
                continue;
            };
            let source = Source { operator: "output".to_owned(), node: name.clone(), module: None };
            let mut site = Site::new(&mut self.builder, source, name);
            let Ok(operand) = self.scope.read(name, &mut site) else { continue };
            match kind {
                "user_output" => {
                    let ty = self.builder.ty(&operand);
                    if ty.shape.contains(&0) {
                        let message = format!("output `{name}` is {}: a dimension has size 0", display(&ty.shape));
                        self.error(&codes::MODEL_EMPTY_DIMENSION, message);
                        continue;
                    }
                    outputs.push(self.builder.output(name, &operand, &outputs, "output"));
                }
                "buffer_mutation" | "user_input_mutation" => {
                    let field = if kind == "buffer_mutation" { "buffer_name" } else { "user_input_name" };
                    let target = specs.get(position).and_then(|spec| spec.text(field)).unwrap_or(name).to_owned();
                    changed.push((target, operand));
                }
                "token" => {}
                other => self.unsupported.message(&codes::NOT_OFFERED, format!("output `{name}` is a {other}")),
            }
        }
        for (name, target) in std::mem::take(&mut self.writable) {
            if let Some(operand) = self.scope.written(&name) {
                changed.push((target, operand));
            }
        }
        let mut mutates = Vec::new();
        for (target, operand) in changed {
            // A counter of batches that is known is nobody's kernel.
            if operand.known().is_none() {
                let name = format!("{target}.updated");
                let value = self.builder.output(&name, &operand, &outputs, "output");
                mutates.push((value, target));
                outputs.push(value);
            }
        }
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let unsupported = self.unsupported.diagnostics(self.file).collect();
        Ok(Imported { mutates, ..self.builder.finish(outputs, unsupported) })
    }
}
