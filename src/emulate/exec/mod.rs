//! The machine: executes a tape for one program at a time.
//!
//! An instruction either succeeds or stops the program: *suspect* when a check failed on the fast
//! path (which says no more than that), a *fault* with its full message when the machine explains
//! (dense tape, lane by lane). A machine is reused for all programs of a worker, so that tables,
//! buffers and launch cells stay warm.

pub mod address;
pub mod assemble;
pub mod atomic;
pub mod axis;
pub mod cast;
pub mod cells;
pub mod compare;
pub mod dot;
mod dot_split;
pub mod elementwise;
pub mod float;
pub mod int;
pub mod lanes;
pub mod libdevice;
pub mod line;
pub(in crate::emulate) mod lines;
pub mod load;
pub mod mask;
pub mod masks;
pub(in crate::emulate) mod moves;
mod observed;
mod ptx;
pub mod reduce;
mod scaled;
mod scan;
pub mod shape;
pub mod step;
pub mod spot;
pub mod store;
pub mod term;
pub mod tile;
mod whole;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::check;
use super::launch::{Arg, Checks, RunReport};
use super::memory::Port;
use super::tape::{Code, Instruction, Program, Slot, Tape};
use super::value::{Cell, Pool};
use super::view::Extent;
use crate::diag::{Diagnostic, codes};
use crate::dtype::DType;
pub use cells::Cells;
pub use observed::Watch;
pub use ptx::registers as asm_registers;

/// Why a program stopped before its end.
#[derive(Debug)]
pub enum Stop {
    /// A fast check failed; the program is run again to find out.
    Suspect,
    /// The program waits for others; it can go on.
    Yield,
    Fault(Box<Diagnostic>),
}

pub type Step<T = ()> = Result<T, Stop>;

/// What is fixed for a launch.
pub struct Launch<'l> {
    pub program: &'l Program,
    pub grid: [u32; 3],
    pub args: &'l [Arg],
    /// By parameter; `None` for scalars.
    pub extents: Vec<Option<Extent>>,
    /// By parameter: the buffer's name.
    pub names: Vec<String>,
    /// By buffer: the type of its elements.
    pub dtypes: Arc<[DType]>,
    pub checks: Checks,
    pub fuel: u64,
    pub memory: usize,
    /// The programs that run, in ascending order; `None`: all.
    pub only: Option<&'l [u32]>,
    pub cancel: Option<&'l AtomicBool>,
    /// Begin with the last program.
    pub reverse: bool,
}

impl Launch<'_> {
    /// The n-th program that runs.
    pub fn nth(&self, n: u32) -> u32 {
        self.only.map_or(n, |only| only[n as usize])
    }

    /// The same launch, for as long as something that it is made of is borrowed.
    pub fn shortened(&self) -> Launch<'_> {
        let (extents, names, dtypes) = (self.extents.clone(), self.names.clone(), self.dtypes.clone());
        Launch { extents, names, dtypes, ..*self }
    }

    /// An error once somebody has cancelled the launch.
    fn go_on(&self) -> Step {
        match self.cancel {
            Some(cancel) if cancel.load(Ordering::Relaxed) => {
                Err(Stop::Fault(Box::new(Diagnostic::new(&codes::INTERRUPTED, "the emulator was interrupted"))))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Instructions between two looks at the fuel and at who cancels: a block operation may take a
/// millisecond on the dense tape.
const POLL: u64 = 256;

/// Everything that makes a program resumable.
#[derive(Default)]
pub struct ProgramState {
    pub pc: usize,
    pub cells: Cells,
    pub fuel: u64,
}

/// What a machine keeps when it is taken apart: everything but its view of memory.
pub struct Parts {
    state: ProgramState,
    pool: Pool,
    pub report: RunReport,
    scratch: tile::Scratch,
    dots: dot::Scratch,
}

pub struct Machine<'l> {
    pub launch: &'l Launch<'l>,
    tape: &'l Tape,
    pub state: ProgramState,
    pub pool: Pool,
    pub port: Port<'l>,
    pub report: RunReport,
    pub pid: [u32; 3],
    /// The program's place in launch order.
    pub linear: u32,
    /// Write messages instead of [`Stop::Suspect`].
    pub explain: bool,
    /// A race is being explained: the last instruction of this program that touched the element.
    pub watch: Option<check::race::Watch>,
    /// What inline assembly reads as time.
    clock: crate::emulate::ptx::Clock,
    /// The race that was found, when the machine explains one.
    pub conflict: Option<check::race::Conflict>,
    pub talk: atomic::Talk,
    /// Where values that are not finite come from, when somebody asks.
    pub trace: Option<Box<check::finite::Trace>>,
    scratch: tile::Scratch,
    dots: dot::Scratch,
}

impl<'l> Machine<'l> {
    pub fn new(launch: &'l Launch<'l>, tape: &'l Tape, port: Port<'l>) -> Machine<'l> {
        let cells = Cells::new(tape);
        let pool = Pool::new(tape.lazy);
        Machine {
            launch,
            tape,
            state: ProgramState { pc: 0, cells, fuel: launch.fuel },
            pool,
            port,
            report: RunReport::default(),
            pid: [0; 3],
            linear: 0,
            explain: false,
            watch: None,
            conflict: None,
            talk: atomic::Talk::default(),
            trace: None,
            clock: crate::emulate::ptx::Clock::default(),
            scratch: tile::Scratch::default(),
            dots: dot::Scratch::default(),
        }
    }

    pub fn take_apart(self) -> (Parts, Port<'l>) {
        let Machine { state, pool, report, scratch, dots, port, .. } = self;
        (Parts { state, pool, report, scratch, dots }, port)
    }

    pub fn assemble(launch: &'l Launch<'l>, tape: &'l Tape, port: Port<'l>, parts: Parts) -> Machine<'l> {
        let Parts { state, pool, report, scratch, dots } = parts;
        Machine {
            launch,
            tape,
            state,
            pool,
            port,
            report,
            pid: [0; 3],
            linear: 0,
            explain: false,
            watch: None,
            conflict: None,
            talk: atomic::Talk::default(),
            trace: None,
            clock: crate::emulate::ptx::Clock::default(),
            scratch,
            dots,
        }
    }

    /// Computes the launch cells.
    pub fn prepare(&mut self) -> Step {
        self.state.pc = self.tape.launch_entry;
        self.state.fuel = self.launch.fuel;
        self.resume()
    }

    /// The launch cells, for other machines of the same launch and tape.
    pub fn launch_cells(&self) -> Arc<Vec<Cell>> {
        self.state.cells.shared()
    }

    pub fn adopt(&mut self, cells: Arc<Vec<Cell>>) {
        self.state.cells.adopt(cells);
    }

    /// Sets everything to the start of a program.
    fn begin(&mut self, linear: u32) -> Step {
        self.launch.go_on()?;
        self.become_program(linear);
        self.state.pc = self.tape.entry;
        self.state.fuel = self.launch.fuel;
        self.scratch.new_program();
        self.talk.start(self.explain);
        self.clock = crate::emulate::ptx::Clock::default();
        Ok(())
    }

    /// Runs one program from its start.
    pub fn run(&mut self, linear: u32) -> Step {
        self.begin(linear)?;
        self.go_on_from(self.launch.fuel)
    }

    /// Goes on with a program that waited, whose state is in place.
    pub fn run_on(&mut self, linear: u32) -> Step {
        self.launch.go_on()?;
        self.become_program(linear);
        // Others have run since it began to wait.
        self.scratch.new_program();
        self.go_on_from(self.state.fuel)
    }

    fn become_program(&mut self, linear: u32) {
        let [gx, gy, _] = self.launch.grid;
        self.linear = linear;
        self.pid = [linear % gx, linear / gx % gy, linear / gx / gy];
    }

    fn go_on_from(&mut self, fuel: u64) -> Step {
        let outcome = self.resume();
        self.report.instructions += fuel - self.state.fuel;
        outcome
    }

    #[cold]
    fn poll(&self, next: &Instruction) -> Step {
        if self.state.fuel == 0 {
            return Err(Stop::Fault(check::fuel::spent(self, next)));
        }
        self.launch.go_on()
    }

    /// Goes on from the program counter until the program returns.
    pub fn resume(&mut self) -> Step {
        let tape = self.tape;
        loop {
            let instruction = &tape.code[self.state.pc];
            self.state.pc += 1;
            if self.state.fuel.is_multiple_of(POLL) {
                self.poll(instruction)?;
            }
            self.state.fuel -= 1;
            if matches!(instruction.code, Code::Return) {
                return Ok(());
            }
            if self.trace.is_none() {
                self.step(instruction)?;
            } else {
                self.traced(instruction)?;
            }
        }
    }

    #[cold]
    fn traced(&mut self, instruction: &'l Instruction) -> Step {
        let before = self.trace.as_ref().map(|trace| trace.before(instruction, &self.state.cells));
        self.step(instruction)?;
        if let (Some(trace), Some(before)) = (&mut self.trace, before) {
            trace.after(instruction, &before, &self.state.cells);
        }
        Ok(())
    }

    #[inline]
    pub fn cell(&self, slot: Slot) -> &Cell {
        self.state.cells.get(slot)
    }

    pub(in crate::emulate) fn set(&mut self, slot: Slot, cell: Cell) {
        if slot == Slot::NONE {
            return;
        }
        let place = self.state.cells.place(slot);
        // A scalar holds no buffer to give back.
        if place.layout().is_none() {
            *place = cell;
            return;
        }
        let old = std::mem::replace(place, cell);
        self.pool.recycle(old);
    }

    /// Frees the buffer that the result will replace, so that the result may use it.
    fn vacate(&mut self, slot: Slot) {
        if let Some(old) = self.state.cells.take(slot) {
            self.pool.recycle(old);
        }
    }

    /// Stops with a message when explaining, else as suspect.
    pub fn stop<T>(&self, explain: impl FnOnce() -> Diagnostic) -> Step<T> {
        if self.explain { Err(Stop::Fault(Box::new(explain()))) } else { Err(Stop::Suspect) }
    }

    /// A message at an instruction, with the program's id.
    pub fn message(&self, code: &'static crate::diag::Code, what: String, at: &Instruction) -> Diagnostic {
        let [x, y, z] = self.pid;
        let diagnostic = Diagnostic::new(code, what).note(format!("program: ({x}, {y}, {z})"));
        if at.span == crate::source::Span::default() {
            return diagnostic;
        }
        diagnostic.at(&self.launch.program.kernel.source, at.span)
    }

    pub fn unsupported<T>(&self, what: &str, at: &Instruction) -> Step<T> {
        let what = format!("{what} is not offered by the emulator yet");
        Err(Stop::Fault(Box::new(self.message(&codes::KERNEL_UNSUPPORTED, what, at))))
    }
}
