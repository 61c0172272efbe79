//! What one decomposition is asked to do.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::shape::Shape;

/// Everything that decides the result; two runs with equal options give equal suites.
#[derive(Clone, Debug)]
pub struct Options {
    /// A model file, or a name of the registry.
    pub model: PathBuf,
    /// The suite's folder; `None` for `<model>-suite` in the working directory.
    pub output: Option<PathBuf>,
    pub binding: Bound,
    /// Use the registry's unit shapes instead of its real ones.
    pub unit_shapes: bool,
    pub fuse: crate::fuse::Level,
    pub target: String,
    /// A folder of operator templates that stand before the built-in ones.
    pub templates: Option<PathBuf>,
    pub weights: Weights,
    pub seed: u64,
    pub verify: VerifyScope,
    /// Verify only this kernel, node or template.
    pub only: Option<String>,
    /// Worker threads.
    pub jobs: usize,
    /// Overwrite a suite with edited files.
    pub force: bool,
}

/// Shapes and dimensions that the user binds; they stand before the registry's and the file's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bound {
    pub shapes: BTreeMap<String, Shape>,
    pub dims: BTreeMap<String, usize>,
    /// Size of every symbolic dimension that nothing else binds.
    pub default_dim: Option<usize>,
}

/// What is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyScope {
    /// Each kernel once, and the whole chain.
    Unique,
    /// Each launch, and the whole chain.
    All,
    None,
}

/// Whether real weights of the file are used where it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Real ones where the file has them, generated ones elsewhere.
    Auto,
    /// Real ones; a weight without elements in the file is an error.
    Model,
    /// Generated ones everywhere.
    Seeded,
}
