//! Schedule, grid and arguments of a binding's launches, each number with the host text that computes it.

use super::address::{has_logical_shape, internal, size_text};
use super::axes::affine_stride;
use super::bound::{Argument, ArgumentValue, BoundLaunch, HostInt, Operand};
use super::environment::Env;
use super::expression::Expression;
use super::lists::FinalParam;
use super::problem::{Problem, linear};
use crate::diag::{Diagnostic, Result, codes};
use crate::syntax::Constant;
use crate::target::{Precision, Target};

/// One launch that binding makes.
#[derive(Clone, Debug)]
pub struct Chosen {
    pub function: String,
    pub work: i64,
    pub work_text: Expression,
    /// Programs of a looped launch.
    pub programs: Option<i64>,
}

/// The values of everything a launch names.
pub struct Setting {
    pub env: Env,
    /// Constexprs of the schedule.
    pub scheduled: Vec<String>,
    pub launches: Vec<Chosen>,
    pub num_warps: u32,
    pub num_stages: u32,
}

impl Setting {
    /// What the schedule chose.
    pub fn blocks(&self) -> Vec<(String, i64)> {
        let value = |name: &String| Some((name.clone(), self.env.get(name)?.as_int()?));
        let counts = [("num_warps", self.num_warps), ("num_stages", self.num_stages)];
        let counts = counts.into_iter().map(|(name, count)| (name.to_owned(), count.into()));
        self.scheduled.iter().filter_map(value).chain(counts).collect()
    }

    pub fn entries(&self) -> Vec<&str> {
        self.launches.iter().map(|l| l.function.as_str()).collect()
    }
}

/// Evaluates `args`, the schedule (but for blocks that are given) and the launches.
pub fn setting(
    problem: &Problem,
    mut env: Env,
    target: &Target,
    precision: Precision,
    blocks: &[(String, i64)],
) -> Result<Setting> {
    let given = |name: &str| blocks.iter().find(|(known, _)| known == name).map(|&(_, value)| value);
    let manifest = &problem.template.manifest;
    if !manifest.precision.is_empty() {
        if !manifest.precision.contains(&precision) || !target.precisions.contains(&precision) {
            let known: Vec<&str> =
                manifest.precision.iter().filter(|p| target.precisions.contains(p)).map(|p| p.name()).collect();
            let message = format!("template {} has no {precision} dot on {}", problem.template.name, target.name);
            return Err(Box::new(
                Diagnostic::new(&codes::TEMPLATE_NONE, message).help(format!("choose --precision {}", known.join(" or "))),
            ));
        }
        env.set("PRECISION", Constant::Str(precision.name().to_owned()));
    }
    for (name, expression) in &manifest.args {
        let value = expression.evaluate(&env)?;
        env.set(name, value);
    }
    let mut entry = None;
    for candidate in &problem.template.schedule {
        let here = candidate.targets.is_empty() || candidate.targets.iter().any(|t| t == target.name);
        if here && candidate.when.as_ref().map_or(Ok(true), |when| when.truth(&env))? {
            entry = Some(candidate);
            break;
        }
    }
    let entry = entry.ok_or_else(|| internal("a schedule without a last entry that fits all"))?;
    let mut scheduled = Vec::new();
    for (name, expression) in &entry.set {
        let value = given(name).map_or_else(|| expression.evaluate(&env), |value| Ok(Constant::Int(value)))?;
        env.set(name, value);
        scheduled.push(name.clone());
    }
    let count = |name: &str, expression: &Expression| -> Result<u32> {
        let value = given(name).map_or_else(|| expression.int(&env), Ok)?;
        u32::try_from(value).ok().filter(|&n| n > 0).ok_or_else(|| expression.error(format!("{value} is no count")))
    };
    let (num_warps, num_stages) = (count("num_warps", &entry.num_warps)?, count("num_stages", &entry.num_stages)?);
    let mut launches = Vec::new();
    for spec in &manifest.launches {
        if !spec.when.as_ref().map_or(Ok(true), |when| when.truth(&env))? {
            continue;
        }
        let work = spec.work.int(&env)?;
        let limit = target.cores(problem.template.kernel.uses_dot).map(i64::from);
        let programs = match limit {
            Some(cores) => Some(cores.min(work)),
            None if work > target.max_grid as i64 => Some(target.max_grid as i64),
            None => None,
        };
        let function = if programs.is_some() { format!("{}_loop", spec.kernel) } else { spec.kernel.clone() };
        launches.push(Chosen { function, work, work_text: spec.work.clone(), programs });
    }
    if launches.is_empty() {
        return Err(Box::new(
            Diagnostic::new(&codes::TEMPLATE_INVALID, "no launch of the template fits this problem")
                .in_file(manifest.file.name()),
        ));
    }
    Ok(Setting { env, scheduled, launches, num_warps, num_stages })
}

/// One launch with its arguments in the order of the kernel's parameters.
pub fn bound(
    problem: &Problem,
    setting: &Setting,
    chosen: &Chosen,
    params: &[FinalParam],
    added: &[(String, ArgumentValue)],
    operands: &[Operand],
) -> Result<BoundLaunch> {
    let mut locals = Locals { problem, setting, list: Vec::new() };
    for param in params.iter().filter(|p| !p.constexpr) {
        locals.need(&param.name);
    }
    chosen.work_text.names().into_iter().for_each(|name| locals.need(name));
    let work = match chosen.work_text.host_text() {
        Some(text) => HostInt { value: chosen.work, text },
        None => literal(chosen.work),
    };
    let grid = match chosen.programs {
        None => work,
        Some(programs) => {
            locals.list.push(("WORK".to_owned(), work));
            let text = if programs == chosen.work { "WORK".to_owned() } else { format!("min(WORK, {programs})") };
            HostInt { value: programs, text }
        }
    };
    let mut args = Vec::new();
    for param in params {
        let value = match added.iter().find(|(name, _)| *name == param.name) {
            Some((_, value)) => value.clone(),
            None => argument(problem, setting, &locals, chosen, param, operands)?,
        };
        args.push(Argument { param: param.name.clone(), value });
    }
    Ok(BoundLaunch {
        function: chosen.function.clone(),
        locals: locals.list,
        grid: [grid, literal(1), literal(1)],
        args,
        num_warps: setting.num_warps,
        num_stages: setting.num_stages,
    })
}

fn literal(value: i64) -> HostInt {
    HostInt { value, text: value.to_string() }
}

fn argument(
    problem: &Problem,
    setting: &Setting,
    locals: &Locals<'_>,
    chosen: &Chosen,
    param: &FinalParam,
    operands: &[Operand],
) -> Result<ArgumentValue> {
    let name = param.name.as_str();
    if let Some(stem) = name.strip_suffix("_ptr") {
        let position = operands.iter().position(|o| o.name == stem);
        return position.map(ArgumentValue::Pointer).ok_or_else(|| unknown(problem, name));
    }
    if let Some((stem, dim)) = name.split_once("_stride_") {
        return stride(problem, stem, dim).map(ArgumentValue::Int).ok_or_else(|| unknown(problem, name));
    }
    if name == "WORK" {
        return Ok(ArgumentValue::Int(HostInt { value: chosen.work, text: "WORK".to_owned() }));
    }
    let int = |value: i64| {
        let local = locals.list.iter().any(|(local, _)| local == name);
        let host = if local { HostInt { value, text: name.to_owned() } } else { literal(value) };
        if param.constexpr { ArgumentValue::Constexpr(host) } else { ArgumentValue::Int(host) }
    };
    match setting.env.get(name) {
        Some(Constant::Int(value)) => Ok(int(*value)),
        Some(Constant::Bool(value)) => Ok(int((*value).into())),
        Some(Constant::Float(value)) if param.constexpr => Ok(ArgumentValue::ConstexprFloat(*value)),
        Some(Constant::Str(value)) if param.constexpr => Ok(ArgumentValue::ConstexprStr(value.clone())),
        Some(_) | None => Err(unknown(problem, name)),
    }
}

fn unknown(problem: &Problem, name: &str) -> Box<Diagnostic> {
    let kernel = &problem.template.kernel;
    let message = format!("nothing gives the kernel's parameter `{name}` a value");
    let help = "name it after an operand, axis, attribute or schedule key, or give it under `args:`";
    let place = kernel.functions.iter().flat_map(|f| &f.params).find(|p| p.name == name).map(|p| p.span);
    let diagnostic = Diagnostic::new(&codes::TEMPLATE_INVALID, message).help(help);
    Box::new(match place {
        Some(span) => diagnostic.at(&kernel.file, span),
        None => diagnostic.in_file(kernel.file.name()),
    })
}

/// `x_stride_h`: an operand's stride along one entry of its access.
fn stride(problem: &Problem, stem: &str, dim: &str) -> Option<HostInt> {
    let operand = problem.operands.iter().find(|o| o.stem() == stem)?;
    let entry = operand.dims.iter().position(|d| d.name == dim)?;
    let range = operand.ranges[entry].clone();
    let line = linear(&operand.index, &operand.layout, operand.shape.len());
    let (value, inner) = match &operand.dims[entry].index {
        Some(_) => (line.coefs[range.start], Some(range.start)),
        None => {
            let axis = problem.axis(dim)?;
            let coefs = problem.over_members(operand, axis, &line.coefs);
            let value = affine_stride(&coefs, &problem.axes[axis].sizes)?;
            let inner = range
                .clone()
                .filter(|&d| operand.shape[d] > 1)
                .filter_map(|d| problem.member(operand, axis, d).map(|m| (m, d)))
                .max()
                .map(|(_, d)| d);
            // An axis of one element: any stride serves, the tensor's own reads best.
            let one = problem.axes[axis].size() == 1;
            match range.clone().last().filter(|_| one && !range.is_empty()) {
                Some(d) => (line.coefs[d], Some(d)),
                None => (value, inner),
            }
        }
    };
    let contiguous = operand.layout.is_contiguous();
    let text = inner.filter(|_| contiguous).and_then(|d| line.source[d]).map(|axis| format!("{stem}.stride({axis})"));
    Some(HostInt { value, text: text.unwrap_or_else(|| value.to_string()) })
}

/// Names that the wrapper defines, what they need first.
struct Locals<'a> {
    problem: &'a Problem,
    setting: &'a Setting,
    list: Vec<(String, HostInt)>,
}

impl Locals<'_> {
    fn need(&mut self, name: &str) {
        if self.list.iter().any(|(known, _)| known == name) {
            return;
        }
        let Some(value) = self.setting.env.get(name).and_then(Constant::as_int) else { return };
        let manifest = &self.problem.template.manifest;
        let text = match manifest.args.iter().find(|(arg, _)| arg == name) {
            Some((_, expression)) => {
                expression.names().into_iter().for_each(|n| self.need(n));
                expression.host_text()
            }
            None => self.size(name),
        };
        self.list.push((name.to_owned(), HostInt { value, text: text.unwrap_or_else(|| value.to_string()) }));
    }

    /// A size as the shape of a tensor of the wrapper.
    fn size(&self, name: &str) -> Option<String> {
        let problem = self.problem;
        if self.setting.scheduled.iter().any(|s| s == name) || problem.attributes.contains_key(name) {
            return None;
        }
        let axis = problem.axes.iter().position(|a| a.name.to_ascii_uppercase() == name);
        if let Some(axis) = axis {
            return size_text(problem, axis, 0..problem.axes[axis].sizes.len());
        }
        for operand in &problem.operands {
            if !has_logical_shape(operand) {
                continue;
            }
            let entry = operand.dims.iter().position(|d| d.index.is_some() && d.name.to_ascii_uppercase() == name);
            if let Some(entry) = entry {
                return Some(format!("{}.shape[{}]", operand.stem(), operand.ranges[entry].start));
            }
        }
        None
    }
}
