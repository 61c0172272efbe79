//! The file of one kernel, in four parts: kernel, wrapper, reference, test.

use std::collections::BTreeMap;

use super::python::{Names, call, described, paragraph, prose, statement};
use super::subject::{Origin, Subject};
use super::{kernel_test, torch_ops, wrapper};
use crate::diag;
use crate::graph::{Producer, Role, ValueId};
use crate::select::plan::Plan;
use crate::template::BoundKernel;

/// The reference's parameters: values of the imported graph with the names they have in this file.
pub type Parameters = Vec<(ValueId, String)>;

/// The whole text.
pub fn text(plan: &Plan, index: usize) -> diag::Result<String> {
    let kernel = &plan.kernels[index];
    let subject = Subject::of(plan, index)?;
    let parameters = parameters(plan, kernel, &subject);
    let reference = reference(plan, &subject, &parameters)?;
    let functional = if reference.contains("F.") { "import torch.nn.functional as F\n" } else { "" };
    let mut text = docstring(plan, index, &subject);
    text += &format!("import torch\n{functional}import triton\nimport triton.language as tl\n");
    for (title, part) in [
        ("Kernel", kernel.text.trim().to_owned() + "\n"),
        ("Wrapper", wrapper::text(kernel)),
        ("Reference", reference),
        ("Test", kernel_test::text(plan, kernel, &subject, &parameters)?),
    ] {
        text += &format!("\n\n# {title}\n\n\n{part}");
    }
    Ok(text)
}

fn docstring(plan: &Plan, index: usize, subject: &Subject) -> String {
    let kernel = &plan.kernels[index];
    let layers: Vec<String> = plan.launches.iter().filter(|l| l.kernel == index).map(|l| prose(&l.layer)).collect();
    format!(
        "\"\"\"{}: {}.\n\n{}\"\"\"\n\n",
        prose(&kernel.template),
        subject.operators(&plan.imported),
        paragraph(0, &format!("Used by {} of {}.", layers.join(", "), prose(&plan.name)))
    )
}

/// Names for the values that enter: the wrapper's where it takes them too, else by what they are.
pub(super) fn parameters(plan: &Plan, kernel: &BoundKernel, subject: &Subject) -> Parameters {
    let mut names = Names::new(&wrapper::RESERVED);
    subject
        .entering
        .iter()
        .map(|&value| {
            let operand = kernel.operands.iter().zip(&subject.origins).find(|(_, origin)| match origin {
                Origin::Entering(v) => *v == value,
                Origin::Weight(v) => *v == value && matches!(plan.graph.value(*v).producer, Producer::Weight(_)),
                Origin::Output(_) | Origin::Scratch => false,
            });
            let wanted = match (operand, plan.imported.value(value).role) {
                (Some((operand, _)), _) => operand.name.as_str(),
                (None, Role::Weight { .. }) => "weight",
                (None, Role::Bias) => "bias",
                (None, Role::Scale) => "gamma",
                (None, Role::Mean) => "mean",
                (None, Role::Variance) => "var",
                (None, Role::Divisor) => "divisor",
                (None, Role::Activation | Role::IndexBelow(_) | Role::Probability | Role::Mask | Role::Exact) => "x",
            };
            (value, names.fresh(wanted))
        })
        .collect()
}

pub(super) fn reference(plan: &Plan, subject: &Subject, parameters: &Parameters) -> diag::Result<String> {
    let list: Vec<&str> = parameters.iter().map(|(_, name)| name.as_str()).collect();
    let mut names = Names::new(&wrapper::RESERVED);
    let mut values = BTreeMap::new();
    for (value, name) in parameters {
        values.insert(*value, names.fresh(name));
    }
    let lines = torch_ops::statements(&plan.imported, &subject.nodes, &mut names, &mut values)?;
    let ty = plan.imported.ty(subject.output);
    let mut text = call(0, "def reference", &[list.iter().map(|s| (*s).to_owned()).collect()]);
    text.truncate(text.trim_end().len());
    text += &format!(":\n    \"\"\"The model's own operators, {}.\"\"\"\n", described(ty.dtype, &ty.shape));
    let (last, rest) = lines.split_last().map_or((None, lines.as_slice()), |(last, rest)| (Some(last), rest));
    for line in rest {
        text += &statement(4, line);
    }
    let result = &values[&subject.output];
    match last.and_then(|line| line.strip_prefix(&format!("{result} = "))) {
        Some(value) => text += &statement(4, &format!("return {value}")),
        None => {
            text += &last.map_or_else(String::new, |line| statement(4, line));
            text += &format!("    return {result}\n");
        }
    }
    Ok(text)
}
