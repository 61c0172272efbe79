//! Operator templates: folders of Triton text with fusion anchors, and what binding makes of them.
//!
//! `manifest` reads `template.yaml` and `schedule.yaml`; `anchors` finds fusion points in
//! `kernel.py`; `bind` joins a template with a [`Cluster`](crate::graph::Cluster) into a [`BoundKernel`].

pub mod bound;

pub use bound::{Argument, ArgumentValue, BoundKernel, BoundLaunch, HostInt, Layout, Operand, OperandAccess};
