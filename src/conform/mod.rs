//! Emulated kernels against the reference: cases, comparison, diagnosis.
