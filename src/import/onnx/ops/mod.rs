//! One file an operator or family: formula, specification, opset history, types, lowering.
//!
//! "Opset 7: …" means the form that holds from that opset on; older forms than opset 7's are not
//! read. T stands for the operator's one element type.

pub(super) mod activation;
pub(super) mod arg_reduce;
pub(super) mod arithmetic;
pub(super) mod batch_norm;
pub(super) mod cast;
pub(super) mod clip;
pub(super) mod comparison;
pub(super) mod concat;
pub(super) mod constant;
pub(super) mod conv;
pub(super) mod conv_transpose;
pub(super) mod expand;
pub(super) mod gather;
pub(super) mod gemm;
pub(super) mod lrn;
pub(super) mod matmul;
pub(super) mod norm;
pub(super) mod own;
pub(super) mod pad;
pub(super) mod passing;
mod pointwise;
pub(super) mod pool;
pub(super) mod reduce;
pub(super) mod reshape;
pub(super) mod scan;
pub(super) mod shape;
pub(super) mod slice;
pub(super) mod softmax;
pub(super) mod transpose;
pub(super) mod unary;
mod window;
