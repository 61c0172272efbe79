//! Which program wrote an element last, for one launch.
//!
//! Fresh memory costs more than the marks themselves (the system clears and maps it page by page), so marks are kept
//! for later launches of the thread: a launch counts its programs from where the launch before it ended, and what
//! lies below is as good as zero.

use std::cell::RefCell;

/// By element: the program, counted from `before`, + 1.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    last: Vec<u32>,
    /// Marks up to this are of launches that are over.
    before: u32,
    /// The largest mark made.
    highest: u32,
}

/// Elements of all marks that are kept together: 64 MiB.
const KEPT: usize = 1 << 24;
/// From here on marks are cleared: a launch has fewer programs than are left.
const FULL: u32 = u32::MAX / 2;

thread_local! {
    static SHELF: RefCell<Vec<(Vec<u32>, u32)>> = const { RefCell::new(Vec::new()) };
}

impl Marks {
    /// No element of these is written yet; `programs` may write them.
    pub fn new(len: usize, programs: u32) -> Marks {
        let kept = SHELF.with_borrow_mut(|shelf| {
            let found = shelf.iter().rposition(|(last, _)| last.capacity() >= len)?;
            Some(shelf.swap_remove(found))
        });
        let (mut last, mut before) = kept.unwrap_or_default();
        if before.checked_add(programs).is_none_or(|end| end >= FULL) {
            last.clear();
            before = 0;
        }
        match last.is_empty() {
            true => last = vec![0; len],
            false => last.resize(len, 0),
        }
        Marks { last, before, highest: before }
    }

    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// The program that wrote an element last.
    pub fn writer(&self, at: usize) -> Option<u32> {
        self.last[at].checked_sub(self.before + 1)
    }

    pub fn set(&mut self, at: usize, program: u32) {
        self.last[at] = self.mark(program);
    }

    fn mark(&mut self, program: u32) -> u32 {
        let mark = self.before + program + 1;
        self.highest = self.highest.max(mark);
        mark
    }

    /// Marks elements as written by a program; the first of them that another one wrote, when somebody asks.
    pub fn write(&mut self, start: usize, len: usize, program: u32, asks: bool) -> Option<usize> {
        let (own, before) = (self.mark(program), self.before);
        let line = &mut self.last[start..start + len];
        let others = |&mark: &u32| mark > before && mark != own;
        if asks && line.iter().fold(false, |any, mark| any | others(mark)) {
            return line.iter().position(others).map(|at| start + at);
        }
        line.fill(own);
        None
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        let (last, highest) = (std::mem::take(&mut self.last), self.highest);
        if last.is_empty() {
            return;
        }
        // The thread may be ending: then there is no shelf any more.
        let _ = SHELF.try_with(|shelf| {
            let mut shelf = shelf.borrow_mut();
            let kept: usize = shelf.iter().map(|(last, _)| last.capacity()).sum();
            if kept + last.capacity() <= KEPT {
                shelf.push((last, highest));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_launches_before_are_forgotten() {
        for round in 0..3 {
            let mut marks = Marks::new(10 + round, 6);
            assert_eq!((0..10 + round).find_map(|at| marks.writer(at)), None);
            assert_eq!(marks.write(2, 3, 5, true), None);
            assert_eq!(marks.write(4, 2, 5, true), None);
            assert_eq!(marks.write(0, 4, 1, true), Some(2));
            assert_eq!((marks.writer(2), marks.writer(1)), (Some(5), None));
            assert_eq!(marks.write(0, 4, 1, false), None);
            assert_eq!(marks.writer(3), Some(1));
        }
    }

    #[test]
    fn marks_never_run_out() {
        let programs = FULL / 2 - 1;
        for _ in 0..5 {
            let mut marks = Marks::new(4, programs);
            assert_eq!(marks.writer(1), None);
            marks.set(1, programs - 1);
            assert_eq!(marks.writer(1), Some(programs - 1));
        }
    }
}
