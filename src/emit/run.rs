//! `run.py`: the whole model. `prepare` and `forward` are host code; torch only allocates and views.

use std::collections::BTreeMap;

use super::python::{Names, call, described, dtype, filled, float, prose, statement, string, tuple};
use super::wrapper::taken_shape;
use super::{EmitOptions, kernel_module, prepare, torch_ops};
use crate::diag::{self, Diagnostic, codes};
use crate::dtype::DType;
use crate::graph::{Producer, ValueId};
use crate::select::plan::{Plan, Slot};
use crate::shape;
use crate::template::OperandAccess;

/// Names of `run.py` that values cannot have.
const RESERVED: [&str; 24] = [
    "F",
    "argparse",
    "bench",
    "captured",
    "collections",
    "device_work",
    "forward",
    "inputs",
    "json",
    "largest_error",
    "load",
    "main",
    "milliseconds",
    "pathlib",
    "planned",
    "prepare",
    "prepared",
    "profile",
    "profiled",
    "reference",
    "sys",
    "tempfile",
    "torch",
    "weights",
];

/// How far the model's outputs may be off, against their largest element: by the narrowest float of any
/// kernel, and by whether fp32 operands are truncated (ResNet-50's are off by 2 % in tf32, whose errors
/// have one sign, by 1 % in bf16, by 0.1 % in fp16).
fn check(plan: &Plan) -> f64 {
    let operands = || plan.kernels.iter().flat_map(|kernel| &kernel.operands).map(|operand| operand.dtype);
    let rounded = plan.kernels.iter().any(|kernel| kernel.truncates());
    if rounded || operands().any(|dtype| dtype == DType::BF16) {
        5e-2
    } else if operands().any(|dtype| dtype == DType::F16) {
        1e-2
    } else {
        1e-3
    }
}

/// The whole text.
pub fn text(plan: &Plan, options: &EmitOptions) -> diag::Result<String> {
    let modules: Vec<String> = plan.kernels.iter().map(|kernel| kernel_module(kernel)).collect();
    let reserved: Vec<&str> = RESERVED.into_iter().chain(modules.iter().map(String::as_str)).collect();
    let prepared = prepared_values(plan);

    let reference = reference(plan, &reserved)?;
    let functional = if reference.contains("F.") { "import torch.nn.functional as F\n" } else { "" };
    let mut text = format!(
        "\"\"\"{}: the whole model as {} kernel launches.\n\n\
         `python run.py` runs it on generated inputs, `--check` compares with torch, `--bench` times both,\n\
         `--cuda-graph` launches everything at once, `--profile` counts the device's kernels against the plan.\n\
         {}\"\"\"\n\n\
         import argparse\nimport collections\nimport json\nimport pathlib\nimport sys\nimport tempfile\n\n\
         import torch\n{functional}\n",
        prose(&plan.name),
        plan.launches.len(),
        if options.missing.is_empty() { "" } else { "Kernels are missing: README.md names the nodes.\n" },
    );
    for module in &modules {
        text += &format!("from kernels import {module}\n");
    }
    text += "from weights import inputs, load\n\n\n";
    text += &prepare_function(plan, &prepared, &reserved)?;
    text += "\n\n";
    text += &forward(plan, &modules, &prepared, &reserved, !options.missing.is_empty())?;
    text += "\n\n";
    text += &reference;
    text += "\n\n";
    let precision = options.settings.iter().find(|(key, _)| key == "precision").map_or("ieee", |(_, value)| value.as_str());
    let main = include_str!("text/run_main.py");
    let main = main.replace("CHECK", &float(check(plan))).replace("PRECISION", &string(precision));
    text += &main.replace("NAME", &string(&plan.name));
    Ok(text)
}

/// Values computed from weights that launches take or the model returns, in order of first use.
pub(super) fn prepared_values(plan: &Plan) -> Vec<ValueId> {
    let mut values = Vec::new();
    let taken = plan.launches.iter().flat_map(|launch| launch.operands.iter().map(|&(slot, _)| slot));
    let returned = plan.layouts.iter().filter(|(value, _, _)| plan.graph.outputs().contains(value)).map(|&(_, slot, _)| slot);
    for slot in taken.chain(returned) {
        if let Slot::Weight(value) = slot
            && matches!(plan.graph.value(value).producer, Producer::Node { .. })
            && !values.contains(&value)
        {
            values.push(value);
        }
    }
    values
}

fn weight(plan: &Plan, value: ValueId) -> String {
    format!("weights[{}]", string(&plan.graph.value(value).name))
}

fn prepare_function(plan: &Plan, prepared: &[ValueId], reserved: &[&str]) -> diag::Result<String> {
    let nodes = prepare::nodes_for(plan, prepared);
    let mut names = Names::new(reserved);
    let mut values: BTreeMap<ValueId, String> =
        prepare::weights_of(&plan.graph, &nodes).into_iter().map(|value| (value, weight(plan, value))).collect();
    let mut text = "def prepare(weights):\n    \"\"\"Tensors that depend on weights alone; computed once.\"\"\"\n".to_owned();
    for line in prepare::statements(&plan.graph, &nodes, &mut names, &mut values)? {
        text += &statement(4, &line);
    }
    let returned: Vec<String> = prepared.iter().map(|value| values[value].clone()).collect();
    text += &statement_of_tuple("    return ", &returned, "");
    Ok(text)
}

/// `head(a, b)tail`, over several lines when it is long.
fn statement_of_tuple(head: &str, items: &[String], tail: &str) -> String {
    let line = format!("{head}{}{tail}\n", tuple(items));
    if line.len() <= 101 { line } else { format!("{head}(\n{}    ){tail}\n", filled(8, items)) }
}

/// An `incomplete` one refuses to run: what follows a missing kernel would read unwritten memory.
fn forward(plan: &Plan, modules: &[String], prepared: &[ValueId], reserved: &[&str], incomplete: bool) -> diag::Result<String> {
    let graph = &plan.graph;
    let mut names = Names::new(reserved);
    let inputs: Vec<String> = graph.inputs().iter().map(|&input| names.fresh(&graph.value(input).name)).collect();
    let buffers: Vec<String> = (0..plan.buffers.len()).map(|i| names.fresh(&format!("b{i}"))).collect();
    let locals: BTreeMap<ValueId, String> =
        prepared.iter().map(|&value| (value, names.fresh(&graph.value(value).name))).collect();

    let mut text = format!("def forward({}):\n    \"\"\"One inference.\n\n", parameters(&inputs, &["weights", "prepared"]));
    for (&input, name) in graph.inputs().iter().zip(&inputs) {
        let ty = graph.ty(input);
        text += &format!("    {name}: {}\n", described(ty.dtype, &ty.shape));
    }
    let results: Vec<String> = graph
        .outputs()
        .iter()
        .map(|&value| format!("{} {}", prose(&graph.value(value).name), described(graph.dtype(value), graph.shape(value))))
        .collect();
    text += &format!("\n    Returns {}.\n    \"\"\"\n", results.join(", "));
    if incomplete {
        text += "    raise ValueError(\"kernels are missing: README.md names the nodes\")\n";
    }
    if !prepared.is_empty() {
        let unpacked: Vec<String> = prepared.iter().map(|value| locals[value].clone()).collect();
        text += &statement_of_tuple("    ", &unpacked, " = prepared");
    }
    let device = inputs.first().map_or("\"cpu\"".to_owned(), |name| format!("{name}.device"));
    for (buffer, name) in plan.buffers.iter().zip(&buffers) {
        text += &format!("    {name} = torch.empty({}, dtype={}, device={device})\n", buffer.len, dtype(buffer.dtype));
    }

    let place = |slot: Slot, shape: &[usize]| -> diag::Result<String> {
        let (name, from) = match slot {
            Slot::Input(i) => (inputs[i].clone(), graph.shape(graph.inputs()[i]).to_vec()),
            Slot::Weight(value) => {
                (locals.get(&value).cloned().unwrap_or_else(|| weight(plan, value)), graph.shape(value).to_vec())
            }
            Slot::Buffer(i) => (buffers[i].clone(), vec![plan.buffers[i].len]),
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
    };
    for launch in &plan.launches {
        let kernel = &plan.kernels[launch.kernel];
        let taken = kernel.operands.iter().filter(|o| o.access != OperandAccess::Scratch);
        let arguments = launch
            .operands
            .iter()
            .zip(taken)
            .map(|(&(slot, _), operand)| place(slot, &taken_shape(operand)))
            .collect::<diag::Result<Vec<String>>>()?;
        text += &format!("\n    # {}\n", prose(&launch.layer));
        text += &call(4, &format!("{}.launch", modules[launch.kernel]), &[arguments]);
    }

    let mut returned = Vec::new();
    for &output in graph.outputs() {
        let found = plan.layouts.iter().find(|(value, _, _)| *value == output);
        match found {
            Some((_, slot, layout)) if layout.is_contiguous() => returned.push(place(*slot, &layout.shape)?),
            Some(_) | None => {
                let message = format!("output {} that does not fill its storage in row-major order", graph.value(output).name);
                return Err(Box::new(Diagnostic::new(&codes::NOT_OFFERED, message).in_file(graph.file.clone())));
            }
        }
    }
    text += &match returned.as_slice() {
        [one] => format!("\n    return {one}\n"),
        several => format!("\n{}", statement_of_tuple("    return ", several, "")),
    };
    Ok(text)
}

fn parameters(inputs: &[String], more: &[&str]) -> String {
    inputs.iter().map(String::as_str).chain(more.iter().copied()).collect::<Vec<_>>().join(", ")
}

/// The model as imported, in torch.
fn reference(plan: &Plan, reserved: &[&str]) -> diag::Result<String> {
    let graph = &plan.imported;
    let nodes = graph.topological().map_err(|_| Box::new(Diagnostic::new(&codes::INTERNAL, "the imported graph has a cycle")))?;
    let mut names = Names::new(reserved);
    let inputs: Vec<String> = graph.inputs().iter().map(|&input| names.fresh(&graph.value(input).name)).collect();
    let mut values: BTreeMap<ValueId, String> = graph.inputs().iter().copied().zip(inputs.iter().cloned()).collect();
    for (id, value) in graph.values() {
        if let Producer::Weight(_) = value.producer {
            values.insert(id, format!("weights[{}]", string(&value.name)));
        }
    }
    let mut text =
        format!("def reference({}):\n    \"\"\"The model's own operators in torch.\"\"\"\n", parameters(&inputs, &["weights"]));
    for line in torch_ops::statements(graph, &nodes, &mut names, &mut values)? {
        text += &statement(4, &line);
    }
    let returned: Vec<String> = graph.outputs().iter().map(|output| values[output].clone()).collect();
    Ok(text + &format!("    return {}\n", returned.join(", ")))
}
