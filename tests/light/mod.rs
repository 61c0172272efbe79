//! The nine networks of the onnx wheel, whole: decomposed and verified at both fusion levels, and
//! computed by another runtime from the same weights.
//!
//! Their files hold sizes that follow from an input of 224×224 (a reshape to 25088 elements), so that a
//! smaller input takes a smaller copy of the network: [`nets`] makes one.

mod nets;
mod second_opinion;
mod verified;
