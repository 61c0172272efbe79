//! Sketches as files: one that the plan follows is read, one of a plan is written.
//!
//! What programs do is counted while the first of them run on zeros, up to so many lanes: a program of a template does what
//! its neighbours do, but for masks at the edges.

use std::path::{Path, PathBuf};

use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::emit::sketch::{Counted, FILE, Sketched, text};
use crate::emit::{self, wrapper};
use crate::emulate::observe::{Go, observe};
use crate::emulate::stats::Stats;
use crate::emulate::{self, Arg, Memory, Program, View};
use crate::kernel::{self, ArgSpec, Specialization};
use crate::lint::facts::Facts;
use crate::select::sketch::read;
use crate::select::{Basis, Planned, Sketch};
use crate::shape::{Shape, contiguous_strides};
use crate::source::{SourceFile, files};
use crate::syntax::{Constant, parse_module};
use crate::target::Target;
use crate::template::{ArgumentValue, BoundKernel, Library};
use crate::tensor::Storage;

use super::task::{self, TaskOptions};
use super::{Cancel, Observer, Options, Outcome, library, load, one, planned};

/// Lanes after which no further program is counted.
const LANES: u64 = 1 << 22;

/// A sketch on disk.
pub struct Written {
    pub path: PathBuf,
    pub kernels: usize,
    /// What no kernel computes.
    pub problems: Vec<Diagnostic>,
}

/// Reads the sketch of `--sketch`.
pub(super) fn read(path: &Path) -> Outcome<Sketch> {
    let name = path.display().to_string();
    let text = files::text(path).map_err(|error| {
        vec![Diagnostic::new(&codes::FILE_UNREADABLE, format!("cannot be read: {error}")).in_file(name.clone())]
    })?;
    read::parse(&name, &text).map_err(one)
}

/// What a sketch of this run says that it is of.
pub(super) fn basis(model: &str, options: &Options) -> Basis {
    Basis {
        model: model.to_owned(),
        target: options.target.clone(),
        precision: options.precision.name().to_owned(),
        dtype: options.dtype.map_or("as-is", DType::name).to_owned(),
        fuse: options.fuse.name().to_owned(),
    }
}

/// Plans a model and writes its sketch.
pub fn of_model(options: &Options, observer: &dyn Observer, cancel: &Cancel) -> Outcome<Written> {
    let output = options.output.clone().unwrap_or_else(|| PathBuf::from(FILE));
    task::may_write(&output, options.force)?;
    observer.stage("import", 0);
    let library = library(options)?;
    let (name, imported, _) = load::load(options, &library)?;
    let (planned, _, problems) = planned(&name, &imported, &library, options, observer, cancel)?;
    written(output, &name, (&planned, problems), &library, options, observer, cancel)
}

/// Plans a task and writes its sketch.
pub fn of_task(asked: &TaskOptions, observer: &dyn Observer, cancel: &Cancel) -> Outcome<Written> {
    let options = &asked.options;
    let output = asked.output.clone().unwrap_or_else(|| PathBuf::from(FILE));
    task::may_write(&output, options.force)?;
    let library = library(options)?;
    let read = task::read(&asked.source, observer)?;
    let name = load::stem(Path::new(&read.task.task));
    let (planned, _, problems) = planned(&name, &read.imported, &library, options, observer, cancel)?;
    written(output, &name, (&planned, problems), &library, options, observer, cancel)
}

fn written(
    path: PathBuf,
    name: &str,
    (planned, problems): (&Planned, Vec<Diagnostic>),
    library: &Library,
    options: &Options,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Outcome<Written> {
    let plan = &planned.plan;
    let target = Target::find(&options.target).ok_or_else(|| vec![load::unknown_target(&options.target)])?;
    observer.stage("count", plan.kernels.len());
    let mut counted = Vec::new();
    for kernel in &plan.kernels {
        cancel.check().map_err(one)?;
        observer.step(&kernel.template);
        counted.push(count(kernel, target, cancel).map_err(|error| error.message));
    }
    cancel.check().map_err(one)?;
    let basis = basis(name, options);
    let text = text(&Sketched { planned, basis: &basis, library, counted: &counted });
    task::write(&path, &text)?;
    Ok(Written { path, kernels: plan.launches.len(), problems })
}

/// Counts what the first programs of a kernel's last launch do.
fn count(kernel: &BoundKernel, target: &'static Target, cancel: &Cancel) -> Result<Counted> {
    let nothing = |what: &str| Box::new(Diagnostic::new(&codes::INTERNAL, what));
    let launch = kernel.launches.last().ok_or_else(|| nothing("the kernel is not launched"))?;
    let module = parse_module(&SourceFile::new(emit::kernel_path(kernel), emit::launch_module(kernel)))?;
    let mut memory = Memory::default();
    let mut views = Vec::new();
    for operand in &kernel.operands {
        let shape: Shape = wrapper::taken_shape(operand).into_iter().collect();
        let lanes = Storage::zeros(operand.dtype.carrier(), operand.layout.storage);
        let buffer = memory.insert_as(&operand.name, operand.dtype, lanes);
        views.push(View { buffer, pointer: 0, strides: contiguous_strides(&shape), shape, origin: 0 });
    }
    let (mut specs, mut args) = (Vec::new(), Vec::new());
    for argument in &launch.args {
        let spec = match &argument.value {
            ArgumentValue::Pointer(operand) => {
                args.push(Arg::Pointer(views[*operand].clone()));
                ArgSpec::Pointer(kernel.operands[*operand].dtype)
            }
            ArgumentValue::Int(int) => {
                args.push(Arg::Int(int.value));
                ArgSpec::Int { bits: if i32::try_from(int.value).is_ok() { 32 } else { 64 } }
            }
            ArgumentValue::Constexpr(int) => ArgSpec::Constexpr(Constant::Int(int.value)),
            ArgumentValue::ConstexprFloat(value) => ArgSpec::Constexpr(Constant::Float(*value)),
            ArgumentValue::ConstexprStr(text) => ArgSpec::Constexpr(Constant::Str(text.clone())),
        };
        specs.push((argument.param.clone(), spec));
    }
    let specialization = Specialization { args: specs, target: kernel::Target::of(Some(target)) };
    let verified = kernel::compile(&module, &launch.function, &specialization)?;
    let program = Program::compile(&verified)?;
    let size = |axis: i64| u32::try_from(axis).map_err(|_| nothing("its grid has too many programs"));
    let grid = [size(launch.grid[0].value)?, size(launch.grid[1].value)?, size(launch.grid[2].value)?];
    let programs = grid.iter().map(|&axis| u64::from(axis)).product();
    let options = emulate::Options { cancel: Some(cancel.flag()), ..emulate::Options::default() };
    let (mut stats, mut lanes, mut ran, mut current) = (Stats::default(), 0, 0, None);
    let mut blocks = Vec::new();
    let mut cut = false;
    observe(&program, &mut memory, grid, &args, &options, &mut |sight| {
        let id = sight.program();
        if current.is_some_and(|before| before != id) {
            ran += 1;
            cut = lanes > LANES;
        }
        current = Some(id);
        // One program alone may be far too long.
        if cut || lanes > 64 * LANES {
            cut = true;
            return Go::Stop;
        }
        lanes += sight.lanes() as u64;
        if ran == 0
            && !sight.after
            && let Some(touched) = sight.touched()
        {
            let block = (program.kernel.params[touched.parameter].name.to_string(), touched.store, touched.shape);
            if !blocks.contains(&block) {
                blocks.push(block);
            }
        }
        stats.note(sight);
        Go::On
    })?;
    if cut && ran == 0 {
        return Err(nothing("one program alone does too much to be counted"));
    }
    let facts = Facts::of(&stats, &program.kernel, target, launch.num_warps);
    Ok(Counted { facts, ran: if cut { ran } else { programs }, programs, blocks })
}
