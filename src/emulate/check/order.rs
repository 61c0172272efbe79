//! What programs of one launch know of each other: a write that one program released and another acquired is no
//! race.
//!
//! Algorithm: vector clocks (Mattern 1989; as in FastTrack, Flanagan and Freund 2009). A program's time goes up with
//! each release. A place that atomics use keeps the clock of those who released there; an acquire takes it over.
//! Atomics of single elements are places of their own; an atomic on a block counts as one on the whole buffer. A
//! volatile load knows all that the last writer of its element did before, as if that write were a release: flags
//! are written by plain stores.
//!
//! An acquire counts only where the program looks at the old value: otherwise it cannot know what it came after, and
//! another order of programs would have been as good.
//!
//! Misses: what is ordered here by a place that is coarser than the program's own; scopes (an atomic of scope `cta`
//! orders nothing between programs, and is taken as any other).

use std::collections::HashMap;
use std::sync::Arc;

use crate::emulate::launch::BufferId;

/// By program: the latest of its times that is known; zero is nothing.
type Clock = Arc<Vec<u32>>;

/// Launches of more programs keep no clocks, and their races are not looked for where they synchronise.
pub const MANY: u32 = 1 << 15;

#[derive(Clone, Debug, Default)]
pub struct Order {
    /// A program's own time, less one.
    times: HashMap<u32, u32>,
    known: HashMap<u32, Clock>,
    places: HashMap<(BufferId, Option<usize>), Clock>,
}

impl Order {
    pub fn time(&self, program: u32) -> u32 {
        self.times.get(&program).map_or(1, |t| t + 1)
    }

    /// Whether all that `other` did up to a time came before what `program` does next.
    pub fn knows(&self, program: u32, other: u32, time: u32) -> bool {
        program == other || self.known.get(&program).and_then(|c| c.get(other as usize)).is_some_and(|&t| t >= time)
    }

    pub fn acquire(&mut self, program: u32, buffer: BufferId, element: Option<usize>) {
        let clock = self.known.entry(program).or_default();
        match element {
            Some(_) => {
                for place in [(buffer, None), (buffer, element)] {
                    if let Some(released) = self.places.get(&place) {
                        join(clock, released);
                    }
                }
            }
            None => {
                let all = self.places.iter().filter(|((at, _), _)| *at == buffer);
                all.for_each(|(_, released)| join(clock, released));
            }
        }
    }

    pub fn release(&mut self, program: u32, buffer: BufferId, element: Option<usize>) {
        let time = self.time(program);
        let place = self.places.entry((buffer, element)).or_default();
        if let Some(known) = self.known.get(&program) {
            join(place, known);
        }
        raise(place, program, time);
        *self.times.entry(program).or_default() += 1;
    }

    /// `program` has seen what `other` wrote at a time.
    pub fn learn(&mut self, program: u32, other: u32, time: u32) {
        if !self.knows(program, other, time) {
            raise(self.known.entry(program).or_default(), other, time);
        }
    }
}

fn raise(clock: &mut Clock, program: u32, time: u32) {
    let clock = Arc::make_mut(clock);
    if clock.len() <= program as usize {
        clock.resize(program as usize + 1, 0);
    }
    let known = &mut clock[program as usize];
    *known = time.max(*known);
}

fn join(clock: &mut Clock, other: &Clock) {
    if Arc::ptr_eq(clock, other) || clock.len() >= other.len() && clock.iter().zip(other.iter()).all(|(a, b)| a >= b) {
        return;
    }
    if other.len() >= clock.len() && clock.iter().zip(other.iter()).all(|(a, b)| a <= b) {
        *clock = other.clone();
        return;
    }
    let clock = Arc::make_mut(clock);
    clock.resize(clock.len().max(other.len()), 0);
    clock.iter_mut().zip(other.iter()).for_each(|(a, b)| *a = (*a).max(*b));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_released_and_acquired_is_known() {
        let mut order = Order::default();
        let (lock, flags) = (BufferId(0), BufferId(1));
        let time = order.time(3);
        order.acquire(3, lock, Some(0));
        order.release(3, lock, Some(0));
        assert!(!order.knows(5, 3, time));
        order.acquire(5, lock, Some(1));
        assert!(!order.knows(5, 3, time), "another lock");
        order.acquire(5, lock, Some(0));
        assert!(order.knows(5, 3, time) && !order.knows(5, 3, order.time(3)), "what it did after the release");
        // Through a third program.
        order.release(5, flags, None);
        order.acquire(1, flags, Some(7));
        assert!(order.knows(1, 3, time) && order.knows(1, 5, 1) && !order.knows(1, 2, 1));
        order.learn(2, 1, order.time(1));
        assert!(order.knows(2, 1, 1) && !order.knows(2, 3, time));
    }
}
