//! PTX of `tl.inline_asm_elementwise`: registers and straight-line instructions.
//!
//! The text is read when a kernel is compiled (`read`), so that an instruction that the table in `opcode`
//! lacks is refused by name before anything runs. `run` executes it on raw register bits; `number` says how a
//! type's bits are a number. What a GPU approximates (`ex2.approx`, `tanh.approx`) is computed accurately.
//!
//! Does not read: branches, memory, warps (`shfl`, `vote`), `mma`.

pub mod number;
pub mod opcode;
mod read;
mod run;

pub use read::read;
pub use run::{Clock, run};

/// A register: what `$0` or a name stands for. Holds 64 bits.
pub type Register = usize;

#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    Register(Register),
    /// Bits of a literal, as the instruction's type has them.
    Bits(u64),
    Special(Special),
}

/// Registers that the machine fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `%globaltimer`, `%clock`, `%clock64`: rises from reading to reading.
    Time,
    /// Places in a machine that is not emulated: always 0.
    Zero,
}

#[derive(Clone, Debug)]
pub struct Statement {
    /// A predicate, and the value at which the instruction runs.
    pub guard: Option<(Register, bool)>,
    pub opcode: opcode::Opcode,
    pub to: Vec<Register>,
    pub from: Vec<Operand>,
}

/// A text that was read.
#[derive(Clone, Debug)]
pub struct Ptx {
    pub statements: Vec<Statement>,
    /// `$0`, `$1`, … come first, outputs before inputs.
    pub registers: usize,
    pub outputs: usize,
    pub inputs: usize,
    /// Inputs that start in an output's register.
    pub tied: Vec<(Register, Register)>,
}
