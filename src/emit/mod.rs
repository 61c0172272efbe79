//! A plan as a folder of files: kernels with wrapper, reference and test, `run.py`, weights, manifest.
//!
//! [`suite`] is a pure function: the same plan and options give the same bytes, whatever the path,
//! the time or the number of threads. [`write`] puts the files on disk, whole or not at all.
//!
//! What runs (`launch`, `prepare`, `forward`) is written in the host subset, and `host` reads it
//! back; the rest (references, tests, `main`) is ordinary Python that needs torch. Nothing emitted
//! imports `decompose`. `verdicts.json` is added by `conform`.

mod body;
mod bound;
mod changes;
mod compile;
mod kernel_file;
mod kernel_test;
mod layers;
pub mod manifest;
pub mod modelnew;
mod prepare;
mod python;
mod readme;
mod restore;
mod run;
pub mod sketch;
mod subject;
mod tasks;
mod torch_access;
mod torch_expr;
mod torch_lines;
mod torch_ops;
mod weights;
pub mod wrapper;
pub mod write;

use std::collections::BTreeMap;

use crate::diag;
use crate::select::plan::Plan;
use crate::template::BoundKernel;

pub use crate::source::files::digest;
pub use changes::{Change, changes, edited};
pub use layers::{Samples, computed, numerics_seed};
pub use manifest::MANIFEST;
pub use readme::README;
pub use restore::restore;
pub use tasks::tasks;
pub use weights::STORED;
pub use write::{abandon, may_write, paths, read, replace, write};

/// A suite's files by path (`/` between folders), relative to the suite.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What a suite holds besides its plan.
#[derive(Clone, Debug)]
pub struct EmitOptions {
    /// What generated weights and inputs are derived from.
    pub seed: u64,
    /// Generate float weights that the model file has, too.
    pub always_seeded: bool,
    /// How the plan was made (fusion level, target, precision, …), for the manifest: what re-emits the
    /// suite from the manifest's graph needs.
    pub settings: Vec<(String, String)>,
    /// Nodes that no kernel computes, by their own names: the suite says so.
    pub missing: Vec<String>,
    /// What import could not take over, by the nodes' own names or in its words: the imported graph is not the
    /// whole model, and the suite says so.
    pub refused: Vec<String>,
}

/// The file of a kernel, relative to the suite.
pub fn kernel_path(kernel: &BoundKernel) -> String {
    format!("kernels/{}.py", kernel_module(kernel))
}

/// The Python module of a kernel inside `kernels`.
pub fn kernel_module(kernel: &BoundKernel) -> String {
    format!("{}__{}", kernel.template, kernel.key)
}

/// A module with a kernel and its wrapper alone: what runs of the kernel's file.
pub fn launch_module(kernel: &BoundKernel) -> String {
    let text = kernel.text.trim();
    format!("import torch\nimport triton\nimport triton.language as tl\n\n\n{text}\n\n\n{}", wrapper::text(kernel))
}

/// Every file of a suite.
///
/// # Errors
/// U006 for what cannot be written as torch yet, named with its node; X001 when the plan contradicts
/// itself.
pub fn suite(plan: &Plan, options: &EmitOptions) -> diag::Result<Files> {
    let mut files = Files::new();
    for index in 0..plan.kernels.len() {
        files.insert(kernel_path(&plan.kernels[index]), kernel_file::text(plan, index)?.into_bytes());
    }
    files.insert("run.py".to_owned(), run::text(plan, options)?.into_bytes());
    files.insert("run_all_tests.py".to_owned(), include_bytes!("text/run_all_tests.py").to_vec());
    files.insert("test_layers.py".to_owned(), include_bytes!("text/test_layers.py").to_vec());
    files.insert("compile.py".to_owned(), compile::text().into_bytes());
    files.insert("requirements.txt".to_owned(), include_bytes!("text/requirements.txt").to_vec());
    weights::add(plan, options, &mut files)?;
    files.insert(README.to_owned(), readme::text(plan, options, &files).into_bytes());
    let manifest = manifest::text(plan, options, &files);
    files.insert(MANIFEST.to_owned(), manifest.into_bytes());
    Ok(files)
}

/// A suite's files with `layers/*.json`; `samples` holds one entry a launch (`conform` computes them).
///
/// # Errors
/// As [`suite`]; X001 when there are other samples than launches.
pub fn suite_with_layers(plan: &Plan, options: &EmitOptions, samples: &[Samples]) -> diag::Result<Files> {
    let mut files = suite(plan, options)?;
    files.remove(MANIFEST);
    files.extend(layers::files(plan, options, samples)?);
    let manifest = manifest::text(plan, options, &files);
    files.insert(MANIFEST.to_owned(), manifest.into_bytes());
    Ok(files)
}

#[cfg(test)]
pub(crate) mod hand_made;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod torch_cases;
