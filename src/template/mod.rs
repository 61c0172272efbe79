//! Operator templates: folders of Triton text with fusion anchors, and what binding makes of them.
//!
//! `manifest` reads `template.yaml` and `schedule` `schedule.yaml`; `anchors` finds fusion points in
//! `kernel.py`; `bind` joins a template with a [`Cluster`](crate::graph::Cluster) into a [`BoundKernel`].

mod anchors;
pub mod bound;
mod expression;
mod kernel_file;
pub mod library;
pub mod manifest;
pub mod schedule;
mod walk;

pub use bound::{Argument, ArgumentValue, BoundKernel, BoundLaunch, HostInt, Layout, Operand, OperandAccess};
pub use library::{Library, Template};
