//! `README.md` of a suite: what it is, how to run it, which kernel serves which layers.

use super::manifest::PRECISION;
use super::python::prose;
use super::{EmitOptions, Files, kernel_path};
use crate::dtype::DType;
use crate::select::plan::Plan;
use crate::shape;
use crate::tolerance::Precision;

/// For people: nothing depends on its text.
pub const README: &str = "README.md";

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
    let setting = |key: &str| options.settings.iter().find(|(k, _)| k == key).map_or("", |(_, value)| value.as_str());
    if let Some(class) = Precision::from_name(setting(PRECISION)).filter(|class| *class != Precision::Ieee) {
        text += &format!("Dots with fp32 operands are of the class `{class}`.\n\n");
    }
    text += include_str!("text/readme.md");
    let bf16 = plan.kernels.iter().flat_map(|kernel| &kernel.operands).any(|operand| operand.dtype == DType::BF16);
    if bf16 || setting(PRECISION) == Precision::Bf16x6.name() {
        text += "Triton's interpreter (3.9) computes no dot of bf16 numbers: kernels with dots need a GPU.\n\n";
    }
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
    if !options.refused.is_empty() {
        text += "\n## Not in the model that this suite computes\n\nThese could not be taken over, nor what follows them:\n\n";
        for refused in &options.refused {
            text += &format!("- `{}`\n", prose(refused));
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
