//! A recording as the emulator takes it: the kernel lowered for the recorded types, memory, arguments.

use super::recording::{Argument, Placed, Recording};
use crate::diag::{Diagnostic, Result, codes};
use crate::emulate::{Arg, BufferId, Memory, Program, View};
use crate::kernel::{self, ArgSpec, Kernel, Sources, Specialization, Target, Verified};
use crate::launch::{entry, signature};
use crate::pipeline::emulate::not_specialised;
use crate::syntax::Constant;

/// Ready to run.
pub struct Prepared {
    pub program: Program,
    pub args: Vec<Arg>,
}

/// Lowers the kernel.
///
/// # Errors
/// What stops the kernel on its way to the verified IR.
pub fn prepare(recording: &Recording) -> Result<Prepared> {
    let kernel = lower(recording)?;
    let program = Program::compile(&kernel)?;
    let mut given = Vec::new();
    for (name, argument) in &recording.arguments {
        run_time(name, argument, &mut given);
    }
    let argument = |name: &str| {
        let found = given.iter().find(|(known, _)| known == name).map(|(_, arg)| arg.clone());
        found.ok_or_else(|| {
            let message = format!("`{name}` is a run-time parameter without a run-time value");
            Box::new(Diagnostic::new(&codes::KERNEL_ARGUMENTS, message).in_file(recording.folder.display().to_string()))
        })
    };
    let args = program.kernel.params.iter().map(|param| argument(&param.name)).collect::<Result<_>>()?;
    Ok(Prepared { program, args })
}

fn lower(recording: &Recording) -> Result<Verified<Kernel>> {
    let mut sources = Sources::open(&recording.folder.join("kernel.py"), Some(&recording.folder))?;
    let module = sources.module().clone();
    let function = entry::choose(&module, Some(&recording.kernel))?;
    let constexprs = kernel::constexpr_params(&module, &function.name)?;
    let plain = not_specialised(&mut sources, function)?;
    let args = recording.arguments.iter().map(|(name, argument)| {
        let spec = spec(argument, constexprs.contains(name), plain.contains(name))?;
        Ok((name.clone(), spec))
    });
    let plain_target = Target::default();
    let target = Target { num_warps: recording.num_warps.unwrap_or(plain_target.num_warps), ..plain_target };
    let spec = Specialization { args: args.collect::<Result<_>>()?, target };
    kernel::compile_sources(&mut sources, &function.name, &spec)
}

/// What is known of an argument at compile time.
fn spec(argument: &Argument, constexpr: bool, plain: bool) -> Result<ArgSpec> {
    Ok(match argument {
        Argument::Tensor(view) => ArgSpec::Pointer(view.dtype),
        Argument::Descriptor(view, block) => ArgSpec::Descriptor { dtype: view.dtype, block: block.clone() },
        Argument::Tuple(items) => ArgSpec::Tuple(items.iter().map(|item| spec(item, constexpr, plain)).collect::<Result<_>>()?),
        Argument::Function(name) => ArgSpec::Function(name.clone()),
        Argument::Python(text) => signature::argument(text)?,
        Argument::Unsigned(_) => ArgSpec::Unsigned { bits: 64 },
        Argument::Constant(value) if constexpr => ArgSpec::Constexpr(value.clone()),
        Argument::Constant(Constant::Int(1)) if plain => ArgSpec::Int { bits: 32 },
        Argument::Constant(Constant::Int(value)) => ArgSpec::of_int(*value),
        Argument::Constant(Constant::Float(_)) => ArgSpec::Float,
        Argument::Constant(Constant::Bool(_)) => ArgSpec::Bool,
        Argument::Constant(other) => ArgSpec::Constexpr(other.clone()),
    })
}

/// The run-time values of an argument, by the names that lowering gives them.
fn run_time(name: &str, argument: &Argument, out: &mut Vec<(String, Arg)>) {
    let mut put = |name: String, arg: Arg| out.push((name, arg));
    match argument {
        Argument::Tensor(placed) => put(name.to_owned(), Arg::Pointer(view(placed))),
        Argument::Descriptor(placed, _) => {
            put(name.to_owned(), Arg::Pointer(view(placed)));
            for (axis, (&size, &stride)) in placed.shape.iter().zip(&placed.strides).enumerate() {
                put(format!("{name}.shape.{axis}"), Arg::Int(size as i64));
                put(format!("{name}.stride.{axis}"), Arg::Int(stride));
            }
        }
        Argument::Tuple(items) => {
            for (i, item) in items.iter().enumerate() {
                run_time(&format!("{name}.{i}"), item, out);
            }
        }
        Argument::Unsigned(value) => put(name.to_owned(), Arg::Int(*value as i64)),
        Argument::Constant(Constant::Int(value)) => put(name.to_owned(), Arg::Int(*value)),
        Argument::Constant(Constant::Bool(value)) => put(name.to_owned(), Arg::Int((*value).into())),
        Argument::Constant(Constant::Float(value)) => put(name.to_owned(), Arg::Float(*value)),
        Argument::Constant(Constant::Str(_) | Constant::None | Constant::Tuple(_))
        | Argument::Function(_)
        | Argument::Python(_) => {}
    }
}

fn view(placed: &Placed) -> View {
    View {
        buffer: BufferId(placed.range),
        pointer: placed.offset,
        shape: placed.shape.clone(),
        strides: placed.strides.clone(),
        origin: placed.offset,
    }
}

/// Memory as it was before the launch.
pub fn memory(recording: &Recording) -> Memory {
    let mut memory = Memory::default();
    for (number, range) in recording.memory.iter().enumerate() {
        memory.insert_as(name(recording, number), range.dtype, range.before.storage().clone());
    }
    memory
}

/// A range by the first argument that views it.
pub fn name(recording: &Recording, range: usize) -> String {
    fn views(argument: &Argument, range: usize) -> bool {
        match argument {
            Argument::Tensor(placed) | Argument::Descriptor(placed, _) => placed.range == range,
            Argument::Tuple(items) => items.iter().any(|item| views(item, range)),
            Argument::Function(_) | Argument::Python(_) | Argument::Constant(_) | Argument::Unsigned(_) => false,
        }
    }
    let first = recording.arguments.iter().find(|(_, argument)| views(argument, range));
    first.map_or_else(|| format!("storage {range}"), |(name, _)| name.clone())
}
