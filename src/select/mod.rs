//! From clusters to a plan: choose a template and schedule for each, resolve views into layouts,
//! give values storage, deduplicate kernels.

pub mod plan;
