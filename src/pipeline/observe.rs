//! How a long run tells its caller where it is, and how the caller stops it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::diag::{Diagnostic, Result, codes};

/// Watches a run. Called from one thread.
pub trait Observer {
    /// A stage begins, of so many steps (0 when unknown).
    fn stage(&self, name: &str, steps: usize);
    /// A step of the stage ends.
    fn step(&self, what: &str);
}

/// Watches nothing.
pub struct Silent;

impl Observer for Silent {
    fn stage(&self, _: &str, _: usize) {}
    fn step(&self, _: &str) {}
}

/// Set from outside (Ctrl-C) to end a run at its next step, and an emulated launch within it.
#[derive(Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// For what runs long by itself and looks at the flag now and then.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    /// An error once cancelled.
    pub fn check(&self) -> Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Box::new(Diagnostic::new(&codes::INTERRUPTED, "interrupted; nothing was written"))),
            false => Ok(()),
        }
    }
}
