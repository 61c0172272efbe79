//! Whole kernels, run.
