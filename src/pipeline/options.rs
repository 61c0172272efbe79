//! What one decomposition, or one verification, is asked to do.

use std::path::PathBuf;

use crate::conform::checks::Checks;
use crate::dtype::DType;
use crate::fuse::Level;
use crate::import::Binding;
use crate::registry::Size;
use crate::tolerance::Precision;

use super::data::GivenFiles;

/// Everything that decides the result; two runs with equal options give equal suites.
#[derive(Clone, Debug)]
pub struct Options {
    /// A model file, or a name of the registry.
    pub model: PathBuf,
    /// The suite's folder; `None` for `<model>-suite` in the working directory.
    pub output: Option<PathBuf>,
    /// Stands before the registry's and the file's.
    pub binding: Binding,
    /// Which of the registry's shapes stand for a model that it lists.
    pub size: Size,
    /// What floats are computed in; `None`: as the model says.
    pub dtype: Option<DType>,
    /// Class of contractions with fp32 operands.
    pub precision: Precision,
    pub fuse: Level,
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
    /// A user's own arrays to verify on, too.
    pub data: GivenFiles,
    /// A sketch that the plan follows.
    pub sketch: Option<PathBuf>,
}

/// What a verification is asked to do.
#[derive(Clone, Debug)]
pub struct Verification {
    pub scope: VerifyScope,
    /// Only this kernel, layer or template.
    pub only: Option<String>,
    /// Trust no verdict of before.
    pub all: bool,
    /// Worker threads.
    pub jobs: usize,
    /// What generated inputs are derived from; `None`: the suite's own seed.
    pub seed: Option<u64>,
    /// Seeds from that one on.
    pub trials: u64,
    /// A user's own arrays to verify on, too.
    pub data: GivenFiles,
    /// Whether small edits of a wrong kernel are tried for one that mends it.
    pub mends: bool,
    /// Which checks judge; all of them, but in tests of the checks themselves.
    pub checks: Checks,
}

impl Default for Verification {
    fn default() -> Verification {
        Verification {
            scope: VerifyScope::Unique,
            only: None,
            all: false,
            jobs: 1,
            seed: None,
            trials: 1,
            data: GivenFiles::default(),
            mends: true,
            checks: Checks::default(),
        }
    }
}

/// What is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyScope {
    /// Each kernel once, and the whole chain.
    Unique,
    /// Each launch, and the whole chain.
    All,
    /// Each kernel once: the accesses of every program, the values of some.
    Sampled,
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

impl Options {
    /// What the suite that is written is verified for.
    pub fn verification(&self) -> Verification {
        Verification {
            scope: self.verify,
            only: self.only.clone(),
            all: true,
            jobs: self.jobs,
            data: self.data.clone(),
            ..Verification::default()
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            model: PathBuf::new(),
            output: None,
            binding: Binding::default(),
            size: Size::Real,
            dtype: None,
            precision: Precision::default(),
            fuse: Level::default(),
            target: crate::target::DEFAULT.to_owned(),
            templates: None,
            weights: Weights::Auto,
            seed: 0,
            verify: VerifyScope::Unique,
            only: None,
            jobs: 1,
            force: false,
            data: GivenFiles::default(),
            sketch: None,
        }
    }
}
