//! A plan as files: the kernel suite. A pure function; byte-identical across runs, paths and threads.

pub mod manifest;
