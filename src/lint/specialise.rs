//! Specialisations of a file's entry kernels, for the rules that need block sizes.
//!
//! Constexprs come from, the first that knows: the request (`--constexpr BM=64`), launches in the file
//! (`kernel[grid](…, BM=64)`), `# run:` comments, the configs of `@triton.autotune` (each a specialisation of its own), defaults
//! of parameters. Types come from the request (`--arg x_ptr=*fp16`), else from use: a parameter that an address
//! begins with is a pointer to fp32, one named like a small real number (`eps`, `scale`) is fp32, another an
//! int32. A note of each finding says which configuration it belongs to.
//!
//! Does not catch: configs and heuristics that ask for run-time values; then the kernel is not judged by these
//! rules, and that is said. Helpers of other files are refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::Request;
use super::flow;
use super::subject::{Function, Subject};
use crate::diag::{Diagnostic, codes};
use crate::dtype::DType;
use crate::kernel::lower::decorators::{self, Meta};
use crate::kernel::{ArgSpec, Kernel, Sources, Specialization, Target, Verified, compile_sources};
use crate::launch::description::{Argument, Given};
use crate::launch::resolve::{Besides, Value, resolve};
use crate::launch::{comments, signature};
use crate::source::Span;
use crate::syntax::{Constant, eval};

/// One entry kernel, specialised and lowered.
pub struct Lowered<'a> {
    pub name: &'a str,
    pub kernel: Arc<Verified<Kernel>>,
    pub num_warps: i64,
    pub num_stages: i64,
    /// Which of several configurations, for messages: `BM=64, num_warps=8`.
    pub configuration: String,
    pub uses_dot: bool,
    /// Of the kernel's name.
    pub span: Span,
}

/// Names that hold a real number in nearly every kernel that has them.
const REAL: &[&str] = &[
    "eps",
    "epsilon",
    "scale",
    "sm_scale",
    "alpha",
    "beta",
    "gamma",
    "momentum",
    "lr",
    "p",
    "dropout_p",
    "slope",
    "negative_slope",
];

/// What a config gives: constexprs, `num_warps`, `num_stages`.
type Config = BTreeMap<String, ArgSpec>;

/// The specialisations of every entry, and what stands in the way of the others.
pub fn all<'a>(subject: &Subject<'a>, request: &Request) -> (Vec<Lowered<'a>>, Vec<Diagnostic>) {
    let (mut lowered, mut problems) = (Vec::new(), Vec::new());
    let mut sources = Sources::single(subject.module.clone());
    for function in subject.functions.iter().filter(|f| f.entry && is_kernel(f)) {
        let mut told = BTreeSet::new();
        for config in configs(subject, function, request, &mut sources) {
            match one(subject, function, &config, request, &mut sources) {
                Ok(kernel) => lowered.push(kernel),
                Err(problem) => {
                    if told.insert(problem.message.clone()) {
                        problems.push(*problem);
                    }
                }
            }
        }
    }
    (lowered, problems)
}

/// A helper that nobody calls returns something; a kernel does not.
fn is_kernel(function: &Function<'_>) -> bool {
    let mut returns = false;
    crate::syntax::walk::each_stmt(&function.def.body, &mut |stmt| {
        returns |= matches!(stmt.kind, crate::syntax::ast::StmtKind::Return(Some(_)));
    });
    !returns
}

fn configs(subject: &Subject<'_>, function: &Function<'_>, request: &Request, sources: &mut Sources) -> Vec<Config> {
    let given =
        request.args.iter().filter(|(_, spec)| matches!(spec, ArgSpec::Constexpr(_) | ArgSpec::Type(_) | ArgSpec::Function(_)));
    let base: Config = given.cloned().collect();
    let constant = |(name, value): (&&str, &Constant)| ((*name).to_owned(), ArgSpec::Constexpr(value.clone()));
    let launches = subject.launches.iter().filter(|launch| launch.kernel == function.def.name);
    let mut of_launches: Vec<Config> = launches.map(|launch| launch.named.iter().map(constant).collect()).collect();
    of_launches.extend(runs(subject, function));
    // What cannot be evaluated leaves constexprs without values, and that is said.
    let decorators = decorators::decorators(sources, &function.def.name).unwrap_or_default();
    let of_autotune: Vec<Config> = decorators.autotune.iter().flat_map(|a| &a.configs).map(of_config).collect();
    let mut all: Vec<Config> = match (of_autotune.is_empty(), of_launches.is_empty()) {
        (false, _) => {
            // A launch gives what the configs leave open.
            let rest = of_launches.into_iter().next().unwrap_or_default();
            of_autotune.into_iter().map(|config| rest.clone().into_iter().chain(config).collect()).collect()
        }
        (true, false) => of_launches,
        (true, true) => vec![Config::new()],
    };
    for config in &mut all {
        config.extend(base.clone());
        if !decorators.heuristics.is_empty() {
            let meta: Vec<(String, Meta)> = config.iter().filter_map(|(name, spec)| Some((name.clone(), meta(spec)?))).collect();
            config.extend(decorators::heuristics(sources, &function.def.name, &meta).unwrap_or_default());
        }
    }
    all.dedup();
    all
}

/// What `# run:` comments say of the kernel: its constexprs, and the types of its pointers. A description that cannot
/// be read is a matter of `emulate`.
fn runs(subject: &Subject<'_>, function: &Function<'_>) -> Vec<Config> {
    let described = comments::read(subject.module, Path::new("")).unwrap_or_default();
    let own = described.iter().filter(|run| run.kernel.as_ref() == Some(&function.def.name));
    let functions: Vec<&str> = subject.functions.iter().map(|f| f.def.name.as_str()).collect();
    own.map(|run| {
        // Sizes that are said by other sizes: `BLOCK: next_power_of_2(n)`, `D: x_ptr.shape[1]`.
        let besides = Besides { config: &[], computed: &mut |_| Ok(Vec::new()), functions: &functions };
        if let Ok(resolved) = resolve(function.def, run, besides) {
            let spec = |name: &str, value: &Value| match value {
                Value::Tensor(operand) => Some(ArgSpec::Pointer(operand.dtype)),
                Value::Constant(value) if is_constexpr(subject, function, name) => Some(ArgSpec::Constexpr(value.clone())),
                Value::Other(spec) if is_constexpr(subject, function, name) => Some(spec.clone()),
                Value::Constant(_) | Value::Other(_) => None,
            };
            return resolved.args.iter().filter_map(|(name, value)| Some((name.clone(), spec(name, value)?))).collect();
        }
        let spec = |given: &Given| match &given.argument {
            Argument::Tensor(tensor) => tensor.dtype.map(ArgSpec::Pointer),
            Argument::Value(value) if is_constexpr(subject, function, &given.name) => {
                eval::evaluate(&value.file, &value.expr, &subject.constants).ok().map(ArgSpec::Constexpr)
            }
            Argument::Value(_) => None,
        };
        run.args.iter().filter_map(|given| Some((given.name.clone(), spec(given)?))).collect()
    })
    .collect()
}

fn is_constexpr(subject: &Subject<'_>, function: &Function<'_>, param: &str) -> bool {
    function.constexprs.contains(param) || (subject.dialect && flow::is_size(subject, function, param))
}

fn of_config(config: &decorators::Config) -> Config {
    let number = |name: &str, value: Option<i64>| value.map(|n| (name.to_owned(), ArgSpec::Constexpr(Constant::Int(n))));
    let warps = [number("num_warps", config.num_warps), number("num_stages", config.num_stages)];
    config.kwargs.iter().cloned().chain(warps.into_iter().flatten()).collect()
}

fn meta(spec: &ArgSpec) -> Option<Meta> {
    match spec {
        ArgSpec::Constexpr(value) => Some(Meta::Constant(value.clone())),
        ArgSpec::Type(dtype) => Some(Meta::Type(*dtype)),
        _ => None,
    }
}

fn one<'a>(
    subject: &Subject<'a>,
    function: &Function<'a>,
    config: &Config,
    request: &Request,
    sources: &mut Sources,
) -> Result<Lowered<'a>, Box<Diagnostic>> {
    let pointers = flow::bases(subject, function);
    let mut args = Vec::new();
    let mut missing = Vec::new();
    for param in &function.def.params {
        let name = param.name.as_str();
        let constexpr = is_constexpr(subject, function, name);
        if let Some((_, given)) = request.args.iter().find(|(known, _)| known == name) {
            args.push((name.to_owned(), given.clone()));
        } else if let Some(value) = config.get(name) {
            args.push((name.to_owned(), value.clone()));
        } else if let Some(default) = &param.default {
            if eval::evaluate(&subject.module.file, default, &subject.constants).is_err() {
                missing.push(name);
            }
        } else if constexpr {
            missing.push(name);
        } else if pointers.contains(name) || name.ends_with("_ptr") {
            args.push((name.to_owned(), ArgSpec::Pointer(DType::F32)));
        } else if REAL.contains(&name) {
            args.push((name.to_owned(), ArgSpec::Float));
        } else {
            args.push((name.to_owned(), ArgSpec::Int { bits: 32 }));
        }
    }
    if !missing.is_empty() {
        let message =
            format!("`{}` is not judged by rules that need block sizes: no value for {}", function.def.name, missing.join(", "));
        let given: Vec<String> = missing.iter().map(|name| format!("--constexpr {name}=64")).collect();
        let diagnostic = Diagnostic::new(&codes::KERNEL_ARGUMENTS, message)
            .severity(crate::diag::Severity::Advice)
            .at(&subject.module.file, function.def.name_span)
            .help(format!("give them: {}", given.join(" ")));
        return Err(Box::new(diagnostic));
    }
    // A block of another size is a finding of its own (G004).
    let spec = Specialization { args, target: Target { power_of_two: false, ..Target::of(request.target) } };
    let kernel = compile_sources(sources, &function.def.name, &spec).map_err(|mut error| {
        // What we cannot lower is no fault of the kernel.
        if error.class() != crate::diag::Class::Bug {
            error.severity = crate::diag::Severity::Advice;
            error.notes.push(format!("`{}` is not judged by rules that need block sizes", function.def.name));
        }
        error
    })?;
    let int = |name: &str, otherwise: i64| match config.get(name) {
        Some(ArgSpec::Constexpr(Constant::Int(i))) => *i,
        _ => otherwise,
    };
    let shown: Vec<String> = config.iter().map(|(name, value)| format!("{name}={}", signature::text(value))).collect();
    let uses_dot = super::live::uses_dot(&kernel);
    Ok(Lowered {
        name: &function.def.name,
        kernel: Arc::new(kernel),
        num_warps: int("num_warps", request.num_warps),
        num_stages: int("num_stages", request.num_stages),
        configuration: shown.join(", "),
        uses_dot,
        span: function.def.name_span,
    })
}
