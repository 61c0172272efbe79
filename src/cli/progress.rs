//! Progress bars by stage on stderr; silent when stderr is not a terminal.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::pipeline::{Observer, Silent};

/// An observer that can be told that the run is over.
pub trait Progress: Observer {
    fn finish(&self);
}

impl Progress for Silent {
    fn finish(&self) {}
}

/// Bars on a terminal, else silence.
pub fn bars(silent: bool) -> Box<dyn Progress> {
    if silent || !std::io::stderr().is_terminal() {
        return Box::new(Silent);
    }
    Box::new(Bars { current: RefCell::new(ProgressBar::hidden()) })
}

/// An observer that panics where a stage begins, as a fault in that stage would.
pub fn striking(stage: &str) -> Box<dyn Progress> {
    Box::new(Striking(stage.to_owned()))
}

struct Striking(String);

impl Observer for Striking {
    fn stage(&self, name: &str, _: usize) {
        assert!(name != self.0, "injected fault in {name}");
    }

    fn step(&self, _: &str) {}
}

impl Progress for Striking {
    fn finish(&self) {}
}

struct Bars {
    current: RefCell<ProgressBar>,
}

impl Observer for Bars {
    fn stage(&self, name: &str, steps: usize) {
        self.current.borrow().finish_and_clear();
        let bar = if steps == 0 { ProgressBar::new_spinner() } else { ProgressBar::new(steps as u64) };
        let template = if steps == 0 { "{prefix:>12} {spinner} {msg}" } else { "{prefix:>12} [{bar:30}] {pos}/{len} {wide_msg}" };
        // The templates are constant and valid; a default bar is a harmless fallback.
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "),
        );
        bar.set_prefix(name.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        *self.current.borrow_mut() = bar;
    }

    fn step(&self, what: &str) {
        let bar = self.current.borrow();
        bar.set_message(what.to_owned());
        bar.inc(1);
    }
}

impl Progress for Bars {
    fn finish(&self) {
        self.current.borrow().finish_and_clear();
    }
}
