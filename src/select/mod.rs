//! From clusters to a plan: choose a template and schedule for each, resolve views into layouts,
//! give values storage, deduplicate kernels.

pub mod build;
pub mod dot;
pub mod json;
pub mod layout;
pub mod map;
pub mod memory;
pub mod plan;
pub mod text;
pub mod views;

#[cfg(test)]
mod tests;
