//! One file an operator or family: formula, specification, opset history, types, lowering.
//!
//! Specifications: <https://onnx.ai/onnx/operators/onnx__NAME.html>. "Opset 7: …" means the form that
//! holds from that opset on; forms older than opset 7 are not read.

pub(super) mod activation;
pub(super) mod arithmetic;
pub(super) mod batch_norm;
pub(super) mod constant;
pub(super) mod conv;
pub(super) mod gemm;
pub(super) mod pool;
pub(super) mod reshape;
mod window;
