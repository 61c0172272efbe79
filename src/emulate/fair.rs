//! Programs that wait for others: spin locks, flags, barriers of a whole grid.
//!
//! A program starts on the fast path like any other. When it loops without changing memory, it is undone and begun
//! again on the dense tape, where it stops at the end of an idle turn (`exec::atomic::Talk`) and becomes one of those
//! that wait. They go on in rounds, each until its next idle turn or its end. Programs begin in the order of the
//! grid; once all have begun, a round in which nobody changes memory or ends, and after which everybody has the values
//! that he had before, is a deadlock (`check::deadlock`). One thread runs all of them, so that outcomes are the same
//! every time.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;

use super::check::{deadlock, fuel};
use super::exec::atomic::Talk;
use super::exec::{Launch, Machine, ProgramState};
use super::launch::RunReport;
use super::memory::{Committer, Port};
use super::replay::explained;
use crate::diag;

/// A program that has stopped and can go on.
pub struct Waiting {
    pub program: u32,
    pub state: ProgramState,
    pub talk: Talk,
}

/// More waiting programs than this are asked again before another one begins.
const CROWD: usize = 64;

pub struct Fair<'l> {
    launch: &'l Launch<'l>,
    /// Runs whoever waits, dense and traced.
    machine: Machine<'l>,
    waiting: Vec<Waiting>,
}

impl<'l> Fair<'l> {
    pub fn new(launch: &'l Launch<'l>) -> Fair<'l> {
        let mut machine = Machine::new(launch, &launch.program.dense, Port::Closed);
        machine.explain = true;
        Fair { launch, machine, waiting: Vec::new() }
    }

    pub fn wait(&mut self, waiting: Waiting) -> diag::Result<()> {
        self.waiting.push(waiting);
        let bytes: usize = self.waiting.iter().map(|w| w.state.cells.bytes()).sum();
        if bytes > self.launch.memory {
            return Err(fuel::waiting(self.launch, self.waiting.len(), bytes));
        }
        Ok(())
    }

    pub fn is_crowded(&self) -> bool {
        self.waiting.len() > CROWD
    }

    /// Lets everybody who waits go on once. Whether anything changed.
    pub fn round(&mut self, port: &mut Port<'l>) -> diag::Result<bool> {
        std::mem::swap(&mut self.machine.port, port);
        let outcome = self.everybody_once();
        std::mem::swap(&mut self.machine.port, port);
        outcome
    }

    fn everybody_once(&mut self) -> diag::Result<bool> {
        let mut changed = false;
        for Waiting { program, state, talk } in std::mem::take(&mut self.waiting) {
            if let Port::Direct(Committer { undo: Some(undo), .. }) = &mut self.machine.port {
                undo.clear();
            }
            self.machine.state = state;
            self.machine.talk = talk;
            self.machine.talk.may_wait = true;
            self.machine.talk.has_waited = true;
            let outcome = self.machine.run_on(program);
            match explained(&mut self.machine, program, outcome)? {
                None => changed = true,
                Some(waiting) => {
                    changed |= waiting.talk.changes != talk.changes;
                    self.waiting.push(waiting);
                }
            }
        }
        Ok(changed)
    }

    /// Rounds until nobody waits.
    pub fn finish(&mut self, port: &mut Port<'l>) -> diag::Result<()> {
        let mut before: Option<Vec<u64>> = None;
        while !self.waiting.is_empty() {
            if self.round(port)? {
                before = None;
                continue;
            }
            let now: Vec<u64> = self.waiting.iter().map(|w| fingerprint(&w.state)).collect();
            if before.as_ref() == Some(&now) {
                if !self.launch.checks.deadlock {
                    return Ok(());
                }
                let waiting: Vec<_> = self.waiting.iter().map(|w| (w.program, w.talk.looked_at)).collect();
                return Err(deadlock::explain(self.launch, port.memory(), &waiting));
            }
            before = Some(now);
        }
        Ok(())
    }

    /// Adds what was done here to a report.
    pub fn count(&self, report: &mut RunReport) {
        report.instructions += self.machine.report.instructions;
        report.lines_gathered += self.machine.report.lines_gathered;
        report.noticed.merge(&self.machine.report.noticed);
    }
}

/// Where a program is and all of its values.
fn fingerprint(state: &ProgramState) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_usize(state.pc);
    state.cells.hash_locals(&mut hasher);
    hasher.finish()
}
