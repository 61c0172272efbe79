//! What the emulator is asked to run: a grid of one verified kernel over views of buffers; and what
//! it reports when all went well.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::diag::Diagnostic;
use crate::dtype::DType;
use crate::shape::{Shape, Strides};
use crate::tensor::Storage;

/// Into [`Memory::buffers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub usize);

/// One allocation with its shadow state.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// For messages: the operand's or value's name.
    pub name: String,
    pub lanes: Storage,
    /// Which elements nothing has written yet (`torch.empty`); `None` when all are defined.
    pub undefined: Option<Bits>,
    /// Launches may not store to it.
    pub read_only: bool,
    /// Its address. No other buffer lies nearer than a page.
    pub base: i64,
    /// The elements' type where it was told; launches say it by their parameters.
    pub dtype: Option<DType>,
}

/// One bit an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits {
    pub words: Vec<u64>,
    pub len: usize,
}

/// All buffers that launches work on.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub buffers: Vec<Buffer>,
}

/// What a pointer argument may touch: the elements of a strided view, and nothing between them.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub buffer: BufferId,
    /// Element of the buffer that the pointer points at.
    pub pointer: usize,
    pub shape: Shape,
    pub strides: Strides,
    /// Element of the buffer where index (0, …, 0) of the view lies.
    pub origin: usize,
}

/// One run-time argument of a kernel, in the order of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    Pointer(View),
    Int(i64),
    Float(f64),
}

/// Which checks watch a launch. Those that find faults are on by default, those that warn are on in
/// [`Checks::watchful`]; the honesty tests switch one off to see that it, and
/// only it, catches its faults ([`crate::emulate::check::ALL`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Loads and stores stay inside their view (A001, A002). Switched off, an access outside the
    /// view but inside the buffer goes through; outside the buffer a load gives zero and a store
    /// does nothing.
    pub bounds: bool,
    /// Undefined lanes reach no store, address or branch (A003, A004, A005).
    pub poison: bool,
    /// Loads see only memory that something has written (A010).
    pub uninitialised: bool,
    /// No two programs write one element, none reads what another wrote (A007, A008).
    pub races: bool,
    /// No two lanes of a program store different values to one element at once (A013). Switched off, the last
    /// lane's value stays.
    pub overlap: bool,
    /// A quotient by zero reaches no store, address or branch (A009).
    pub division: bool,
    /// A wrapped integer reaches no store, address or branch (A011).
    pub wrapped: bool,
    /// Protected buffers are not stored to (A014).
    pub read_only: bool,
    /// Some program can go on at any time (A015). Switched off, programs that wait for ever are left where they are.
    pub deadlock: bool,
    /// Lanes of a program exchange values through memory only across a barrier (A016).
    pub exchange: bool,
    /// What the program promises of values holds (A017).
    pub hints: bool,
    /// What the program assumes holds (A018).
    pub assumptions: bool,
    /// No plain access meets an atomic one of another program (A019).
    pub mixed: bool,
    /// A shift by the width of its type or more reaches no store, address or branch (A023).
    pub shift: bool,
    /// Addresses are multiples of the size of what is accessed (A020).
    pub alignment: bool,
    /// Programs that talk to each other give the same results in the reverse order (A021). A warning; off by default.
    pub order: bool,
    /// NaN and Inf that reach a store are told with the instruction that made them (A022). A warning; off by default.
    pub births: bool,
    /// Casts that lose more than rounding does (A024). A warning; off by default.
    pub casts: bool,
    /// Masks that are computed and not used (A025). A warning; off by default.
    pub masks: bool,
    /// Elements that a program stores twice (A026). A warning; off by default.
    pub dead_stores: bool,
    /// Assertions of the kernel hold (A012).
    pub asserts: bool,
    /// Every element of a view is written in the end (A006), for who asks with [`crate::emulate::coverage`].
    pub coverage: bool,
}

impl Default for Checks {
    fn default() -> Self {
        Checks {
            bounds: true,
            poison: true,
            uninitialised: true,
            races: true,
            overlap: true,
            division: true,
            wrapped: true,
            read_only: true,
            deadlock: true,
            exchange: true,
            hints: true,
            assumptions: true,
            mixed: true,
            alignment: true,
            shift: true,
            order: false,
            births: false,
            casts: false,
            masks: false,
            dead_stores: false,
            asserts: true,
            coverage: true,
        }
    }
}

impl Checks {
    /// None at all: what a kernel computes where something was found already.
    pub const NONE: Checks = Checks {
        bounds: false,
        poison: false,
        uninitialised: false,
        races: false,
        overlap: false,
        division: false,
        wrapped: false,
        read_only: false,
        deadlock: false,
        exchange: false,
        hints: false,
        assumptions: false,
        mixed: false,
        shift: false,
        alignment: false,
        order: false,
        births: false,
        casts: false,
        masks: false,
        dead_stores: false,
        asserts: false,
        coverage: false,
    };

    /// Warnings, too.
    pub fn watchful() -> Checks {
        Checks { order: true, births: true, casts: true, masks: true, dead_stores: true, ..Checks::default() }
    }
}

/// Instructions that a program may execute where nothing is said: millions of turns of a loop, or some seconds of an
/// endless one.
const FUEL: u64 = 1 << 28;

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Worker threads; 1 runs on the calling thread.
    pub threads: usize,
    /// Materialise every block value (the oracle of the lazy forms).
    pub dense: bool,
    /// Instructions a program may execute before it is a [`crate::diag::Class::Limit`].
    pub fuel: u64,
    /// Bytes of block values that one program may hold before it is a [`crate::diag::Class::Limit`].
    pub memory: usize,
    pub checks: Checks,
    /// Begin with the last program of the grid.
    pub reverse: bool,
    /// Run these programs only, in ascending order: what is not written is then no fault of theirs.
    pub only: Option<Arc<[u32]>>,
    /// Ends the launch with [`crate::diag::codes::INTERRUPTED`] soon after it becomes true.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            threads: 1,
            dense: false,
            fuel: FUEL,
            memory: 1 << 30,
            checks: Checks::default(),
            reverse: false,
            only: None,
            cancel: None,
        }
    }
}

/// What a launch did. Counts are exact and equal for any number of threads.
#[derive(Clone, Debug, Default)]
pub struct RunReport {
    pub programs: u64,
    /// Tape instructions executed.
    pub instructions: u64,
    /// Operands that a dot read where they lie.
    pub tiles_viewed: u64,
    /// Lines of loads and stores that were one copy.
    pub lines_copied: u64,
    /// Lines copied under a mask of lanes.
    pub lines_masked: u64,
    /// Lines that went lane by lane.
    pub lines_gathered: u64,
    /// Programs that the fast path found suspect and that were run again, dense and traced.
    pub replayed: u64,
    /// What is worth a warning.
    pub findings: Vec<Diagnostic>,
    /// What findings are made of.
    pub noticed: Noticed,
}

/// Events of a launch, the first of each kind in program order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noticed {
    /// A NaN or an infinity was stored.
    pub not_finite: Option<Event>,
    /// An element was stored twice.
    pub twice: Option<Event>,
}

/// What a program did to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub program: u32,
    pub buffer: BufferId,
    pub element: usize,
}

impl Noticed {
    /// The earlier of each kind.
    pub fn merge(&mut self, other: &Noticed) {
        let first = |a: Option<Event>, b: Option<Event>| a.into_iter().chain(b).min_by_key(|event| event.program);
        self.not_finite = first(self.not_finite, other.not_finite);
        self.twice = first(self.twice, other.twice);
    }
}
