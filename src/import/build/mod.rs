//! The graph under construction, whatever format the file has: operands, names, roles, folding.
//!
//! A format walks its own nodes and makes a [`Site`] of each: what the node is called, and the [`Builder`] that
//! holds the graph. The site adds nodes ([`Site::emit`]); the format binds the results to the names of the file.
//! What two formats spell in different ways (a slice, a concatenation, an activation) is built by the functions
//! here, from operands and numbers alone.

pub mod activation;
mod builder;
pub mod limits;
pub mod movement;
mod operand;
mod own;
pub mod pointwise;
pub mod pool;
mod report;
mod site;
pub mod sizes;
pub mod symbol;

pub(super) use builder::Builder;
pub(super) use operand::{Failure, Known, Operand};
pub(super) use report::{Groups, NAMED, shorten};
pub(super) use site::Site;
