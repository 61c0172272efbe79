//! One file a family of ATen operators. Their meaning is that of PyTorch's documentation,
//! <https://docs.pytorch.org/docs/stable/torch.html>; formulas stand where they are built.

pub mod activation;
pub mod arithmetic;
pub mod attention;
pub mod comparison;
pub mod conversion;
pub mod convolution;
pub mod creation;
pub mod indexing;
pub mod joining;
pub mod linear;
pub mod loss;
pub mod norm;
pub mod pool;
pub mod reduction;
pub mod softmax;
pub mod unary;
pub mod view;
