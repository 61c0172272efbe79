//! A plan as an algorithm sketch: one Markdown file that says which kernels there are, what each computes, in which tiles, over
//! which grid, from which buffers, within which memory.
//!
//! Its YAML head ([`head`]) is what `select::sketch` reads back; the text behind it ([`body`], [`tiling`]) is for people. Bytes are the
//! planner's; what programs do was counted while some ran ([`Counted`]), by whoever calls this.

mod body;
mod head;
mod tiling;

use crate::lint::facts::Facts;
use crate::select::{Basis, Planned};
use crate::template::Library;

/// The file's name.
pub const FILE: &str = "sketch.md";

/// What was counted of a kernel's last launch.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Of the programs that ran.
    pub facts: Facts,
    pub ran: u64,
    pub programs: u64,
    /// Shapes of the blocks that a parameter is accessed with, and whether it is stored to.
    pub blocks: Vec<(String, bool, Vec<usize>)>,
}

impl Counted {
    /// A count of some programs for all of them.
    fn scaled(&self, count: u64) -> u64 {
        let all = u128::from(count) * u128::from(self.programs) / u128::from(self.ran.max(1));
        u64::try_from(all).unwrap_or(u64::MAX)
    }
}

/// A plan with all that its sketch says.
pub struct Sketched<'a> {
    pub planned: &'a Planned,
    pub basis: &'a Basis,
    pub library: &'a Library,
    /// By kernel of the plan; a reason where nothing could be counted.
    pub counted: &'a [Result<Counted, String>],
}

/// The whole text.
pub fn text(sketched: &Sketched) -> String {
    format!("---\n{}---\n\n{}", head::text(sketched), body::text(sketched))
}
