//! `README.md` of a suite: what it is, how to run it, which kernel serves which layers.

use super::python::prose;
use super::{EmitOptions, Files, kernel_path};
use crate::select::plan::Plan;
use crate::shape;

/// The whole text.
pub fn text(plan: &Plan, options: &EmitOptions, files: &Files) -> String {
    let graph = &plan.imported;
    let describe = |values: &[crate::graph::ValueId]| -> String {
        let items: Vec<String> = values
            .iter()
            .map(|&v| {
                format!("`{}` {} {}", prose(&graph.value(v).name), graph.dtype(v).torch_name(), shape::display(graph.shape(v)))
            })
            .collect();
        items.join(", ")
    };
    let mut text = format!(
        "# {}: {} Triton kernels\n\n\
         The model `{}` as {} launches of {} kernels. Input {}; output {}.\n\n",
        prose(&plan.name),
        plan.kernels.len(),
        prose(&graph.file),
        plan.launches.len(),
        plan.kernels.len(),
        describe(graph.inputs()),
        describe(graph.outputs()),
    );
    text += include_str!("text/readme.md");
    if files.contains_key("weights.safetensors") {
        text += "`weights.safetensors` holds the model's own weights; `weights.py` generates the others.\n";
    } else {
        text += "The model file has no weights of its own: `weights.py` generates them from a hash.\n";
    }
    if !options.missing.is_empty() {
        text += "\n## Not in this suite\n\nNo kernel computes these nodes, so `run.py` refuses to run; each kernel can be run by itself:\n\n";
        for node in &options.missing {
            text += &format!("- `{}`\n", prose(node));
        }
    }
    text += "\n## Kernels\n\n| file | layers |\n| --- | --- |\n";
    for (index, kernel) in plan.kernels.iter().enumerate() {
        let layers: Vec<String> = plan
            .launches
            .iter()
            .filter(|l| l.kernel == index)
            .map(|l| format!("`{}`", prose(&l.layer).replace('|', "\\|")))
            .collect();
        text += &format!("| `{}` | {} |\n", kernel_path(kernel), layers.join(", "));
    }
    text
}
