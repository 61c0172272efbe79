//! Watching a launch instruction by instruction: what counts, traces and steps through kernels.
//!
//! Programs run one after the other on the dense tape, on which every instruction is one of the kernel and every block is
//! there lane by lane; the fast path knows nothing of it. An observer sees each instruction before and after it is executed
//! ([`Sight`]), and may end the run.
//!
//! Does not see: what the combine function of a reduction does, accesses by pointers that are seen as another type or are
//! addresses, and programs that wait for each other, which never meet here.

use std::sync::Arc;

use super::check::race::{Shadows, Told};
use super::exec::shape::materialise;
use super::exec::{Launch, Machine, Stop, Watch};
use super::launch::{Arg, Memory, Options};
use super::memory::{Committer, Port};
use super::tape::{Code, Instruction, Program, Slot};
use super::value::{Cell, Floats, Origin, taint};
use super::view::Extent;
use crate::diag::{self, Diagnostic, codes};
use crate::kernel::ir::{Elem, Type};
use crate::source::Span;

/// Whether an observer wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    On,
    /// Ends the run.
    Stop,
}

/// One instruction of one program, before or after it is executed.
pub struct Sight<'s, 'l> {
    machine: &'s mut Machine<'l>,
    instruction: &'s Instruction,
    /// Whether its result is there.
    pub after: bool,
}

/// A value, lane by lane in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    pub ty: Type,
    pub lanes: Lanes,
    /// Which lanes are undefined; empty when none is.
    pub undefined: Vec<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Lanes {
    Floats(Vec<f64>),
    Ints(Vec<i64>),
    /// Elements of the buffer of a parameter.
    Pointers(Arc<str>, Vec<i64>),
}

/// What a load, store or atomic touches.
#[derive(Clone, Debug)]
pub struct Touched {
    /// The kernel parameter that the address comes from.
    pub parameter: usize,
    /// Also an atomic that writes.
    pub store: bool,
    pub elem: Elem,
    pub shape: Vec<usize>,
    /// Elements of the buffer, in row-major lanes.
    pub elements: Vec<i64>,
    /// Lanes that the mask lets through; empty when there is no mask.
    pub active: Vec<bool>,
}

impl Sight<'_, '_> {
    pub fn span(&self) -> Span {
        self.instruction.span
    }

    pub fn code(&self) -> &Code {
        &self.instruction.code
    }

    /// The program's id along the axes of the grid.
    pub fn program(&self) -> [u32; 3] {
        self.machine.pid
    }

    /// Lanes of the result; 1 for a scalar.
    pub fn lanes(&self) -> usize {
        match self.instruction.out {
            Slot::NONE => 0,
            out => self.machine.cell(out).layout().map_or(1, |layout| layout.numel()),
        }
    }

    /// Variables that the result is bound to, with what they hold.
    pub fn assigned(&mut self) -> Vec<(Arc<str>, Shown)> {
        let out = self.instruction.out;
        let kernel = &self.machine.launch.program.kernel;
        let named: Vec<(Arc<str>, Type)> = self
            .machine
            .launch
            .program
            .dense
            .names
            .iter()
            .filter(|(slot, _)| *slot == out)
            .filter_map(|(_, value)| Some((kernel.values[value.0 as usize].name.clone()?, kernel.ty(*value).clone())))
            .collect();
        let mut shown: Vec<(Arc<str>, Shown)> = Vec::new();
        for (name, ty) in named {
            if shown.iter().all(|(known, _)| *known != name)
                && let Some(value) = self.shown(out, &ty)
            {
                shown.push((name, value));
            }
        }
        shown
    }

    fn shown(&mut self, slot: Slot, ty: &Type) -> Option<Shown> {
        let cell = self.machine.cell(slot).clone();
        let cell = materialise(&cell, ty.elem, &ty.shape, &mut self.machine.pool);
        let undefined = cell.taints().as_ref().map_or_else(Vec::new, |t| t.iter().map(|f| f & taint::POISON != 0).collect());
        let lanes = match &cell {
            Cell::Ints(block) => Lanes::Ints(block.values().into_owned()),
            Cell::Mask(block) => Lanes::Ints(block.values().iter().map(|&v| v.into()).collect()),
            Cell::Floats(block) => Lanes::Floats(match &block.lanes {
                Floats::F32(lanes) => lanes.iter().map(|&v| v.into()).collect(),
                Floats::F64(lanes) => lanes.to_vec(),
            }),
            Cell::Ptrs(block) => {
                let params = &self.machine.launch.program.kernel.params;
                let name = match Origin::of(block.arg) {
                    Origin::Argument(arg) | Origin::Cast { arg: Some(arg), pointee: _ } => params[arg].name.clone(),
                    Origin::Cast { arg: None, pointee: _ } => Arc::from("address"),
                };
                Lanes::Pointers(name, block.offsets.values().into_owned())
            }
            Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) => return None,
        };
        Some(Shown { ty: ty.clone(), lanes, undefined })
    }

    /// What a load or store touches, before it is executed; `None` for anything else.
    pub fn touched(&mut self) -> Option<Touched> {
        let (ptr, mask, elem, shape, store) = match &self.instruction.code {
            Code::LoadLanes(ptr, mask, _, elem, shape) => (*ptr, *mask, *elem, shape.to_vec(), false),
            Code::StoreLanes(ptr, _, mask, elem, shape) => (*ptr, *mask, *elem, shape.to_vec(), true),
            Code::Atomic(atomic) => (atomic.ptr, atomic.mask, atomic.elem, atomic.shape.to_vec(), atomic.value.is_some()),
            _ => return None,
        };
        let (origin, elements, active) = self.machine.addresses(ptr, mask, &shape);
        let Origin::Argument(parameter) = origin else { return None };
        Some(Touched { parameter, store, elem, shape, elements, active })
    }

    /// The value that a store writes, before it is executed.
    pub fn stored(&mut self) -> Option<Shown> {
        let Code::StoreLanes(_, value, _, elem, shape) = &self.instruction.code else { return None };
        let (value, ty) = (*value, Type::block(*elem, shape));
        self.shown(value, &ty)
    }
}

/// Runs a launch on memory, program by program, under an observer.
///
/// # Errors
/// As [`super::run`], but for races.
pub fn observe(
    program: &Program,
    memory: &mut Memory,
    grid: [u32; 3],
    args: &[Arg],
    options: &Options,
    observer: &mut dyn FnMut(&mut Sight<'_, '_>) -> Go,
) -> diag::Result<()> {
    let mut watch =
        |machine: &mut Machine<'_>, instruction: &Instruction, after: bool| observer(&mut Sight { machine, instruction, after });
    watched(program, memory, grid, args, options, &mut watch)
}

/// [`observe`] for who needs the machine itself.
pub(super) fn watched(
    program: &Program,
    memory: &mut Memory,
    grid: [u32; 3],
    args: &[Arg],
    options: &Options,
    watch: &mut Watch<'_>,
) -> diag::Result<()> {
    super::check_arguments(program, memory, args)?;
    let count = grid.iter().try_fold(1u32, |n, &axis| n.checked_mul(axis)).filter(|&n| n < u32::MAX);
    let count = count
        .ok_or_else(|| Box::new(Diagnostic::new(&codes::HOST_LAUNCH, format!("the grid {grid:?} has too many programs"))))?;
    let extents = args.iter().map(|arg| match arg {
        Arg::Pointer(view) => Some(Extent::new(view)),
        Arg::Int(_) | Arg::Float(_) => None,
    });
    let names = args.iter().zip(&program.kernel.params).map(|(arg, param)| match arg {
        Arg::Pointer(view) => memory.buffers[view.buffer.0].name.clone(),
        Arg::Int(_) | Arg::Float(_) => param.name.to_string(),
    });
    let dtypes = super::dtypes(program, memory, args);
    let launch = Launch {
        dtypes,
        program,
        grid,
        args,
        extents: extents.collect(),
        names: names.collect(),
        checks: options.checks,
        fuel: options.fuel,
        memory: options.memory,
        reverse: options.reverse,
        only: None,
        cancel: options.cancel.as_deref(),
    };
    let shadows = Shadows::new(memory.buffers.len(), std::iter::empty(), count, false, Told { plain: false, mixed: false });
    let mut machine = Machine::new(&launch, &program.dense, Port::Direct(Committer { memory, shadows, undo: None }));
    machine.explain = true;
    let told = |stop: Stop| match stop {
        Stop::Fault(diagnostic) => diagnostic,
        Stop::Suspect | Stop::Yield => {
            Box::new(Diagnostic::new(&codes::INTERNAL, "a program is suspect on the dense tape, and nothing says why"))
        }
    };
    machine.prepare().map_err(told)?;
    let mut go = Go::On;
    for linear in 0..count {
        let mut noted = |machine: &mut Machine<'_>, instruction: &Instruction, after: bool| {
            go = watch(machine, instruction, after);
            go
        };
        machine.run_observed(linear, &mut noted).map_err(told)?;
        if go == Go::Stop {
            break;
        }
    }
    Ok(())
}
