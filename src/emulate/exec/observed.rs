//! Running one program under an observer: the loop of [`Machine::resume`] with a look before and after every instruction.
//! A loop of its own, so that the fast one asks nobody.

use super::{Machine, POLL, Step};
use crate::emulate::observe::Go;
use crate::emulate::tape::{Code, Instruction, Slot};
use crate::emulate::value::Origin;

/// Called with each instruction, before (`false`) and after (`true`) it is executed.
pub type Watch<'w> = dyn FnMut(&mut Machine<'_>, &Instruction, bool) -> Go + 'w;

impl Machine<'_> {
    /// Runs one program from its start, or until the observer has seen enough.
    pub fn run_observed(&mut self, linear: u32, watch: &mut Watch<'_>) -> Step {
        self.begin(linear)?;
        let tape = self.tape;
        loop {
            let instruction = &tape.code[self.state.pc];
            self.state.pc += 1;
            if self.state.fuel.is_multiple_of(POLL) {
                self.poll(instruction)?;
            }
            self.state.fuel -= 1;
            if watch(self, instruction, false) == Go::Stop || matches!(instruction.code, Code::Return) {
                return Ok(());
            }
            self.step(instruction)?;
            if watch(self, instruction, true) == Go::Stop {
                return Ok(());
            }
        }
    }

    /// Runs a part of the tape up to its `Return`, as the combine function of a reduction, under the observer.
    pub fn part_observed(&mut self, start: usize, watch: &mut Watch<'_>) -> Step {
        let tape = self.tape;
        let back = std::mem::replace(&mut self.state.pc, start);
        loop {
            let instruction = &tape.code[self.state.pc];
            self.state.pc += 1;
            if self.state.fuel.is_multiple_of(POLL) {
                self.poll(instruction)?;
            }
            self.state.fuel -= 1;
            if matches!(instruction.code, Code::Return) || watch(self, instruction, false) == Go::Stop {
                break;
            }
            self.step(instruction)?;
            if watch(self, instruction, true) == Go::Stop {
                break;
            }
        }
        self.state.pc = back;
        Ok(())
    }

    /// The provenance and addresses of an access, and the lanes that its mask lets through (none are named without a mask).
    pub fn addresses(&mut self, ptr: Slot, mask: Option<Slot>, shape: &[usize]) -> (Origin, Vec<i64>, Vec<bool>) {
        let access = self.access(ptr, mask, shape);
        let active =
            if mask.is_some() { (0..access.offsets.len()).map(|lane| access.active(lane)).collect() } else { Vec::new() };
        (Origin::of(access.arg), access.offsets, active)
    }
}
