//! What `forward` does with a plan: buffers, launches in order, results. Host code; torch only allocates and views.

use super::python::{Names, call, described, dtype, prose, statement_of_tuple, tuple};
use super::wrapper::taken_shape;
use crate::diag::{self, Diagnostic, codes};
use crate::graph::{Graph, ValueId};
use crate::select::plan::{Plan, Slot};
use crate::shape;
use crate::template::OperandAccess;

/// How a weight is written, as the model has it or prepared.
pub type Named<'a> = &'a dyn Fn(ValueId) -> String;

/// A plan under the names that its inputs and buffers have in one function.
pub struct Body<'p> {
    plan: &'p Plan,
    indent: usize,
    pub inputs: Vec<String>,
    buffers: Vec<String>,
}

/// `add float32 [1, 64]` for each output.
pub fn results(graph: &Graph) -> String {
    let described =
        |&value: &ValueId| format!("{} {}", prose(&graph.value(value).name), described(graph.dtype(value), graph.shape(value)));
    graph.outputs().iter().map(described).collect::<Vec<_>>().join(", ")
}

impl<'p> Body<'p> {
    pub fn new(plan: &'p Plan, indent: usize, inputs: Vec<String>, names: &mut Names) -> Body<'p> {
        let buffers = (0..plan.buffers.len()).map(|i| names.fresh(&format!("b{i}"))).collect();
        Body { plan, indent, inputs, buffers }
    }

    /// Every buffer, allocated where the first input lies.
    pub fn allocations(&self) -> String {
        let pad = " ".repeat(self.indent);
        let device = self.inputs.first().map_or("\"cpu\"".to_owned(), |name| format!("{name}.device"));
        let buffers = self.plan.buffers.iter().zip(&self.buffers);
        buffers
            .map(|(buffer, name)| {
                format!("{pad}{name} = torch.empty({}, dtype={}, device={device})\n", buffer.len, dtype(buffer.dtype))
            })
            .collect()
    }

    /// Every launch under its layer's name; `callee` is what is called for a kernel of the plan.
    ///
    /// # Errors
    /// X001 when the plan contradicts itself.
    pub fn launches(&self, weight: Named, callee: &dyn Fn(usize) -> String) -> diag::Result<String> {
        let mut text = String::new();
        for launch in &self.plan.launches {
            let kernel = &self.plan.kernels[launch.kernel];
            let taken = kernel.operands.iter().filter(|o| o.access != OperandAccess::Scratch);
            let arguments = launch
                .operands
                .iter()
                .zip(taken)
                .map(|(&(slot, _), operand)| self.place(slot, &taken_shape(operand), weight))
                .collect::<diag::Result<Vec<String>>>()?;
            text += &format!("\n{}# {}\n", " ".repeat(self.indent), prose(&launch.layer));
            text += &call(self.indent, &callee(launch.kernel), &[arguments]);
        }
        Ok(text)
    }

    /// The `return`.
    ///
    /// # Errors
    /// U006 for an output that does not fill its storage in row-major order.
    pub fn end(&self, weight: Named) -> diag::Result<String> {
        let (plan, graph) = (self.plan, &self.plan.graph);
        let mut returned = Vec::new();
        for &output in graph.outputs() {
            let found = plan.layouts.iter().find(|(value, _, _)| *value == output);
            match found {
                Some((_, slot, layout)) if layout.is_contiguous() => returned.push(self.place(*slot, &layout.shape, weight)?),
                Some(_) | None => {
                    let message =
                        format!("output {} that does not fill its storage in row-major order", graph.value(output).name);
                    return Err(Box::new(Diagnostic::new(&codes::NOT_OFFERED, message).in_file(graph.file.clone())));
                }
            }
        }
        let pad = " ".repeat(self.indent);
        Ok(match returned.as_slice() {
            [one] => format!("\n{pad}return {one}\n"),
            several => format!("\n{}", statement_of_tuple(&format!("{pad}return "), several, "")),
        })
    }

    /// A slot, viewed in a shape.
    fn place(&self, slot: Slot, shape: &[usize], weight: Named) -> diag::Result<String> {
        let graph = &self.plan.graph;
        let (name, from) = match slot {
            Slot::Input(i) => (self.inputs[i].clone(), graph.shape(graph.inputs()[i]).to_vec()),
            Slot::Weight(value) => (weight(value), graph.shape(value).to_vec()),
            Slot::Buffer(i) => (self.buffers[i].clone(), vec![self.plan.buffers[i].len]),
        };
        if from == shape {
            return Ok(name);
        }
        if shape::numel(&from) != shape::numel(shape) {
            let message = format!("{name} of {} is taken as {}", shape::display(&from), shape::display(shape));
            return Err(Box::new(Diagnostic::new(&codes::INTERNAL, message)));
        }
        // `view()` is no call for torch.
        let sizes = if shape.is_empty() { "(())".to_owned() } else { tuple(shape) };
        Ok(format!("{name}.view{sizes}"))
    }
}
