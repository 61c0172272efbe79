//! Each distinct layer of a model as a task in KernelBench's format: `Model` with the layer's own operators in torch,
//! `get_inputs`, `get_init_inputs`. A layer is what one kernel of the plan computes, so that fusion decides how large it is.
//!
//! Parameters are drawn, not the model's: a task is judged on any. Not made: files that say what the answer is.

use std::collections::BTreeMap;

use super::kernel_test::drawn;
use super::python::{Names, call, described, list, prose, statement};
use super::subject::Subject;
use super::{Files, kernel_file, torch_ops, wrapper};
use crate::diag;
use crate::graph::{Producer, Role, ValueId};
use crate::select::plan::Plan;

/// Names that no tensor of a task may have.
const RESERVED: [&str; 3] = ["self", "nn", "Model"];

/// A task for each kernel of a plan, `<nnn>_<layer>.py`, in the order of their first launches.
///
/// # Errors
/// U006 for what cannot be written as torch yet, named with its node.
pub fn tasks(plan: &Plan) -> diag::Result<Files> {
    let mut names = Names::new(&[]);
    let files = (0..plan.kernels.len()).map(|index| {
        let subject = Subject::of(plan, index)?;
        let name = names.fresh(&subject.launch.layer);
        Ok((format!("{:03}_{name}.py", index + 1), text(plan, index, &subject)?.into_bytes()))
    });
    files.collect()
}

fn text(plan: &Plan, index: usize, subject: &Subject) -> diag::Result<String> {
    let graph = &plan.imported;
    let parameters = kernel_file::parameters(plan, &plan.kernels[index], subject);
    let is_own = |value: ValueId| matches!(graph.value(value).producer, Producer::Weight(_));
    let reserved: Vec<&str> = wrapper::RESERVED.into_iter().chain(RESERVED).collect();
    let mut names = Names::new(&reserved);
    let mut values: BTreeMap<ValueId, String> = BTreeMap::new();
    let (mut init, mut inputs) = (String::new(), Vec::new());
    for (value, wanted) in &parameters {
        let name = names.fresh(wanted);
        let elements = drawn(graph, *value, "");
        if !is_own(*value) {
            inputs.push((*value, name.clone()));
            values.insert(*value, name);
            continue;
        }
        let role = graph.value(*value).role;
        let learned = graph.dtype(*value).is_float() && !matches!(role, Role::Mean | Role::Variance | Role::Exact);
        init += &match learned {
            true => statement(8, &format!("self.{name} = nn.Parameter({elements})")),
            false => call(8, "self.register_buffer", &[vec![format!("\"{name}\""), elements]]),
        };
        values.insert(*value, format!("self.{name}"));
    }
    let lines = torch_ops::statements(graph, &subject.nodes, &mut names, &mut values)?;
    let body: String = lines.iter().map(|line| statement(8, line)).collect();
    let functional = if body.contains("F.") { "import torch.nn.functional as F\n" } else { "" };
    let taken: Vec<&str> = inputs.iter().map(|(_, name)| name.as_str()).collect();
    let given: Vec<String> = inputs.iter().map(|(value, _)| drawn(graph, *value, "")).collect();
    let described_inputs: String = inputs
        .iter()
        .map(|(value, name)| format!("        {name}: {}\n", described(graph.dtype(*value), graph.shape(*value))))
        .collect();
    let output = described(graph.dtype(subject.output), graph.shape(subject.output));
    Ok(format!(
        "\"\"\"{} of {}: {}.\"\"\"\n\nimport torch\nimport torch.nn as nn\n{functional}\n\n\
         class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n{init}\n    \
         def forward(self, {}):\n        \"\"\"Returns {output}.\n\n{described_inputs}        \"\"\"\n{body}        return {}\n\n\n\
         def get_inputs():\n    return [{}]\n\n\ndef get_init_inputs():\n    return []\n",
        prose(&subject.launch.layer),
        prose(&plan.name),
        subject.operators(graph),
        taken.join(", "),
        values[&subject.output],
        list(&given),
    ))
}
