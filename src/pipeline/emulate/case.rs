//! One run: lower, fill, launch, compare.

use std::collections::BTreeMap;
use std::time::Instant;

use super::compare::compare;
use super::config::{self, Case, Subject};
use super::{Asked, Run, rounding};
use crate::diag::{Diagnostic, Place, Result, codes};
use crate::emulate::{self, Arg, BufferId, Checks, Memory, Options, Program, View};
use crate::kernel::{self, Kernel, Specialization, Target, Verified};
use crate::launch::description::{Description, Expected};
use crate::launch::entry;
use crate::launch::fill;
use crate::launch::formula::{Inputs, tensors_of};
use crate::launch::resolve::{Besides, Operand, Resolved, Scope, Value, resolve};
use crate::pipeline::{Cancel, compiled};
use crate::syntax::Constant;
use crate::tensor::Tensor;

/// Runs a description; everything that goes wrong is among the findings.
pub fn run(asked: &Asked, subject: &mut Subject, case: &Case, cancel: &Cancel) -> Run {
    let description = &case.description;
    let mut run = Run {
        name: description.name.clone(),
        kernel: description.kernel.clone().unwrap_or_default(),
        config: case.config.as_ref().map(config::label),
        grid: [1; 3],
        programs: 0,
        instructions: 0,
        wall_seconds: 0.0,
        findings: Vec::new(),
        compared: Vec::new(),
        stats: None,
        outputs: Vec::new(),
    };
    if let Err(error) = attempt(&mut run, asked, subject, case, cancel) {
        run.findings.push(*error);
    }
    run
}

/// A kernel and its arguments, ready to be launched.
pub struct Prepared {
    pub resolved: Resolved,
    pub program: Program,
    pub memory: Memory,
    pub args: Vec<Arg>,
}

/// The arguments of a description, and the kernel lowered for them.
pub fn lowered(asked: &Asked, subject: &mut Subject, case: &Case) -> Result<(Resolved, Verified<Kernel>)> {
    let description = &case.description;
    let module = subject.module.clone();
    let function = entry::choose(&module, description.kernel.as_deref())?;
    let functions: Vec<&str> = entry::jitted(&module).iter().map(|f| f.name.as_str()).collect();
    let kwargs = case.config.as_ref().map_or(&[][..], |config| &config.kwargs);
    let sources = &mut subject.sources;
    let compiled = subject.compiled.as_ref();
    let mut computed = |scope: &Scope| match compiled {
        Some(_) => Ok(Vec::new()),
        None => config::heuristics(sources, &function.name, scope),
    };
    let besides = Besides { config: kwargs, computed: &mut computed, functions: &functions };
    let resolved = resolve(function, description, besides).map_err(|mut error| {
        if error.code == &codes::LAUNCH_INCOMPLETE {
            error.related.push((Place::text(&module.file, function.name_span), "the kernel".to_owned()));
        }
        error
    })?;
    if let Some(kernel) = compiled {
        compiled::agree(kernel, &resolved, description)?;
        return Ok((resolved, kernel.clone()));
    }
    let constexprs = kernel::constexpr_params(&module, &function.name)?;
    let plain = config::not_specialised(sources, function)?;
    let num_warps = case.config.as_ref().and_then(|config| config.num_warps).and_then(|n| u32::try_from(n).ok());
    let device = Target::of(asked.target);
    let target = Target { num_warps: num_warps.unwrap_or(device.num_warps), ..device };
    let spec = Specialization { args: resolved.specs(&constexprs, &plain), target };
    let kernel = kernel::compile_sources(sources, &function.name, &spec)?;
    Ok((resolved, kernel))
}

/// Lowers the kernel and fills memory.
pub fn prepare(asked: &Asked, subject: &mut Subject, case: &Case) -> Result<Prepared> {
    let (resolved, kernel) = lowered(asked, subject, case)?;
    let program = Program::compile(&kernel)?;
    let memory = memory(&resolved, &program, asked.seed)?;
    let args = program.kernel.params.iter().map(|param| {
        let float = program.kernel.ty(param.value).elem.is_float();
        argument(&resolved, &param.name).map(|arg| match arg {
            Arg::Int(value) if float => Arg::Float(value as f64),
            arg => arg,
        })
    });
    let args = args.collect::<Result<Vec<Arg>>>()?;
    Ok(Prepared { resolved, program, memory, args })
}

fn memory(resolved: &Resolved, program: &Program, seed: u64) -> Result<Memory> {
    let mut memory = Memory::default();
    for (id, spec) in resolved.buffers.iter().enumerate() {
        let view = resolved.scope.operand(&spec.name).filter(|operand| operand.buffer == id);
        let view = view.expect("invariant: a buffer is viewed by the argument that it was made for");
        let uses = program
            .kernel
            .params
            .iter()
            .enumerate()
            .filter(|(_, param)| resolved.operand(&param.name).is_some_and(|operand| operand.buffer == id));
        let uses: Vec<usize> = uses.map(|(at, _)| at).collect();
        let only_stored = uses.iter().any(|&at| program.stores[at]) && !uses.iter().any(|&at| program.loads[at]);
        match fill::buffer(spec, view, &resolved.scope, only_stored, seed)? {
            Some(lanes) => memory.insert_as(&spec.name, spec.dtype, lanes),
            None => memory.allocate(&spec.name, spec.dtype, spec.len),
        };
    }
    Ok(memory)
}

/// What the emulator lets a pointer made of this tensor touch.
fn view(operand: &Operand) -> View {
    View {
        buffer: BufferId(operand.buffer),
        pointer: operand.offset,
        shape: operand.shape.clone(),
        strides: operand.strides.clone(),
        origin: operand.offset,
    }
}

fn argument(resolved: &Resolved, name: &str) -> Result<Arg> {
    let value = resolved.args.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    Ok(match value {
        Some(Value::Tensor(operand)) => Arg::Pointer(view(operand)),
        Some(Value::Constant(Constant::Int(value))) => Arg::Int(*value),
        Some(Value::Constant(Constant::Bool(value))) => Arg::Int((*value).into()),
        Some(Value::Constant(Constant::Float(value))) => Arg::Float(*value),
        Some(Value::Constant(Constant::Str(_) | Constant::None | Constant::Tuple(_)) | Value::Other(_)) | None => {
            let message = format!("`{name}` is a run-time parameter without a run-time value");
            return Err(Box::new(Diagnostic::new(&codes::INTERNAL, message)));
        }
    })
}

/// How the emulator is asked to run.
pub fn options(asked: &Asked, cancel: &Cancel) -> Options {
    let plain = Options::default();
    Options {
        threads: asked.threads,
        dense: asked.dense,
        fuel: asked.fuel.unwrap_or(plain.fuel),
        memory: asked.memory.unwrap_or(plain.memory),
        cancel: Some(cancel.flag()),
        checks: if asked.warnings { Checks::watchful() } else { plain.checks },
        ..plain
    }
}

fn attempt(run: &mut Run, asked: &Asked, subject: &mut Subject, case: &Case, cancel: &Cancel) -> Result<()> {
    let description = &case.description;
    let Prepared { resolved, program, mut memory, args } = prepare(asked, subject, case)?;
    run.grid = resolved.grid;
    let before = named_tensors(description, &resolved, &memory);
    let started = Instant::now();
    let options = options(asked, cancel);
    let report = emulate::run(&program, &mut memory, resolved.grid, &args, &options);
    run.wall_seconds = started.elapsed().as_secs_f64();
    let report = report?;
    run.programs = report.programs;
    run.instructions = report.instructions;
    run.findings.extend(report.findings);
    let mut incomplete = Vec::new();
    for (at, param) in program.kernel.params.iter().enumerate().filter(|(at, _)| program.stores[*at]) {
        let Arg::Pointer(view) = &args[at] else { continue };
        if let Some(missing) = emulate::coverage(&memory, view, options.checks) {
            incomplete.push(param.name.to_string());
            run.findings.push(missing.at(&program.kernel.source, param.span));
        }
        if let Some(operand) = resolved.operand(&param.name) {
            run.outputs.push((param.name.to_string(), fill::gather(memory.lanes(BufferId(operand.buffer)), operand)));
        }
    }
    let inputs = Inputs { tensors: before, scope: &resolved.scope, rounding: rounding::of(&program.kernel) };
    for expect in &description.expect {
        match compare(expect, &inputs, &resolved, &memory) {
            // Of elements that nothing wrote nothing more is said.
            Ok(_) if incomplete.contains(&expect.name) => {}
            Ok((compared, fault)) => {
                run.compared.push(compared);
                run.findings.extend(fault.map(|fault| with_stores(fault, &program.kernel, &expect.name)));
            }
            Err(error) => run.findings.push(*error),
        }
    }
    Ok(())
}

/// Lines that a wrong value may come from are named; more of them say nothing.
const STORES: usize = 4;

/// A wrong value's message, with the lines of the kernel that store to its tensor.
fn with_stores(mut fault: Diagnostic, kernel: &Kernel, name: &str) -> Diagnostic {
    if let Some(at) = kernel.params.iter().position(|param| &*param.name == name) {
        let places = emulate::stored_at(kernel, at);
        if places.len() <= STORES {
            fault.related.extend(places.into_iter().map(|span| (Place::text(&kernel.source, span), "stored here".to_owned())));
        }
    }
    fault
}

/// The tensors that formulas name, as they are before the launch.
fn named_tensors(description: &Description, resolved: &Resolved, memory: &Memory) -> BTreeMap<String, Tensor> {
    let formulas = description.expect.iter().filter_map(|expect| match &expect.value {
        Expected::Formula(formula) => Some(formula),
        Expected::File(_) => None,
    });
    let names = formulas.flat_map(|formula| tensors_of(formula, &resolved.scope));
    let gathered = names.filter_map(|name| {
        let operand = resolved.scope.operand(&name)?;
        Some((name, fill::gather(memory.lanes(BufferId(operand.buffer)), operand)))
    });
    gathered.collect()
}
