//! What stands above a kernel, as data: `@triton.autotune` with its configurations, `@triton.heuristics`, the options of
//! `@triton.jit`, and the names of decorators that are somebody else's.
//!
//! Configurations are evaluated as Python's (`module_level`): lists, comprehensions, functions of the module
//! that return them. Heuristics are functions of META, the arguments and constexprs by name; [`heuristics`] calls them.
//!
//! Does not catch: configurations that are pruned when a kernel is launched (`prune_configs_by`), hooks, and what foreign
//! decorators change.

use super::call::Arg;
use super::sources::{Modules, Sources};
use super::types::Scalar;
use super::value::Val;
use super::{ArgSpec, Lower, Target};
use crate::diag::{Diagnostic, Result};
use crate::dtype::DType;
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::{Expr, ExprKind, Keyword};

/// All that is known of the decorators of one kernel.
#[derive(Clone, Debug, Default)]
pub struct Decorators {
    pub autotune: Option<Autotune>,
    /// Constexprs that functions of META compute, in the order of their evaluation.
    pub heuristics: Vec<String>,
    /// Keyword arguments of `@triton.jit` that are known: `do_not_specialize`, `noinline`, `debug`, …
    pub jit: Vec<(String, Constant)>,
    /// Decorators that are not Triton's, by name.
    pub others: Vec<(String, Span)>,
    /// What could not be evaluated, and why.
    pub refused: Vec<Box<Diagnostic>>,
}

/// `@triton.autotune`.
#[derive(Clone, Debug, PartialEq)]
pub struct Autotune {
    pub configs: Vec<Config>,
    /// Names of the arguments whose change asks for another choice.
    pub key: Vec<String>,
}

/// One `triton.Config`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Constexprs by name, in the order in which they are written.
    pub kwargs: Vec<(String, ArgSpec)>,
    pub num_warps: Option<i64>,
    pub num_stages: Option<i64>,
    pub num_ctas: Option<i64>,
    /// `maxnreg` and the like.
    pub options: Vec<(String, Constant)>,
}

/// An argument as a heuristic sees it.
#[derive(Clone, Debug, PartialEq)]
pub enum Meta {
    /// A number, string, None or tuple.
    Constant(Constant),
    /// A type, such as a constexpr may be.
    Type(DType),
    Tensor {
        dtype: DType,
        shape: Vec<i64>,
    },
}

/// The decorators of a kernel. Error: K004 when there is no such kernel.
pub fn decorators(sources: &mut Sources, entry: &str) -> Result<Decorators> {
    sources.with(|modules| {
        let function = modules.names(0).entry(modules.module(0), entry)?;
        let mut lower = Lower::new(modules, Target::default());
        let mut all = Decorators::default();
        for decorator in &function.decorators {
            lower.at_module(decorator.span, 0, |l| l.decorator(decorator, &mut all))?;
        }
        Ok(all)
    })
}

/// The constexprs that the heuristics of a kernel compute from META; each may use those before it.
///
/// Errors: K004 when there is no such kernel, K001 for what is not known at compile time.
pub fn heuristics(sources: &mut Sources, entry: &str, meta: &[(String, Meta)]) -> Result<Vec<(String, ArgSpec)>> {
    sources.with(|modules| {
        let function = modules.names(0).entry(modules.module(0), entry)?;
        let mut lower = Lower::new(modules, Target::default());
        let mut known: Vec<(Constant, Val<'_>)> =
            meta.iter().map(|(name, value)| (Constant::Str(name.clone()), value_of(value))).collect();
        let mut computed = Vec::new();
        for decorator in &function.decorators {
            if name_of(modules, decorator).is_some_and(|(_, kind)| kind == "heuristics") {
                lower.at_module(decorator.span, 0, |l| l.run_heuristics(decorator, &mut known, &mut computed))?;
            }
        }
        Ok(computed)
    })
}

fn value_of(meta: &Meta) -> Val<'static> {
    match meta {
        Meta::Constant(constant) => Val::constant(constant.clone()),
        Meta::Type(dtype) => Val::Type(Scalar::Num(*dtype)),
        Meta::Tensor { dtype, shape } => Val::HostTensor(*dtype, shape.clone()),
    }
}

/// The full name of a decorator and the last part of it.
fn name_of(modules: &Modules<'_>, decorator: &Expr) -> Option<(String, String)> {
    let path = modules.names(0).decorator(decorator)?;
    let last = path.rsplit('.').next().unwrap_or(&path).to_owned();
    Some((path, last))
}

/// Arguments of a decorator by name: those that are written with it, and those given by place.
fn argument<'e>(decorator: &'e Expr, place: usize, name: &str) -> Option<&'e Expr> {
    let ExprKind::Call { args, keywords, .. } = &decorator.kind else { return None };
    let by_name = keywords.iter().find(|k| k.name.as_deref() == Some(name)).map(|k: &Keyword| &k.value);
    by_name.or_else(|| args.get(place))
}

impl<'a> Lower<'a, '_> {
    fn decorator(&mut self, decorator: &'a Expr, all: &mut Decorators) -> Result<()> {
        let Some((path, last)) = name_of(self.modules, decorator) else {
            let callee = match &decorator.kind {
                ExprKind::Call { func, .. } => func,
                _ => decorator,
            };
            let name = callee.as_dotted().unwrap_or_else(|| "?".to_owned());
            all.others.push((name, decorator.span));
            return Ok(());
        };
        match last.as_str() {
            "autotune" | "libtuner" => match self.autotune(decorator) {
                Ok(autotune) => all.autotune = Some(autotune),
                Err(error) => self.note(error, all)?,
            },
            "heuristics" => match self.heuristic_names(decorator) {
                Ok(names) => all.heuristics.extend(names),
                Err(error) => self.note(error, all)?,
            },
            "jit" if path.starts_with("triton.") => {
                let ExprKind::Call { keywords, .. } = &decorator.kind else { return Ok(()) };
                for keyword in keywords {
                    let Some(name) = &keyword.name else { continue };
                    match self.expr(&keyword.value).map(|value| value.to_constant()) {
                        Ok(Some(constant)) => all.jit.push((name.clone(), constant)),
                        Ok(None) => {}
                        Err(error) => self.note(error, all)?,
                    }
                }
            }
            _ => all.others.push((path, decorator.span)),
        }
        Ok(())
    }

    /// Keeps a refusal, unless it only says that a file must be read first.
    fn note(&self, error: Box<Diagnostic>, all: &mut Decorators) -> Result<()> {
        if self.modules.is_waiting() {
            return Err(error);
        }
        all.refused.push(error);
        Ok(())
    }

    fn autotune(&mut self, decorator: &'a Expr) -> Result<Autotune> {
        let Some(configs) = argument(decorator, 0, "configs") else {
            return Err(self.unsupported(decorator.span, "an autotune without `configs`"));
        };
        let value = self.expr(configs)?;
        let Val::Tuple(items) = value else {
            return Err(self.unsupported(configs.span, format!("{} as `configs`", value.describe())));
        };
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Val::Config(config) => list.push(*config),
                other => return Err(self.unsupported(configs.span, format!("{} among `configs`", other.describe()))),
            }
        }
        let mut key = Vec::new();
        if let Some(names) = argument(decorator, 1, "key")
            && let Some(Constant::Tuple(names)) = self.expr(names)?.to_constant()
        {
            key.extend(names.iter().filter_map(|name| name.as_str().map(str::to_owned)));
        }
        Ok(Autotune { configs: list, key })
    }

    /// `triton.Config(kwargs, num_warps=…, …)`.
    pub fn config(&mut self, span: Span, args: &[Arg<'a>], named: &[(&str, Arg<'a>)]) -> Result<Val<'a>> {
        const PLACES: [&str; 4] = ["kwargs", "num_warps", "num_stages", "num_ctas"];
        let mut config = Config::default();
        let placed = PLACES.iter().copied().zip(args);
        for (name, arg) in placed.chain(named.iter().map(|(name, arg)| (*name, arg))) {
            if name == "kwargs" {
                let Val::Dict(pairs) = &arg.val else {
                    return Err(self.type_error(arg.span, format!("{} as the constexprs of a Config", arg.val.describe())));
                };
                for (key, value) in pairs {
                    let (Constant::Str(key), Some(spec)) = (key, spec_of(value)) else {
                        return Err(self.unsupported(arg.span, format!("{} in a Config", value.describe())));
                    };
                    config.kwargs.push((key.clone(), spec));
                }
                continue;
            }
            let Some(value) = arg.val.to_constant() else {
                // `pre_hook=f` changes no constexpr.
                if name.ends_with("hook") {
                    continue;
                }
                return Err(self.unsupported(arg.span, format!("{} as `{name}` of a Config", arg.val.describe())));
            };
            match (name, value.as_int()) {
                ("num_warps", Some(n)) => config.num_warps = Some(n),
                ("num_stages", Some(n)) => config.num_stages = Some(n),
                ("num_ctas", Some(n)) => config.num_ctas = Some(n),
                _ => config.options.push((name.to_owned(), value)),
            }
        }
        if config.kwargs.is_empty() && args.is_empty() && !named.iter().any(|(name, _)| *name == "kwargs") {
            return Err(self.rejected(span, "a Config without constexprs"));
        }
        Ok(Val::Config(Box::new(config)))
    }

    fn heuristic_values(&mut self, decorator: &'a Expr) -> Result<Vec<(String, Val<'a>)>> {
        let Some(values) = argument(decorator, 0, "values") else {
            return Err(self.unsupported(decorator.span, "heuristics without values"));
        };
        let dict = self.expr(values)?;
        let Val::Dict(pairs) = dict else {
            return Err(self.unsupported(values.span, format!("{} as heuristics", dict.describe())));
        };
        Ok(pairs.into_iter().filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value))).collect())
    }

    fn heuristic_names(&mut self, decorator: &'a Expr) -> Result<Vec<String>> {
        Ok(self.heuristic_values(decorator)?.into_iter().map(|(name, _)| name).collect())
    }

    fn run_heuristics(
        &mut self,
        decorator: &'a Expr,
        known: &mut Vec<(Constant, Val<'a>)>,
        computed: &mut Vec<(String, ArgSpec)>,
    ) -> Result<()> {
        for (name, function) in self.heuristic_values(decorator)? {
            let meta = Val::Dict(known.clone());
            let value = match function {
                Val::Lambda(params, body) => self.call_lambda(params, body, vec![meta])?,
                Val::Host(function) => {
                    self.call_host(decorator.span, function, vec![Arg { val: meta, span: decorator.span }], Vec::new())?
                }
                other => return Err(self.unsupported(decorator.span, format!("{} as a heuristic", other.describe()))),
            };
            let Some(spec) = spec_of(&value) else {
                let message = format!("the heuristic of `{name}` gives {}", value.describe());
                return Err(self.unsupported(decorator.span, message));
            };
            known.retain(|(key, _)| key.as_str() != Some(&name));
            known.push((Constant::Str(name.clone()), value));
            computed.push((name, spec));
        }
        Ok(())
    }
}

/// A compile-time value as a parameter takes it.
fn spec_of(value: &Val<'_>) -> Option<ArgSpec> {
    match value {
        Val::Type(Scalar::Num(dtype)) => Some(ArgSpec::Type(*dtype)),
        other => other.to_constant().map(ArgSpec::Constexpr),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::render::render;
    use crate::source::SourceFile;
    use crate::syntax::parse_module;

    const TEXT: &str = "\
import os
import itertools
import triton
import triton.language as tl
from triton import Config

SIZES = [16, 32]
WARPS = (4, 8) if triton.__version__ >= '3.0.0' else (2,)

def configs(stages):
    found = []
    for bm in SIZES:
        found.append(triton.Config({'BM': bm, 'ACC': tl.float32}, num_stages=stages, num_warps=4))
    return found

def ceil_block(args):
    return triton.next_power_of_2(args['n'])

@triton.autotune(configs=[
    Config({'BM': bm, 'BN': bn}, num_warps=w, maxnreg=128)
    for bm, bn in itertools.product(SIZES, [64]) for w in WARPS if bm * w < 200
], key=['n', 'm'])
@triton.heuristics({
    'HAS_BIAS': lambda args: args['bias'] is not None,
    'BLOCK': ceil_block,
    'EVEN': lambda args: args['n'] % args['BLOCK'] == 0,
})
@triton.jit(do_not_specialize=['n'])
def first(x, bias, n, BM: tl.constexpr, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    pass

@libentry()
@triton.autotune(configs(3) + configs(2), key=[])
@triton.jit
def second(x):
    pass

@triton.autotune(configs=read_from_disk(), key=[])
@triton.jit
def third(x):
    pass
";

    fn sources() -> Sources {
        Sources::single(parse_module(&SourceFile::new("k.py", TEXT)).unwrap())
    }

    fn int(value: i64) -> ArgSpec {
        ArgSpec::Constexpr(Constant::Int(value))
    }

    #[test]
    fn configurations_are_pythons() {
        let mut sources = sources();
        let first = decorators(&mut sources, "first").unwrap();
        let autotune = first.autotune.unwrap();
        assert_eq!(autotune.key, ["n", "m"]);
        let shown: Vec<(i64, Vec<(String, ArgSpec)>)> =
            autotune.configs.iter().map(|c| (c.num_warps.unwrap(), c.kwargs.clone())).collect();
        let with = |bm| vec![("BM".to_owned(), int(bm)), ("BN".to_owned(), int(64))];
        assert_eq!(shown, [(4, with(16)), (8, with(16)), (4, with(32))]);
        assert_eq!(autotune.configs[0].options, [("maxnreg".to_owned(), Constant::Int(128))]);
        assert_eq!(first.heuristics, ["HAS_BIAS", "BLOCK", "EVEN"]);
        assert_eq!(first.jit[0].0, "do_not_specialize");
        assert!(first.refused.is_empty() && first.others.is_empty());

        let second = decorators(&mut sources, "second").unwrap();
        let stages: Vec<_> = second.autotune.unwrap().configs.iter().map(|c| (c.kwargs[0].1.clone(), c.num_stages)).collect();
        assert_eq!(stages, [(int(16), Some(3)), (int(32), Some(3)), (int(16), Some(2)), (int(32), Some(2))]);
        assert_eq!(second.others[0].0, "libentry");

        let third = decorators(&mut sources, "third").unwrap();
        assert!(third.autotune.is_none());
        assert!(render(&third.refused[0], false).contains("read_from_disk"));
    }

    #[test]
    fn heuristics_see_what_is_before_them() {
        let tensor = Meta::Tensor { dtype: DType::F32, shape: vec![100] };
        let number = |n| Meta::Constant(Constant::Int(n));
        let mut sources = sources();
        let meta = |bias: Meta, n| vec![("x".to_owned(), tensor.clone()), ("bias".to_owned(), bias), ("n".to_owned(), number(n))];
        let flag = |b| ArgSpec::Constexpr(Constant::Bool(b));
        let mut run = |bias: Meta, n| heuristics(&mut sources, "first", &meta(bias, n)).unwrap().into_iter().map(|(_, v)| v);
        assert_eq!(run(tensor.clone(), 100).collect::<Vec<_>>(), [flag(true), int(128), flag(false)]);
        assert_eq!(run(Meta::Constant(Constant::None), 64).collect::<Vec<_>>(), [flag(false), int(64), flag(true)]);
        let error = heuristics(&mut sources, "first", &[]).unwrap_err();
        assert_eq!(error.code.id, "K001", "{error}");
    }
}
