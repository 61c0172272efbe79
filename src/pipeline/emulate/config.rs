//! Configurations of `@triton.autotune` and constexprs of `@triton.heuristics`: which of them a run takes.
//!
//! A run takes the configuration that is asked for, or each; where nothing is asked, the first, unless its description says all
//! that configurations say. Heuristics are computed from the arguments, as Triton does at a launch.

use std::path::Path;
use std::sync::Arc;

use super::ConfigChoice;
use crate::diag::{Diagnostic, Result, codes};
use crate::kernel::lower::decorators::{Config, Decorators, Meta, decorators, heuristics as compute};
use crate::kernel::{ArgSpec, Kernel, Sources, Verified};
use crate::launch::description::Description;
use crate::launch::resolve::{Scope, Value};
use crate::launch::{entry, signature};
use crate::pipeline::compiled;
use crate::syntax::Constant;
use crate::syntax::ast::{FunctionDef, Module};

/// A kernel file with what it imports.
pub struct Subject {
    pub module: Arc<Module>,
    pub sources: Sources,
    /// The kernel, where the file is a compiler's IR.
    pub compiled: Option<Verified<Kernel>>,
}

impl Subject {
    /// Reads a file. Errors: as [`Sources::open`] and [`compiled::read`].
    pub fn open(path: &Path) -> Result<Subject> {
        let (sources, compiled) = if compiled::is_ir(path) {
            let kernel = compiled::read(path)?;
            (Sources::single(compiled::module(&kernel)), Some(kernel))
        } else {
            (Sources::open(path, None)?, None)
        };
        Ok(Subject { module: Arc::new(sources.module().clone()), sources, compiled })
    }
}

/// A description, with one configuration.
pub struct Case {
    pub description: Description,
    pub config: Option<Config>,
}

/// A description once a configuration.
///
/// # Errors
/// U001 for a configuration that does not exist; what stops the evaluation of the list.
pub fn cases(subject: &mut Subject, description: Description, choice: ConfigChoice) -> Result<Vec<Case>> {
    let kernel = description.kernel.clone().unwrap_or_default();
    // What is compiled is so for one configuration.
    let found = if subject.compiled.is_some() { Decorators::default() } else { decorators(&mut subject.sources, &kernel)? };
    let configs = found.autotune.map(|autotune| autotune.configs).unwrap_or_default();
    let said = |config: &Config| config.kwargs.iter().all(|(name, _)| description.args.iter().any(|given| given.name == *name));
    let chosen = match choice {
        ConfigChoice::First if configs.iter().all(said) => Vec::new(),
        ConfigChoice::First => configs.into_iter().take(1).collect(),
        ConfigChoice::All => configs,
        ConfigChoice::Number(n) => match configs.into_iter().nth(n) {
            Some(config) => vec![config],
            None => {
                let function = entry::choose(&subject.module, Some(&kernel))?;
                let message = format!("`{kernel}` has no configuration {n}");
                let error = Diagnostic::new(&codes::USAGE, message).at(&subject.module.file, function.name_span);
                return Err(Box::new(
                    error.help("configurations of @triton.autotune are counted from 0; --config all takes each"),
                ));
            }
        },
    };
    if chosen.is_empty() {
        // What could not be read of the decorators matters only where something is missing.
        return match found.refused.into_iter().next() {
            Some(refused) if choice != ConfigChoice::First => Err(refused),
            Some(_) | None => Ok(vec![Case { description, config: None }]),
        };
    }
    Ok(chosen.into_iter().map(|config| Case { description: description.clone(), config: Some(config) }).collect())
}

/// `BLOCK=64, num_warps=4`.
pub fn label(config: &Config) -> String {
    let mut words: Vec<String> = config.kwargs.iter().map(|(name, spec)| format!("{name}={}", signature::text(spec))).collect();
    let options = [("num_warps", config.num_warps), ("num_stages", config.num_stages), ("num_ctas", config.num_ctas)];
    words.extend(options.iter().filter_map(|(name, value)| value.map(|value| format!("{name}={value}"))));
    words.extend(config.options.iter().map(|(name, value)| format!("{name}={value}")));
    words.join(", ")
}

/// What the heuristics of a kernel compute from its arguments.
pub fn heuristics(sources: &mut Sources, kernel: &str, scope: &Scope) -> Result<Vec<(String, ArgSpec)>> {
    if decorators(sources, kernel)?.heuristics.is_empty() {
        return Ok(Vec::new());
    }
    let meta = scope.values().filter_map(|(name, value)| {
        let meta = match value {
            Value::Tensor(operand) => {
                Meta::Tensor { dtype: operand.dtype, shape: operand.shape.iter().map(|&n| n as i64).collect() }
            }
            Value::Constant(constant) => Meta::Constant(constant.clone()),
            Value::Other(ArgSpec::Type(dtype)) => Meta::Type(*dtype),
            Value::Other(_) => return None,
        };
        Some((name.clone(), meta))
    });
    compute(sources, kernel, &meta.collect::<Vec<_>>())
}

/// Parameters that `do_not_specialize` names, by name or place.
pub fn not_specialised(sources: &mut Sources, function: &FunctionDef) -> Result<Vec<String>> {
    let jit = decorators(sources, &function.name)?.jit;
    let list = jit.into_iter().find(|(name, _)| name == "do_not_specialize").map(|(_, list)| list);
    let Some(Constant::Tuple(items)) = list else { return Ok(Vec::new()) };
    let name = |item: &Constant| match item {
        Constant::Str(name) => Some(name.clone()),
        other => {
            let at = usize::try_from(other.as_int()?).ok()?;
            function.params.get(at).map(|param| param.name.clone())
        }
    };
    Ok(items.iter().filter_map(name).collect())
}
