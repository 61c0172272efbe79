//! The machine: executes a tape for one program at a time.
//!
//! An instruction either succeeds or stops the program: *suspect* when a check failed on the fast
//! path (which says no more than that), a *fault* with its full message when the machine explains
//! (dense tape, lane by lane). A machine is reused for all programs of a worker, so that tables,
//! buffers and launch cells stay warm.

pub mod cast;
pub mod compare;
pub mod dot;
mod dot_split;
pub mod elementwise;
pub mod float;
pub mod int;
pub mod lanes;
pub mod load;
pub mod reduce;
pub mod shape;
pub mod store;
pub mod tile;

use std::sync::Arc;

use super::check;
use super::launch::{Arg, Checks, RunReport};
use super::memory::Port;
use super::tape::{Code, Conjunct, Instruction, Program, Slot, Space, Sum, Tape};
use super::value::int::bounds;
use super::value::{Cell, IntBlock, Layout, Pointer, Pool, PtrBlock, Scalar};
use super::view::Extent;
use crate::diag::{Diagnostic, codes};
use crate::kernel::ir::{Elem, IntBinary, IntPredicate, Literal};

/// Why a program stopped before its end.
#[derive(Debug)]
pub enum Stop {
    /// A fast check failed; the program is run again to find out.
    Suspect,
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
    pub checks: Checks,
    pub fuel: u64,
    pub memory: usize,
}

/// Everything that makes a program resumable.
#[derive(Default)]
pub struct ProgramState {
    pub pc: usize,
    pub cells: Cells,
    pub fuel: u64,
}

#[derive(Default)]
struct Table {
    columns: usize,
    /// Row-major cells of the rows made so far.
    cells: Vec<Cell>,
    filled: Vec<bool>,
    /// The current row.
    row: usize,
}

/// Rows a table keeps; later iterations share the last row and recompute it.
const TABLE_ROWS: usize = 1024;

/// The three spaces of cells.
#[derive(Default)]
pub struct Cells {
    local: Vec<Cell>,
    launch: Arc<Vec<Cell>>,
    tables: Vec<Table>,
}

impl Cells {
    #[inline]
    pub fn get(&self, slot: Slot) -> &Cell {
        match slot.space() {
            Space::Local(i) => &self.local[i],
            Space::Launch(i) => &self.launch[i],
            Space::Table(t, c) => {
                let table = &self.tables[t];
                &table.cells[table.row * table.columns + c]
            }
        }
    }

    /// Bytes of the running program's blocks, and of the launch's.
    fn bytes(&self) -> usize {
        let tables = self.tables.iter().flat_map(|t| &t.cells);
        self.local.iter().chain(self.launch.iter()).chain(tables).map(Cell::bytes).sum()
    }

    fn place(&mut self, slot: Slot) -> &mut Cell {
        match slot.space() {
            Space::Local(i) => &mut self.local[i],
            Space::Launch(i) => {
                &mut Arc::get_mut(&mut self.launch).expect("invariant: launch cells are written before they are shared")[i]
            }
            Space::Table(t, c) => {
                let table = &mut self.tables[t];
                &mut table.cells[table.row * table.columns + c]
            }
        }
    }
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
    /// The race that was found, when the machine explains one.
    pub conflict: Option<check::race::Conflict>,
    scratch: tile::Scratch,
    dots: dot::Scratch,
}

impl<'l> Machine<'l> {
    pub fn new(launch: &'l Launch<'l>, tape: &'l Tape, port: Port<'l>) -> Machine<'l> {
        let tables = tape.tables.iter().map(|t| Table { columns: t.columns, ..Table::default() }).collect();
        let cells =
            Cells { local: vec![Cell::Empty; tape.locals], launch: Arc::new(vec![Cell::Empty; tape.launch_cells]), tables };
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
        self.state.cells.launch.clone()
    }

    pub fn adopt(&mut self, cells: Arc<Vec<Cell>>) {
        self.state.cells.launch = cells;
    }

    /// Runs one program from its start.
    pub fn run(&mut self, linear: u32) -> Step {
        let [gx, gy, _] = self.launch.grid;
        self.linear = linear;
        self.pid = [linear % gx, linear / gx % gy, linear / gx / gy];
        self.state.pc = self.tape.entry;
        self.state.fuel = self.launch.fuel;
        self.scratch.new_program();
        let outcome = self.resume();
        self.report.instructions += self.launch.fuel - self.state.fuel;
        outcome
    }

    /// Goes on from the program counter until the program returns.
    pub fn resume(&mut self) -> Step {
        let tape = self.tape;
        loop {
            let instruction = &tape.code[self.state.pc];
            self.state.pc += 1;
            if self.state.fuel == 0 {
                return Err(Stop::Fault(check::fuel::spent(self, instruction)));
            }
            self.state.fuel -= 1;
            if matches!(instruction.code, Code::Return) {
                return Ok(());
            }
            self.step(instruction)?;
        }
    }

    #[inline]
    pub fn cell(&self, slot: Slot) -> &Cell {
        self.state.cells.get(slot)
    }

    fn set(&mut self, slot: Slot, cell: Cell) {
        if slot == Slot::NONE {
            return;
        }
        let old = std::mem::replace(self.state.cells.place(slot), cell);
        self.pool.recycle(old);
    }

    /// Frees the buffer that the result will replace, so that the result may use it.
    fn vacate(&mut self, slot: Slot) {
        if let Space::Local(i) = slot.space() {
            let old = std::mem::take(&mut self.state.cells.local[i]);
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

    fn step(&mut self, instruction: &'l Instruction) -> Step {
        let out = instruction.out;
        let result = match &instruction.code {
            Code::ProgramId(axis) => Cell::int(self.pid[*axis as usize].into()),
            Code::NumPrograms(axis) => Cell::int(self.launch.grid[*axis as usize].into()),
            Code::Argument(index) => self.argument(*index),
            Code::Constant(Literal::Int(v), elem) => Cell::int(if *elem == Elem::I1 { v & 1 } else { *v }),
            Code::Constant(Literal::Float(v), elem) => Cell::float(super::value::round::round_scalar(*elem, *v)),
            Code::Range(start, end) => {
                let n = (end - start).max(0) as usize;
                if self.tape.lazy {
                    Cell::Ints(IntBlock::affine(n, (*start).into(), 1))
                } else {
                    Cell::Ints(IntBlock::dense(Layout::line(n), (i64::from(*start)..i64::from(*end)).collect(), None))
                }
            }
            Code::Int(op, elem, a, b) => {
                self.vacate(out);
                int::binary(*op, *elem, self.state.cells.get(*a), self.state.cells.get(*b), &mut self.pool)
            }
            Code::Float(op, elem, a, b) => {
                self.vacate(out);
                float::binary(*op, *elem, self.state.cells.get(*a), self.state.cells.get(*b), &mut self.pool)
            }
            Code::Unary(f, elem, a) => {
                self.vacate(out);
                float::unary(*f, *elem, self.state.cells.get(*a), &mut self.pool)
            }
            Code::Fma(elem, a, b, c) => {
                self.vacate(out);
                let cells = &self.state.cells;
                float::fma(*elem, cells.get(*a), cells.get(*b), cells.get(*c), &mut self.pool)
            }
            Code::CompareInt(p, elem, a, b) => {
                self.vacate(out);
                compare::ints(*p, *elem, self.state.cells.get(*a), self.state.cells.get(*b), &mut self.pool)
            }
            Code::CompareFloat(p, elem, a, b) => {
                self.vacate(out);
                compare::floats(*p, *elem, self.state.cells.get(*a), self.state.cells.get(*b), &mut self.pool)
            }
            Code::Select(elem, c, a, b) => {
                self.vacate(out);
                let cells = &self.state.cells;
                match compare::select(cells.get(*c), cells.get(*a), cells.get(*b), *elem, &mut self.pool) {
                    Ok(cell) => cell,
                    Err(what) => return self.unsupported(what, instruction),
                }
            }
            Code::Cast(kind, from, to, a) => {
                self.vacate(out);
                match cast::cast(*kind, *from, *to, self.state.cells.get(*a), &mut self.pool) {
                    Ok(cell) => cell,
                    Err(what) => return self.unsupported(what, instruction),
                }
            }
            Code::AddPtr(ptr, offset, elem) => self.add_ptr(*ptr, *offset, *elem),
            Code::Splat(a, elem, shape) => shape::materialise(self.state.cells.get(*a), *elem, shape, &mut self.pool),
            Code::ExpandDims(a, axis) => {
                let cell = self.state.cells.get(*a);
                match cell.layout() {
                    Some(layout) => cell.with_layout(layout.expanded(*axis), &mut self.pool),
                    None => cell.clone(),
                }
            }
            Code::Broadcast(a, to) => {
                let cell = self.state.cells.get(*a);
                match cell.layout() {
                    Some(layout) => cell.with_layout(layout.broadcast(to), &mut self.pool),
                    None => cell.clone(),
                }
            }
            Code::Trans(a, order) => {
                let cell = self.state.cells.get(*a);
                match cell.layout() {
                    Some(layout) => cell.with_layout(layout.permuted(order), &mut self.pool),
                    None => cell.clone(),
                }
            }
            Code::Reshape(a, to) => shape::reshape(self.state.cells.get(*a), to, &mut self.pool),
            Code::Materialise(sum, elem, to) => self.materialise(sum, *elem, to),
            Code::Conjunction(mask, to) => self.conjunction(mask, to),
            Code::OnlyLane(a) => only_lane(self.cell(*a)),
            Code::Guard(sum, elem) => return self.guard(sum, *elem),
            Code::LoadTile(load) => {
                self.vacate(out);
                self.load_tile(load, instruction)?
            }
            Code::StoreTile(tile, value, elem) => return self.store_tile(tile, *value, *elem),
            Code::LoadLanes(ptr, mask, other, elem, to) => {
                self.vacate(out);
                self.load_lanes(*ptr, *mask, *other, *elem, to, instruction)?
            }
            Code::StoreLanes(ptr, value, mask, elem, to) => {
                return self.store_lanes(*ptr, *value, *mask, *elem, to, instruction);
            }
            Code::Dot(dot) => self.dot(dot, instruction)?,
            Code::Reduce(reduce) => return self.reduce(reduce),
            Code::Assert(condition, message) => return self.assert(*condition, message, instruction),
            Code::Move(from, take) => {
                if *take && let Space::Local(i) = from.space() {
                    std::mem::take(&mut self.state.cells.local[i])
                } else {
                    self.cell(*from).clone()
                }
            }
            Code::Jump(to) => {
                self.state.pc = *to;
                return Ok(());
            }
            Code::BranchUnless(condition, to) => {
                if self.scalar(*condition, "a branch", instruction)? == 0 {
                    self.state.pc = *to;
                }
                return Ok(());
            }
            Code::LoopStart { variable, lower } => {
                let lower = self.scalar(*lower, "the bounds of a loop", instruction)?;
                self.set(*variable, Cell::int(lower));
                Cell::int(0)
            }
            Code::LoopTest { variable, upper, step, exit } => {
                let upper = self.scalar(*upper, "the bounds of a loop", instruction)?;
                let step = self.scalar(*step, "the step of a loop", instruction)?;
                let at = self.scalar(*variable, "a loop", instruction)?;
                if step <= 0 || at >= upper {
                    self.state.pc = *exit;
                }
                return Ok(());
            }
            Code::LoopNext { variable, step, test } => {
                let step = self.scalar(*step, "the step of a loop", instruction)?;
                let at = self.scalar(*variable, "a loop", instruction)?;
                let count = self.scalar(out, "a loop", instruction)?;
                self.set(*variable, Cell::int(at.saturating_add(step)));
                self.state.pc = *test;
                Cell::int(count + 1)
            }
            Code::TableRow { table, counter, variable, start } => {
                return self.table_row(*table, *counter, *variable, *start, instruction);
            }
            Code::Return => return Ok(()),
        };
        self.set(out, result);
        if self.pool.held > self.launch.memory {
            // The pool's account misses what was dropped elsewhere: count before complaining.
            self.pool.held = self.state.cells.bytes() + self.pool.free_bytes();
            if self.pool.held > self.launch.memory {
                return Err(Stop::Fault(check::fuel::memory(self, instruction)));
            }
        }
        Ok(())
    }

    fn argument(&self, index: usize) -> Cell {
        match &self.launch.args[index] {
            Arg::Int(value) => Cell::int(*value),
            Arg::Float(value) => {
                let elem = self.launch.program.kernel.ty(self.launch.program.kernel.params[index].value).elem;
                Cell::float(super::value::round::round_scalar(elem, *value))
            }
            Arg::Pointer(view) => Cell::Ptr(Pointer { arg: index as u32, offset: view.pointer as i64, taint: 0 }),
        }
    }

    /// A scalar that decides where the program goes.
    fn scalar(&self, slot: Slot, what: &str, at: &Instruction) -> Step<i64> {
        match self.cell(slot) {
            Cell::Int(s) if s.taint == 0 => Ok(s.value),
            Cell::Int(s) => {
                if check::poison::matters(self.launch.checks, s.taint) {
                    self.stop(|| check::poison::in_branch(self, s.taint, what, at))
                } else {
                    Ok(s.value)
                }
            }
            _ => self.unsupported("a condition that is a block", at),
        }
    }

    fn add_ptr(&mut self, ptr: Slot, offset: Slot, elem: Elem) -> Cell {
        let offset = int::wrapped(self.state.cells.get(offset), elem);
        match (self.state.cells.get(ptr), &offset) {
            (Cell::Ptr(p), Cell::Int(s)) => {
                Cell::Ptr(Pointer { offset: p.offset.wrapping_add(s.value), taint: p.taint | s.taint, ..*p })
            }
            (Cell::Ptr(p), Cell::Ints(_)) => {
                let base = Cell::Int(Scalar { value: p.offset, taint: p.taint });
                pointers(p.arg, int::binary(IntBinary::Add, Elem::I64, &base, &offset, &mut self.pool))
            }
            (Cell::Ptrs(block), _) => {
                let base = Cell::Ints(block.offsets.clone());
                pointers(block.arg, int::binary(IntBinary::Add, Elem::I64, &base, &offset, &mut self.pool))
            }
            (other, _) => other.clone(),
        }
    }

    /// A sum lane by lane.
    fn materialise(&mut self, sum: &Sum, elem: Elem, to: &[usize]) -> Cell {
        let (arg, mut total) = match self.state.cells.get(sum.base) {
            Cell::Ptr(p) => (Some(p.arg), Cell::Int(Scalar { value: p.offset, taint: p.taint })),
            other => (None, other.clone()),
        };
        let wide = if matches!(elem, Elem::Ptr(_)) { Elem::I64 } else { elem };
        for (axis, term) in sum.terms.iter().enumerate() {
            let Some(term) = term else { continue };
            let spread = along(self.state.cells.get(*term), axis, to, &mut self.pool);
            total = int::binary(IntBinary::Add, wide, &total, &spread, &mut self.pool);
        }
        let total = shape::materialise(&total, wide, to, &mut self.pool);
        match arg {
            Some(arg) => pointers(arg, total),
            None => total,
        }
    }

    /// A conjunction lane by lane.
    fn conjunction(&mut self, mask: &[Conjunct], to: &[usize]) -> Cell {
        let mut all = Cell::int(1);
        for conjunct in mask {
            let factor = match conjunct {
                Conjunct::Scalar(slot) | Conjunct::Block(slot) => self.state.cells.get(*slot).clone(),
                Conjunct::Axis(axis, slot) => along(self.state.cells.get(*slot), *axis, to, &mut self.pool),
                Conjunct::Band { sum, lo, hi } => {
                    let sum = self.materialise(sum, Elem::I64, to);
                    let mut inside = Cell::int(1);
                    for (limit, predicate) in [(lo, IntPredicate::GeS), (hi, IntPredicate::LtS)] {
                        if let Some(limit) = limit {
                            let limit = self.state.cells.get(*limit);
                            let side = compare::ints(predicate, Elem::I64, &sum, limit, &mut self.pool);
                            inside = int::binary(IntBinary::And, Elem::I1, &inside, &side, &mut self.pool);
                        }
                    }
                    inside
                }
            };
            all = int::binary(IntBinary::And, Elem::I1, &all, &factor, &mut self.pool);
        }
        all
    }

    /// Suspect unless every lane of the sum fits the type.
    fn guard(&mut self, sum: &Sum, elem: Elem) -> Step {
        let (mut lo, mut hi) = (0i64, 0i64);
        for slot in std::iter::once(sum.base).chain(sum.terms.iter().flatten().copied()) {
            match self.cell(slot) {
                Cell::Int(s) => {
                    lo = lo.saturating_add(s.value);
                    hi = hi.saturating_add(s.value);
                }
                Cell::Ints(block) => {
                    lo = lo.saturating_add(block.lo);
                    hi = hi.saturating_add(block.hi);
                }
                _ => {}
            }
        }
        let (min, max) = bounds(elem);
        if lo < min || hi > max { Err(Stop::Suspect) } else { Ok(()) }
    }

    fn assert(&self, condition: Slot, message: &str, at: &Instruction) -> Step {
        let fails = match self.cell(condition) {
            Cell::Int(s) => s.value == 0,
            Cell::Mask(block) => block.values().contains(&0),
            _ => false,
        };
        if fails {
            return self.stop(|| self.message(&codes::ASSERT_FAILED, format!("assertion failed: {message}"), at));
        }
        Ok(())
    }

    fn table_row(&mut self, table: usize, counter: Slot, variable: Slot, start: usize, at: &Instruction) -> Step {
        let row = self.scalar(counter, "a loop", at)? as usize;
        let overflow = row >= TABLE_ROWS;
        let row = row.min(TABLE_ROWS);
        let value = self.cell(variable).clone();
        let t = &mut self.state.cells.tables[table];
        t.row = row;
        if t.filled.len() <= row {
            t.filled.resize(row + 1, false);
            t.cells.resize((row + 1) * t.columns, Cell::Empty);
        }
        if t.filled[row] && !overflow {
            return Ok(());
        }
        self.set(Slot::table(table, 0), value);
        let back = std::mem::replace(&mut self.state.pc, start);
        self.resume()?;
        self.state.pc = back;
        self.state.cells.tables[table].filled[row] = true;
        Ok(())
    }
}

/// A one-axis block along an axis of a shape.
fn along(cell: &Cell, axis: usize, to: &[usize], pool: &mut Pool) -> Cell {
    let Some(mut layout) = cell.layout().copied() else { return cell.clone() };
    for a in 0..to.len() {
        if a != axis {
            layout = layout.expanded(a);
        }
    }
    cell.with_layout(layout.broadcast(to), pool)
}

fn pointers(arg: u32, offsets: Cell) -> Cell {
    match offsets {
        Cell::Ints(offsets) => Cell::Ptrs(PtrBlock { arg, offsets }),
        Cell::Int(s) => Cell::Ptr(Pointer { arg, offset: s.value, taint: s.taint }),
        other => other,
    }
}

fn only_lane(cell: &Cell) -> Cell {
    let flag = |taints: &super::value::Taints| taints.as_ref().map_or(0, |t| t[0]);
    match cell {
        Cell::Ints(block) => Cell::Int(Scalar { value: block.at(0), taint: flag(&block.taints) }),
        Cell::Mask(block) => Cell::Int(Scalar { value: block.values()[0].into(), taint: flag(&block.taints) }),
        Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) | Cell::Floats(_) | Cell::Ptrs(_) => cell.clone(),
    }
}
