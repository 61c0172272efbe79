//! The wrapper of a kernel: `check` and `launch(…)`, in the host subset.
//!
//! `launch` refuses every tensor that the kernel was not made for (shape, dtype, device, strides),
//! allocates scratch, launches, and returns what was written. An operand that does not fill its
//! storage in row-major order comes as the 1-D storage itself: its strides and offset are then
//! numbers in the launch.

use super::python::{call, described, dtype, tuple};
use crate::template::{Argument, ArgumentValue, BoundKernel, BoundLaunch, Operand, OperandAccess};

/// Names that operands of a wrapper cannot have.
pub const RESERVED: [&str; 4] = ["torch", "triton", "tl", "F"];

/// The shape in which `launch` takes an operand.
pub fn taken_shape(operand: &Operand) -> Vec<usize> {
    if operand.layout.is_contiguous() { operand.layout.shape.to_vec() } else { vec![operand.layout.storage] }
}

/// How a kernel's launching function is written.
pub struct Form<'a> {
    pub name: &'a str,
    /// Whether it refuses tensors that the kernel was not made for.
    pub checks: bool,
    /// What a `@triton.jit` function of the kernel is called where this is written.
    pub function: &'a dyn Fn(&str) -> String,
}

/// `check` and `launch`.
pub fn text(kernel: &BoundKernel) -> String {
    let launch = launch(kernel, &Form { name: "launch", checks: true, function: &str::to_owned });
    format!("{}\n\n{launch}", include_str!("text/check.py"))
}

/// The function that launches a kernel.
pub fn launch(kernel: &BoundKernel, form: &Form) -> String {
    let params: Vec<&Operand> = kernel.operands.iter().filter(|o| o.access != OperandAccess::Scratch).collect();
    let names: Vec<&str> = params.iter().map(|o| o.name.as_str()).collect();
    let written: Vec<&str> = params.iter().filter(|o| o.access == OperandAccess::Write).map(|o| o.name.as_str()).collect();
    let device = names.first().map_or_else(String::new, |first| format!("{first}.device"));

    let mut text = format!("def {}({}):\n    \"\"\"Writes {}.\n\n", form.name, names.join(", "), written.join(" and "));
    for operand in &params {
        text += &format!("    {}\n", describe(operand));
    }
    text += "    \"\"\"\n";
    for operand in params.iter().filter(|_| form.checks) {
        let shape = tuple(&taken_shape(operand));
        let args = [format!("\"{}\"", operand.name), operand.name.clone(), shape, dtype(operand.dtype), device.clone()];
        text += &call(4, "check", &[args.to_vec()]);
    }
    for operand in kernel.operands.iter().filter(|o| o.access == OperandAccess::Scratch) {
        let args = [tuple(&taken_shape(operand)), format!("dtype={}", dtype(operand.dtype)), format!("device={device}")];
        text += &call(4, &format!("{} = torch.empty", operand.name), &[args.to_vec()]);
    }
    let mut locals: Vec<(&str, &str)> = Vec::new();
    for launch in &kernel.launches {
        for (name, value) in &launch.locals {
            let local = (name.as_str(), value.text.as_str());
            if locals.iter().rev().find(|(known, _)| *known == local.0) != Some(&local) {
                text += &format!("    {name} = {}\n", value.text);
                locals.push(local);
            }
        }
        text += &one_launch(kernel, launch, form);
    }
    text + &format!("    return {}\n", written.join(", "))
}

/// `x: float32 [1, 64, 56, 56]`, and how it lies in its storage where that is not plain.
fn describe(operand: &Operand) -> String {
    let layout = &operand.layout;
    let mut text = format!("{}: {}", operand.name, described(operand.dtype, &layout.shape));
    if !layout.is_contiguous() {
        text +=
            &format!(" in a storage of {}, strides {:?}, offset {}", layout.storage, layout.strides.as_slice(), layout.offset);
    }
    if operand.access == OperandAccess::Write {
        text += ", written";
    }
    text
}

fn one_launch(kernel: &BoundKernel, launch: &BoundLaunch, form: &Form) -> String {
    let last = launch.grid.iter().rposition(|size| size.text != "1").unwrap_or(0);
    let grid: Vec<&str> = launch.grid[..=last].iter().map(|size| size.text.as_str()).collect();
    let mut positional = Vec::new();
    let mut named = Vec::new();
    for Argument { param, value } in &launch.args {
        let (value, constexpr) = match value {
            ArgumentValue::Pointer(operand) => (kernel.operands[*operand].name.clone(), false),
            ArgumentValue::Int(int) => (int.text.clone(), false),
            ArgumentValue::Constexpr(int) => (int.text.clone(), true),
            ArgumentValue::ConstexprFloat(value) => (super::python::float(*value), true),
            ArgumentValue::ConstexprStr(text) => (super::python::string(text), true),
        };
        // Behind the first named argument all are named.
        if constexpr || !named.is_empty() {
            named.push(format!("{param}={value}"));
        } else {
            positional.push(value);
        }
    }
    let options = vec![format!("num_warps={}", launch.num_warps), format!("num_stages={}", launch.num_stages)];
    call(4, &format!("{}[{}]", (form.function)(&launch.function), tuple(&grid)), &[positional, named, options])
}
