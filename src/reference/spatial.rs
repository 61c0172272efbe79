//! Windows over up to three spatial axes: sizes, strides, pads as three axes with leading ones.

use crate::diag::{Diagnostic, Result, codes};

/// One spatial axis of a convolution or pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub input: usize,
    pub output: usize,
    pub kernel: usize,
    pub stride: usize,
    pub dilation: usize,
    pub pad_begin: usize,
}

impl Axis {
    pub const ONE: Axis = Axis { input: 1, output: 1, kernel: 1, stride: 1, dilation: 1, pad_begin: 0 };

    /// The input position under kernel position `r` of output `p`, or `None` in the padding.
    pub fn position(&self, p: usize, r: usize) -> Option<usize> {
        (p * self.stride + r * self.dilation).checked_sub(self.pad_begin).filter(|&at| at < self.input)
    }
}

/// Axes D, H, W of a window; absent leading ones have size 1.
///
/// The output size is ⌊(in + pads − dilation·(kernel − 1) − 1) / stride⌋ + 1; a window larger than
/// its padded input, and more than three axes, are refused.
pub(super) fn axes(
    input: &[usize],
    kernel: &[usize],
    strides: &[usize],
    dilations: &[usize],
    pads_begin: &[usize],
    pads_end: &[usize],
) -> Result<[Axis; 3]> {
    let mut axes = [Axis::ONE; 3];
    let rank = input.len();
    if rank > 3 {
        return Err(Box::new(Diagnostic::new(
            &codes::OP_UNSUPPORTED,
            format!("{rank} spatial axes; at most three are supported"),
        )));
    }
    for i in 0..rank {
        let padded = input[i] + pads_begin[i] + pads_end[i];
        let window = dilations[i] * (kernel[i] - 1) + 1;
        let Some(room) = padded.checked_sub(window) else {
            let message = format!("a window of {window} does not fit the padded input of {padded} on spatial axis {i}");
            return Err(Box::new(Diagnostic::new(&codes::MODEL_SHAPES, message)));
        };
        axes[3 - rank + i] = Axis {
            input: input[i],
            output: room / strides[i] + 1,
            kernel: kernel[i],
            stride: strides[i],
            dilation: dilations[i],
            pad_begin: pads_begin[i],
        };
    }
    Ok(axes)
}
