//! Model files → [`Graph`](crate::graph::Graph). Mirrors each format and never thinks of kernels.
