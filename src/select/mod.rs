//! From clusters to a plan: choose a template and schedule for each, resolve views into layouts,
//! give values storage, deduplicate kernels.

pub mod layout;
pub mod memory;
pub mod plan;
pub mod views;
