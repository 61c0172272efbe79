//! What was found out about every mutation, counted.

use super::judge::Named;
use super::mutation::Key;
use crate::diag::{Diagnostic, codes};

/// Why a mutation is no mistake.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// In every case the specialised, simplified kernels and launches are the same.
    SameKernel,
    /// A masked lane that no store, address or branch ever depends on: the load without `other` leaves
    /// its masked lanes undefined, and no undefined lane was seen there in any case.
    Unobserved,
    /// An edit of a wrapper, which serves one shape alone: at it, every program keeps all rules, and the
    /// output is the same bit for bit on random numbers.
    SameRun,
    /// From the list.
    Listed(String),
}

/// What became of a mutation over all cases of its subject.
#[derive(Clone, Debug)]
pub enum Outcome {
    Equivalent(Argument),
    Caught {
        /// Name of the first case that caught it.
        case: String,
        code: &'static str,
        named: Named,
        message: Box<Diagnostic>,
    },
    Escaped,
    /// Our front end does not read it: nothing was tested.
    Refused(Box<Diagnostic>),
    /// We failed.
    Broken(String),
}

/// One mutation of one subject.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// A template, or `run.py`.
    pub subject: String,
    pub key: Key,
    pub outcome: Outcome,
}

impl Mutant {
    /// Whether the message names the edited statement: exactly where it has a place of its own, among
    /// the first three lines to look at where it is about values.
    pub fn named(&self) -> bool {
        match &self.outcome {
            Outcome::Caught { case: _, code, named, message: _ } => named_right(code, *named),
            Outcome::Equivalent(_) | Outcome::Escaped | Outcome::Refused(_) | Outcome::Broken(_) => false,
        }
    }
}

fn named_right(code: &str, named: Named) -> bool {
    match named {
        Named::Exact => true,
        Named::Ranked(k) => has_no_line(code) && k <= 3,
        Named::No => false,
    }
}

/// Whether a message of this code has lines to look at and none of its own: wrong values, wrong shapes,
/// elements that nothing wrote.
fn has_no_line(code: &str) -> bool {
    code.starts_with(['B', 'C']) || code == codes::NEVER_WRITTEN.id
}

/// The counts of a row of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub mutants: usize,
    pub equivalent: usize,
    pub refused: usize,
    pub caught: usize,
    pub escaped: usize,
    pub broken: usize,
    /// Caught with the right line.
    pub named: usize,
    /// Caught by a message with a line of its own, and of these at the line.
    pub placed: usize,
    pub placed_right: usize,
    /// Of those not at the line, within the first three lines to look at.
    pub placed_ranked: usize,
    /// Caught by what has no line of its own (values, shapes, gaps), and of these within the first three lines.
    pub valued: usize,
    pub valued_right: usize,
}

impl Counts {
    pub fn add(&mut self, mutant: &Mutant) {
        self.mutants += 1;
        match &mutant.outcome {
            Outcome::Equivalent(_) => self.equivalent += 1,
            Outcome::Refused(_) => self.refused += 1,
            Outcome::Escaped => self.escaped += 1,
            Outcome::Broken(_) => self.broken += 1,
            Outcome::Caught { case: _, code, named, message: _ } => {
                let right = named_right(code, *named);
                self.caught += 1;
                self.named += usize::from(right);
                if has_no_line(code) {
                    self.valued += 1;
                    self.valued_right += usize::from(right);
                } else {
                    self.placed += 1;
                    self.placed_right += usize::from(right);
                    self.placed_ranked += usize::from(matches!(named, Named::Ranked(k) if *k <= 3));
                }
            }
        }
    }

    /// What should have been caught: neither equivalent nor refused.
    pub fn mistakes(&self) -> usize {
        self.caught + self.escaped + self.broken
    }
}

/// All mutants of a run, in the order of subjects and of the text.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub mutants: Vec<Mutant>,
    /// How many cases each subject has.
    pub cases: Vec<(String, usize)>,
}

impl Report {
    /// One row a subject.
    pub fn by_subject(&self) -> Vec<(String, Counts)> {
        self.cases.iter().map(|(subject, _)| (subject.clone(), self.counts(|m| m.subject == *subject))).collect()
    }

    /// One row an operator that made a mutant.
    pub fn by_operator(&self) -> Vec<(String, Counts)> {
        let operators = super::operators::ALL.iter().map(|o| o.name);
        operators.map(|name| (name.to_owned(), self.counts(|m| m.key.operator == name))).filter(|(_, c)| c.mutants > 0).collect()
    }

    pub fn total(&self) -> Counts {
        self.counts(|_| true)
    }

    fn counts(&self, of: impl Fn(&Mutant) -> bool) -> Counts {
        let mut counts = Counts::default();
        self.mutants.iter().filter(|m| of(m)).for_each(|m| counts.add(m));
        counts
    }
}
