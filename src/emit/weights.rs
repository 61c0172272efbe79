//! `weights.py` and, for weights that the model file has, `weights.safetensors`.
//!
//! Generated weights are written as calls of the counter-based hash, so that they are the numbers
//! that the kernels were verified with. Model inputs are generated likewise.

use std::sync::Arc;

use super::python::{described, string, tuple};
use super::{EmitOptions, Files, python};
use crate::diag::{self, Diagnostic, codes};
use crate::graph::{Producer, Role};
use crate::reference::seeded::{self, Origin};
use crate::rng::{self, Seed};
use crate::select::plan::Plan;
use crate::tensor::{Storage, Tensor, stored};

/// The file that holds weights of the model's own.
pub const STORED: &str = "weights.safetensors";

/// Exact constants up to this size are written into the text.
const LITERAL: usize = 64;

/// Adds the files.
pub fn add(plan: &Plan, options: &EmitOptions, files: &mut Files) -> diag::Result<()> {
    let graph = &plan.imported;
    let mut entries = Vec::new();
    let mut own: Vec<(String, Arc<Tensor>)> = Vec::new();
    for (id, value) in graph.values() {
        if !matches!(value.producer, Producer::Weight(_)) {
            continue;
        }
        let elements = seeded::weight(graph, id, options.seed, options.always_seeded)?;
        let name = string(&value.name);
        match elements.origin {
            Origin::Generated(law, seed) => {
                entries.push(format!("{name}: {}", law.python(seed, value.ty.dtype, &value.ty.shape)));
            }
            Origin::Own(_) | Origin::Filled(_) => {
                let tensor = elements.tensor();
                if tensor.len() <= LITERAL && value.role == Role::Exact {
                    entries.push(format!("{name}: {}", literal(&tensor)));
                    continue;
                }
                own.push((value.name.clone(), tensor));
            }
        }
    }

    let mut text = include_str!("text/weights_head.py").to_owned();
    if !own.is_empty() {
        text = text.replace("\nimport torch\n", "\nimport torch\nfrom safetensors.torch import load_file\n");
        text = text.replace("import math\n", "import math\nimport pathlib\n");
        let requirements = files.entry("requirements.txt".to_owned()).or_default();
        requirements.extend_from_slice(b"safetensors>=0.4\n");
    }
    text += &format!(
        "\n\n{}\n\ndef load(device):\n    \"\"\"Every weight by its name in the model.\"\"\"\n",
        rng::PYTHON.trim_start()
    );
    if own.is_empty() {
        text += "    weights = {\n";
    } else {
        text += &format!("    weights = load_file(pathlib.Path(__file__).parent / \"{STORED}\")\n    weights |= {{\n");
    }
    for entry in &entries {
        text += &format!("        {entry},\n");
    }
    text += "    }\n    return {name: tensor.to(device) for name, tensor in weights.items()}\n";
    text += &inputs(plan, options);
    files.insert("weights.py".to_owned(), text.into_bytes());
    if !own.is_empty() {
        let bytes = stored::write(&own).map_err(|error| {
            Box::new(Diagnostic::new(&codes::INTERNAL, format!("weights cannot be written: {error}")).in_file(STORED))
        })?;
        files.insert(STORED.to_owned(), bytes);
    }
    Ok(())
}

/// `inputs(device)`: the model's inputs, generated.
fn inputs(plan: &Plan, options: &EmitOptions) -> String {
    let graph = &plan.imported;
    let mut text = "\n\ndef inputs(device):\n    \"\"\"The model's inputs, generated: ".to_owned();
    let described: Vec<String> = graph.inputs().iter().map(|&input| described(graph.dtype(input), graph.shape(input))).collect();
    text += &format!("{}.\"\"\"\n", described.join(", "));
    let mut items = Vec::new();
    for &input in graph.inputs() {
        let value = graph.value(input);
        let seed = Seed::derive(options.seed, &value.name);
        items.push(match seeded::law(value.role, value.ty.dtype) {
            Some(law) => format!("{}.to(device)", law.python(seed, value.ty.dtype, &value.ty.shape)),
            None => format!("torch.zeros({}, dtype={}, device=device)", tuple(&value.ty.shape), python::dtype(value.ty.dtype)),
        });
    }
    text + &format!("    return {}\n", tuple(&items))
}

/// `torch.tensor([…], dtype=…).reshape(…)`.
pub fn literal(tensor: &Tensor) -> String {
    let lanes: Vec<String> = match tensor.storage() {
        Storage::I64(lanes) => lanes.iter().map(i64::to_string).collect(),
        Storage::Bool(lanes) => lanes.iter().map(|&v| if v != 0 { "True" } else { "False" }.to_owned()).collect(),
        Storage::F32(lanes) => lanes.iter().map(|&v| python::float(f64::from(v))).collect(),
        Storage::F64(lanes) => lanes.iter().map(|&v| python::float(v)).collect(),
    };
    format!("torch.tensor([{}], dtype={}).reshape{}", lanes.join(", "), python::dtype(tensor.dtype()), tuple(tensor.shape()))
}
