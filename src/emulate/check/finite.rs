//! Where a stored NaN or infinity comes from (A022): the instruction that made it of finite operands.
//!
//! Stores look whether a lane is finite. The first program that stores one that is not runs again, dense, and each value
//! that is not finite carries the instruction where it began: a NaN where no operand was NaN, an infinity where all
//! operands were finite. What is loaded so, or written so in the kernel (`float("-inf")` as a neutral element), is no
//! birth.
//!
//! Misses: which lane of a block went where, where a value mixes lanes of several origins: the first operand's counts.
//! Lanes that never reach a store.

use std::collections::HashMap;

use super::dead_store::name_of;
use super::race::coordinates;
use crate::diag::{Diagnostic, codes};
use crate::emulate::exec::{Cells, Machine};
use crate::emulate::launch::Event;
use crate::emulate::tape::place::reads;
use crate::emulate::tape::{Code, Instruction, Slot};
use crate::emulate::value::{Cell, Floats};
use crate::kernel::ir::Literal;
use crate::source::Span;

/// What is not finite in a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct State {
    nan: bool,
    inf: bool,
}

/// Where such a value began.
#[derive(Clone, Debug)]
enum Origin {
    Made {
        span: Span,
        nan: bool,
        operands: Vec<f64>,
    },
    /// In memory, or in the text of the kernel.
    Given,
}

/// Origins of the cells of one program.
pub struct Trace {
    event: Event,
    origins: HashMap<Slot, Origin>,
    /// Of the value that the event stored, and the store.
    found: Option<(Option<Origin>, Span)>,
}

/// The operands before an instruction.
pub struct Before {
    operands: Vec<(Slot, State, Option<Cell>)>,
}

impl Trace {
    pub fn new(event: Event) -> Trace {
        Trace { event, origins: HashMap::new(), found: None }
    }

    pub fn before(&self, instruction: &Instruction, cells: &Cells) -> Before {
        let keep = makes_floats(&instruction.code);
        let operand = |slot: Slot| {
            let cell = cells.get(slot);
            (slot, state(cell), keep.then(|| cell.clone()))
        };
        Before { operands: reads(&instruction.code).into_iter().map(operand).collect() }
    }

    pub fn after(&mut self, instruction: &Instruction, before: &Before, cells: &Cells) {
        if let Code::StoreLanes(_, value, ..) = &instruction.code
            && self.found.is_none()
            && state(cells.get(*value)) != State::default()
        {
            // The event is the first store of its program that is not finite.
            self.found = Some((self.origins.get(value).cloned(), instruction.span));
        }
        let written: &[Slot] = match &instruction.code {
            Code::Reduce(reduce) => &reduce.results,
            Code::Scan(scan) => &scan.results,
            _ if instruction.out == Slot::NONE => return,
            _ => std::slice::from_ref(&instruction.out),
        };
        for &slot in written {
            let after = state(cells.get(slot));
            if after == State::default() {
                self.origins.remove(&slot);
                continue;
            }
            let nan_before = before.operands.iter().find(|(_, state, _)| state.nan);
            let inf_before = before.operands.iter().find(|(_, state, _)| state.inf);
            let inherited = if after.nan { nan_before } else { nan_before.or(inf_before) };
            let origin = match (inherited, &instruction.code) {
                (Some((slot, ..)), _) => self.origins.get(slot).cloned().unwrap_or(Origin::Given),
                (None, Code::Constant(Literal::Float(_), _) | Code::LoadLanes(..) | Code::Atomic(_) | Code::Argument(_)) => {
                    Origin::Given
                }
                (None, _) => {
                    let operands = operands_of(cells.get(slot), after.nan, before);
                    Origin::Made { span: instruction.span, nan: after.nan, operands }
                }
            };
            self.origins.insert(slot, origin);
        }
    }
}

/// Whether operands are worth keeping for a message.
fn makes_floats(code: &Code) -> bool {
    matches!(code, Code::Float(..) | Code::Unary(..) | Code::Fma(..) | Code::Cast(..))
}

fn state(cell: &Cell) -> State {
    let (mut nan, mut inf) = (false, false);
    let mut see = |x: f64| {
        nan |= x.is_nan();
        inf |= x.is_infinite();
    };
    match cell {
        Cell::Float(s) => see(s.value),
        Cell::Floats(block) => match &block.lanes {
            Floats::F32(lanes) => lanes.iter().for_each(|&x| see(x.into())),
            Floats::F64(lanes) => lanes.iter().for_each(|&x| see(x)),
        },
        Cell::Empty | Cell::Int(_) | Cell::Ptr(_) | Cell::Ints(_) | Cell::Mask(_) | Cell::Ptrs(_) => {}
    }
    State { nan, inf }
}

/// The operands' lanes where the result's first lane is not finite.
fn operands_of(result: &Cell, nan: bool, before: &Before) -> Vec<f64> {
    let bad = |x: f64| if nan { x.is_nan() } else { x.is_infinite() };
    let place = match result {
        Cell::Floats(block) => match &block.lanes {
            Floats::F32(lanes) => lanes.iter().position(|&x| bad(x.into())),
            Floats::F64(lanes) => lanes.iter().position(|&x| bad(x)),
        },
        _ => Some(0),
    };
    let Some(place) = place else { return Vec::new() };
    let lane = |cell: &Cell| match cell {
        Cell::Float(s) => Some(s.value),
        Cell::Int(s) => Some(s.value as f64),
        // Lanes of another order are not compared.
        Cell::Floats(block) if result.layout().is_none_or(|layout| layout.same_order(&block.layout)) => match &block.lanes {
            Floats::F32(lanes) => lanes.get(place).map(|&x| x.into()),
            Floats::F64(lanes) => lanes.get(place).copied(),
        },
        _ => None,
    };
    before.operands.iter().filter_map(|(_, _, cell)| cell.as_ref().and_then(lane)).collect()
}

/// The machine has run the program again, traced.
pub fn explain(machine: &Machine<'_>, event: Event) -> Diagnostic {
    let launch = machine.launch;
    let source = &launch.program.kernel.source;
    let element = name_of(machine, event);
    let stored = machine.port.buffer(event.buffer).lanes.get_f64(event.element);
    let program = format!("program: {:?}", coordinates(launch.grid, event.program));
    let what = if stored.is_nan() { "NaN" } else { "an infinity" };
    let found = machine.trace.as_ref().filter(|trace| trace.event == event).and_then(|trace| trace.found.as_ref());
    let stored_at = |diagnostic: Diagnostic| match found {
        Some((_, span)) => diagnostic.at(source, *span),
        None => diagnostic,
    };
    match found.and_then(|(origin, _)| origin.as_ref()) {
        Some(Origin::Made { span, nan, operands }) => {
            let made = if *nan { "NaN" } else { "an infinity" };
            let message = format!("{made} is made here and reaches {element}");
            let diagnostic = Diagnostic::new(&codes::NOT_FINITE, message).at(source, *span).note(program);
            let numbers: Vec<String> = operands.iter().map(f64::to_string).collect();
            let diagnostic = match numbers.is_empty() {
                true => diagnostic,
                false => diagnostic.note(format!("operands: {}", numbers.join(", "))),
            };
            diagnostic.help("guard the operand (a maximum, an epsilon, `tl.where` around the division or logarithm)")
        }
        Some(Origin::Given) => {
            let message = format!("{what} that the kernel was given reaches {element}");
            stored_at(Diagnostic::new(&codes::NOT_FINITE, message))
                .note(program)
                .help("look at the inputs; a neutral element such as -inf must not reach an output")
        }
        None => stored_at(Diagnostic::new(&codes::NOT_FINITE, format!("{what} is stored to {element}")))
            .note(program)
            .help("the launch overwrote what it loaded, so that where it began cannot be told; store to another tensor to see"),
    }
}
