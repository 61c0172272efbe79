//! From the words of the command line to options that mean something; what is not offered yet is
//! refused here, by name.

use std::path::{Path, PathBuf};

use crate::cli::args::{KernelArgs, ModelArgs};
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::fuse::Level;
use crate::import::Binding;
use crate::pipeline::{GivenFile, GivenFiles, VerifyScope, Weights};
use crate::shape::Shape;
use crate::tolerance::Precision;

/// Where a flag's value stands between offered and unknown.
fn choice<'a, T: Copy>(flag: &str, value: &'a str, offered: &[(&'a str, T)], later: &[&str]) -> Result<T> {
    if let Some((_, chosen)) = offered.iter().find(|(name, _)| *name == value) {
        return Ok(*chosen);
    }
    let names = offered.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    if later.contains(&value) {
        return Err(Box::new(not_offered(&format!("{flag} {value}")).help(format!("use {flag} with one of: {names}"))));
    }
    Err(Box::new(usage(format!("{flag} does not know `{value}`")).help(format!("use one of: {names}"))))
}

/// A flag or verb of the design that does not exist yet.
pub fn not_offered(what: &str) -> Diagnostic {
    Diagnostic::new(&codes::NOT_OFFERED, format!("{what} is not offered yet"))
}

pub fn usage(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(&codes::USAGE, message)
}

/// Reads `--shape x=1x3x224x224` and `--dim batch=8`.
pub fn binding(args: &ModelArgs) -> Result<Binding> {
    let mut bound = Binding { default_dim: args.default_dim, ..Binding::default() };
    for text in &args.shape {
        let parsed = text.rsplit_once('=').and_then(|(name, shape)| {
            let sizes = shape.split(['x', '×', ',']).map(|s| s.trim().parse().ok()).collect::<Option<Shape>>()?;
            (!name.is_empty()).then(|| (name.to_owned(), sizes))
        });
        let (name, shape) = parsed.ok_or_else(|| {
            usage(format!("--shape cannot read `{text}`")).help("write the input's name and its sizes: --shape x=1x3x224x224")
        })?;
        if bound.shapes.insert(name.clone(), shape).is_some() {
            return Err(Box::new(usage(format!("--shape binds `{name}` twice"))));
        }
    }
    for text in &args.dim {
        let parsed = text.rsplit_once('=').and_then(|(name, size)| Some((name.to_owned(), size.trim().parse().ok()?)));
        let (name, size) = parsed.filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
            usage(format!("--dim cannot read `{text}`")).help("write the dimension's name and its size: --dim batch=8")
        })?;
        if bound.dims.insert(name.clone(), size).is_some() {
            return Err(Box::new(usage(format!("--dim binds `{name}` twice"))));
        }
    }
    let zero = bound.shapes.values().flatten().chain(bound.dims.values()).chain(&bound.default_dim).any(|&size| size == 0);
    if zero {
        return Err(Box::new(usage("a dimension is bound to 0").help("kernels need at least one element along every dimension")));
    }
    Ok(bound)
}

/// What floats are computed in; `None`: as the model says.
pub fn dtype(args: &KernelArgs) -> Result<Option<DType>> {
    let converted = [DType::F32, DType::F16, DType::BF16].map(|dtype| (dtype.name(), Some(dtype)));
    let offered: Vec<_> = std::iter::once(("as-is", None)).chain(converted).collect();
    choice("--dtype", &args.dtype, &offered, &[])
}

/// The class of contractions with fp32 operands. The two that are split by hand need kernels that do it.
pub fn precision(class: &str) -> Result<Precision> {
    let offered = [Precision::Ieee, Precision::Tf32, Precision::Tf32x3, Precision::Bf16x6].map(|p| (p.name(), p));
    let later = [Precision::Fp16x3.name(), Precision::Bf16x3.name(), "auto"];
    choice("--precision", class, &offered, &later)
}

pub fn fuse_level(level: &str) -> Result<Level> {
    choice("--fuse", level, &[("none", Level::None), ("basic", Level::Basic)], &["full"])
}

/// What is verified of a suite that lies there.
pub fn verified_scope(text: &str) -> Result<VerifyScope> {
    choice("--verify", text, &SCOPES, &[])
}

/// What is verified of a suite that is made, which may be nothing.
pub fn verify_scope(text: &str) -> Result<VerifyScope> {
    let offered = SCOPES.into_iter().chain([("none", VerifyScope::None)]);
    choice("--verify", text, &offered.collect::<Vec<_>>(), &[])
}

const SCOPES: [(&str, VerifyScope); 3] =
    [("unique", VerifyScope::Unique), ("all", VerifyScope::All), ("sampled", VerifyScope::Sampled)];

pub fn weights(text: &str) -> Result<Weights> {
    choice("--weights", text, &[("auto", Weights::Auto), ("model", Weights::Model), ("seeded", Weights::Seeded)], &[])
}

/// Reads `--input x.npy --expect y=out/y.npy`. A file of the whole name stands before a name in front of `=`.
pub fn given(inputs: &[String], expected: &[String]) -> GivenFiles {
    let file = |text: &String| match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !Path::new(text).exists() => {
            GivenFile { name: Some(name.to_owned()), path: PathBuf::from(path) }
        }
        Some(_) | None => GivenFile { name: None, path: PathBuf::from(text) },
    };
    GivenFiles { inputs: inputs.iter().map(file).collect(), expected: expected.iter().map(file).collect() }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Worker threads: as many as asked for, else one a core.
pub fn jobs(asked: Option<usize>) -> Result<usize> {
    match asked {
        Some(0) => Err(Box::new(usage("--jobs 0 leaves nobody to work").help("use --jobs 1 or more"))),
        // More threads than cores only cost memory.
        Some(n) => Ok(n.min(cores())),
        None => Ok(cores()),
    }
}

/// Refuses more seeds than there are from the first on.
pub fn trials(seed: u64, trials: u64) -> Result<u64> {
    match seed.checked_add(trials - 1) {
        Some(_) => Ok(trials),
        None => {
            let what = format!("--trials {trials} from --seed {seed} on goes beyond the last seed, {}", u64::MAX);
            Err(Box::new(usage(what).help("use fewer trials or a smaller seed")))
        }
    }
}

/// What is written of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    Suite,
    /// Each distinct layer as a task in KernelBench's format.
    Tasks,
    Sketch,
}

pub fn emit(text: &str) -> Result<Emit> {
    choice("--emit", text, &[("suite", Emit::Suite), ("tasks", Emit::Tasks), ("sketch", Emit::Sketch)], &[])
}

/// What is written of a task: whether it is the sketch.
pub fn emits_sketch(text: &str) -> Result<bool> {
    choice("--emit", text, &[("modelnew", false), ("sketch", true)], &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_dims_are_read() {
        let args =
            ModelArgs { shape: vec!["x=1x3x8".into(), "a=b=2".into()], dim: vec!["batch=8".into()], ..ModelArgs::default() };
        let bound = binding(&args).unwrap();
        assert_eq!(bound.shapes["x"].as_slice(), [1, 3, 8]);
        assert_eq!(bound.shapes["a=b"].as_slice(), [2]);
        assert_eq!(bound.dims["batch"], 8);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["x", "=1x2", "x=1xx2", "x=-1", "x=0x2"] {
            let args = ModelArgs { shape: vec![text.into()], ..ModelArgs::default() };
            assert_eq!(binding(&args).unwrap_err().code.id, "U001", "{text}");
        }
    }

    #[test]
    fn later_values_are_refused_by_name_and_unknown_ones_as_usage() {
        assert_eq!(fuse_level("basic").unwrap(), Level::Basic);
        assert_eq!(fuse_level("full").unwrap_err().code.id, "U006");
        assert_eq!(fuse_level("all").unwrap_err().code.id, "U001");
        let of = |dtype: &str| KernelArgs { dtype: dtype.into(), ..KernelArgs::default() };
        assert_eq!(dtype(&of("bf16")).unwrap(), Some(DType::BF16));
        assert_eq!(dtype(&of("as-is")).unwrap(), None);
        assert_eq!(dtype(&of("f8")).unwrap_err().code.id, "U001");
        assert_eq!(precision("bf16x6").unwrap(), Precision::Bf16x6);
        for later in ["fp16x3", "bf16x3", "auto"] {
            assert_eq!(precision(later).unwrap_err().code.id, "U006");
        }
        assert_eq!(precision("fp32").unwrap_err().code.id, "U001");
    }
}
