//! One rule, one file.

mod compose_maps;
mod drop_identity_views;
mod fold_batchnorm;
mod merge_views;
mod scale_batchnorm;

use super::driver::Rule;

/// The rules of `--fuse basic`, in the order in which each node tries them.
pub const BASIC: &[Rule] =
    &[drop_identity_views::RULE, merge_views::RULE, fold_batchnorm::RULE, scale_batchnorm::RULE, compose_maps::RULE];
