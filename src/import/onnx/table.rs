//! Which function lowers which operator.

use super::node::Lower;
use super::ops;

/// The lowering of an operator, by domain and type; `None` when it is not supported.
pub(super) fn find(domain: &str, op_type: &str) -> Option<Lower> {
    let domain = if domain == "ai.onnx" { "" } else { domain };
    TABLE.iter().find(|(d, t, _)| *d == domain && *t == op_type).map(|&(_, _, lower)| lower)
}

#[rustfmt::skip]
const TABLE: &[(&str, &str, Lower)] = &[
    ("", "Add",                  ops::arithmetic::add),
    ("", "BatchNormalization",   ops::batch_norm::lower),
    ("", "ConstantOfShape",      ops::constant::of_shape),
    ("", "Conv",                 ops::conv::lower),
    ("", "Flatten",              ops::reshape::flatten),
    ("", "Gemm",                 ops::gemm::lower),
    ("", "GlobalAveragePool",    ops::pool::global_average),
    ("", "MaxPool",              ops::pool::max),
    ("", "Relu",                 ops::activation::relu),
];
