//! A template to start from: the texts of its three files.
//!
//! For an operator that a template of the library computes, that template's files with its functions
//! renamed; for an operator of the user's own, an elementwise kernel written from its formula. Either
//! passes the anchor probe as it is, so that whatever the probe finds later is the edit's.
//!
//! Not made: kernels for formulas of anything but elements, and figures for a schedule, which only a
//! measurement gives.

use std::collections::BTreeSet;

use super::library::{Library, Template};
use super::manifest::Implements;
use super::names::Names;
use super::triton_expr::{Printer, Text};
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::expr::formula::Formula;
use crate::import::onnx;

/// `kernel.py`, `template.yaml` and `schedule.yaml`, by name.
pub type Files = [(&'static str, String); 3];

/// Parameters, sizes and variables of the kernel that is written: no operand may be called so.
const TAKEN: &[&str] = &["E", "BLOCK", "WORK", "TILE"];

const SCHEDULE: &str = r#"- set: {BLOCK: "min(1024, max(16, next_power_of_2(E)))"}
  num_warps: 4
  num_stages: 1
  source: the figures of the built-in elementwise templates; not measured for this kernel
"#;

/// The files of a template `name` for an operator: a kind (`Conv`), a template of the library
/// (`relu`, `matmul`), an operator of ONNX that one computes (`Relu`, `Gemm`), or a name of the user's own with a
/// formula.
///
/// # Errors
/// U001 for a name that is no Python name, a missing formula, or one where it has no place; S002 for
/// a formula that cannot be read.
pub fn files(name: &str, operator: &str, formula: Option<&str>, library: &Library) -> Result<Files> {
    let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.chars().all(lower)
        || !name.starts_with(|c: char| c.is_ascii_lowercase())
        || !Names::new(&BTreeSet::new()).is_free(name)
    {
        let message = format!("a template cannot be called `{name}`");
        return Err(usage(message, "kernels get its name: a Python name of small letters, digits and underscores"));
    }
    match (computes(operator, library), formula) {
        (Some(template), None) => Ok(copied(template, name)),
        (Some(template), Some(_)) => {
            let message = format!("{operator} has its meaning already, which the template `{}` computes", template.name);
            Err(usage(message, "leave the formula out, or name an operator of your own: --implements com.example.Name"))
        }
        (None, Some(_)) if onnx::serves(operator) => {
            let message = format!("{operator} is an operator of ONNX, which has its meaning already");
            Err(usage(message, "a template for it names the Map that it becomes: `implements: Map` with `label:` and `body:`"))
        }
        (None, Some(text)) => elementwise(name, operator, &Formula::parse("--formula", text)?),
        (None, None) if onnx::serves(operator) => {
            let message = format!("no template computes {operator} and nothing else");
            Err(usage(message, "what is computed element by element becomes a Map: start from --implements map"))
        }
        (None, None) => {
            let kinds: Vec<&str> = Implements::ALL.iter().map(|(_, name)| *name).collect();
            let message = format!("no template computes `{operator}`, and there is no formula for it");
            let help = format!("give --formula \"X * sigmoid(X)\", or name a template or one of: {}", kinds.join(", "));
            Err(usage(message, &help))
        }
    }
}

fn usage(message: String, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&codes::USAGE, message).help(help))
}

/// A name without small print.
fn folded(name: &str) -> String {
    name.replace('_', "").to_ascii_lowercase()
}

/// The template that computes an operator, by kind, name or alias.
fn computes<'a>(operator: &str, library: &'a Library) -> Option<&'a Template> {
    let kind = Implements::ALL.iter().find(|(_, name)| *name == operator).map(|(kind, _)| *kind);
    match kind {
        Some(kind) => {
            let all = || library.templates().iter().map(AsRef::as_ref);
            let is = |t: &&Template| t.manifest.implements == kind && t.manifest.label.is_none();
            // Of the ranks of one kind, the one that calls itself so.
            let called = |t: &&Template| is(t) && t.manifest.aliases.iter().any(|alias| folded(alias) == folded(operator));
            all().find(called).or_else(|| all().find(is))
        }
        None => library.find(operator).map(AsRef::as_ref).or_else(|| of_onnx(operator, library)),
    }
}

/// The template that computes an operator of ONNX: its kind, name or an alias without small print.
fn of_onnx<'a>(operator: &str, library: &'a Library) -> Option<&'a Template> {
    let wanted = folded(operator);
    let kind = |template: &Template| Implements::ALL.iter().find(|(kind, _)| *kind == template.manifest.implements).map(|k| k.1);
    let is = |template: &&Template| {
        let own = std::iter::once(template.name.as_str()).chain(template.manifest.aliases.iter().map(String::as_str));
        own.chain(kind(template)).any(|name| folded(name) == wanted)
    };
    library.templates().iter().map(AsRef::as_ref).find(is).filter(|_| onnx::serves(operator))
}

/// A template's files under another name.
fn copied(template: &Template, name: &str) -> Files {
    let rename = |text: &str| {
        template.kernel.functions.iter().fold(text.to_owned(), |text, function| {
            match function.name.strip_prefix(&template.name) {
                Some(rest) => replace_word(&text, &function.name, &format!("{name}{rest}")),
                None => text,
            }
        })
    };
    // Aliases stay with the template that has them.
    let manifest: String = template.manifest.file.text().split_inclusive('\n').filter(|l| !l.starts_with("aliases:")).collect();
    [
        ("kernel.py", rename(template.kernel.file.text())),
        ("template.yaml", rename(&manifest)),
        ("schedule.yaml", template.schedule_file.text().to_owned()),
    ]
}

/// Replaces an identifier where it stands alone.
fn replace_word(text: &str, word: &str, with: &str) -> String {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let alone = !before.ends_with(part) && !after.starts_with(part);
        out.push_str(before);
        out.push_str(if alone { with } else { word });
        rest = after;
    }
    out + rest
}

/// An elementwise kernel that computes a formula.
fn elementwise(name: &str, operator: &str, formula: &Formula) -> Result<Files> {
    let operands = formula.operands();
    if operands.is_empty() {
        return Err(usage(
            format!("the formula `{}` reads no operand", formula.text()),
            "name the operands in capitals: X, A, B",
        ));
    }
    let capital = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    let fresh = Names::new(&BTreeSet::new());
    let bad = |operand: &&&str| !capital(operand) || TAKEN.contains(*operand) || !fresh.is_free(&operand.to_ascii_lowercase());
    if let Some(operand) = operands.iter().find(bad) {
        let help = format!("operands are written in capitals and are none of {}", TAKEN.join(", "));
        return Err(usage(format!("an operand cannot be called `{operand}`"), &help));
    }
    let typed: Vec<(&str, DType)> = operands.iter().map(|name| (*name, DType::F32)).collect();
    let body = formula.over(&typed)?;
    let output = if operands.contains(&"Y") { "OUT" } else { "Y" };
    let stems: Vec<String> = operands.iter().chain([&output]).map(|name| name.to_ascii_lowercase()).collect();
    let inputs = &stems[..operands.len()];
    let y = &stems[operands.len()];
    let taken: BTreeSet<String> =
        stems.iter().cloned().chain(stems.iter().map(|s| format!("{s}_ptr"))).chain(["e", "tile"].map(str::to_owned)).collect();
    let mut names = Names::new(&taken);
    let coordinate = |k: usize| Text::atom(format!("d{k}"));
    let mut printer = Printer { reads: inputs, coordinate: &coordinate, names: &mut names, statements: Vec::new() };
    let result = printer.print(&body)?.text;
    let mut work = String::new();
    for (operand, stem) in operands.iter().zip(inputs) {
        work.push_str(&format!("    # fuse: load {operand} at e=e if e < E\n"));
        work.push_str(&format!("    {stem} = tl.load({stem}_ptr + e, mask=e < E, other=0)\n"));
    }
    for (name, text) in printer.statements {
        work.push_str(&format!("    {name} = {text}\n"));
    }
    let pointers = stems.iter().map(|stem| format!("{stem}_ptr")).collect::<Vec<_>>().join(", ");
    let text = formula.text();
    let kernel = format!(
        r#""""{text} over a flattened index space; an operand that is broadcast gets its own address."""

import triton
import triton.language as tl


@triton.jit
def {name}_tile(
    tile, {pointers}, E,
    # fuse: params
    BLOCK: tl.constexpr,
):
    e = tile * BLOCK + tl.arange(0, BLOCK)
{work}    {y} = {result}
    # fuse: value {y} at e=e if e < E
    # fuse: store {output} at e=e if e < E
    tl.store({y}_ptr + e, {y}, mask=e < E)


@triton.jit
def {name}_kernel(
    {pointers}, E,
    # fuse: params
    BLOCK: tl.constexpr,
):
    {name}_tile(
        tl.program_id(0), {pointers}, E,
        # fuse: args
        BLOCK,
    )


@triton.jit
def {name}_kernel_loop(
    {pointers}, E, WORK,
    # fuse: params
    BLOCK: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        {name}_tile(
            tile, {pointers}, E,
            # fuse: args
            BLOCK,
        )
"#
    );
    let all = |shapes: &dyn Fn(usize) -> &'static str, last: &str| {
        let each = operands.iter().enumerate().map(|(i, name)| format!("{name}: {}, ", shapes(i))).collect::<String>();
        format!("  - {{{each}{output}: {last}}}\n")
    };
    let broadcast = |i: usize| ["[4, 1, 6]", "[5, 1]", "[4, 5, 6]"][i.min(2)];
    let small = if operands.len() == 1 { all(&|_| "[1]", "[1]") } else { all(&broadcast, "[4, 5, 6]") };
    let access = operands.iter().chain([&output]).map(|name| format!("{name}: [e]")).collect::<Vec<_>>().join(", ");
    let manifest = format!(
        r#"implements: {operator}
reference: "{text}"
class: [elementwise]
axes: {{e: many}}
access: {{{access}}}
when: "{}.dtype == 'f32'"
launches:
  - {{kernel: {name}_kernel, work: "cdiv(E, BLOCK)"}}
probe:
{}{small}{}"#,
        operands[0],
        all(&|_| "[2, 3, 5, 7]", "[2, 3, 5, 7]"),
        all(&|_| "[3, 20, 30]", "[3, 20, 30]"),
    );
    Ok([("kernel.py", kernel), ("template.yaml", manifest), ("schedule.yaml", SCHEDULE.to_owned())])
}

#[cfg(test)]
mod tests;
