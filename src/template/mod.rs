//! Operator templates: folders of Triton text with fusion anchors, and what binding makes of them.
//!
//! `manifest` reads `template.yaml` and `schedule` `schedule.yaml`; `anchors` finds fusion points in
//! `kernel.py`; `bind` joins a template with a [`Cluster`](crate::graph::Cluster) into a [`BoundKernel`].

mod address;
mod anchors;
mod axes;
pub mod bind;
pub mod bound;
pub mod check;
mod edit;
mod environment;
mod expression;
mod format;
mod kernel_file;
mod launch;
pub mod library;
mod lists;
mod located;
pub mod manifest;
mod matching;
mod names;
pub mod new;
mod problem;
mod rewrite;
pub mod schedule;
mod space;
mod step;
mod step_text;
#[cfg(test)]
mod tests;
mod triton_expr;

pub use bind::{BindOptions, Blocks, Bound, bind, bind_with};
pub use bound::{Argument, ArgumentValue, BoundKernel, BoundLaunch, HostInt, Layout, Operand, OperandAccess};
pub use library::{Library, Template};
pub use matching::serving;
