//! Generated inputs: a counter-based integer hash, value = f(seed, index), the same in Rust, numpy and torch.
