//! Ceil mode of pools, as padding.

/// The padding at the end with which the floor formula gives ceil mode's output size.
///
/// In ceil mode the last window may stick out of the padded operand, but must begin inside it or its left padding
/// (torch's `pooling_output_shape`; ONNX from opset 19 on). `extent` is (kernel − 1) · dilation + 1.
pub fn ceil_padding(size: usize, pads: (usize, usize), extent: usize, stride: usize) -> usize {
    let padded = size.saturating_add(pads.0).saturating_add(pads.1);
    let Some(rest) = padded.checked_sub(extent) else { return pads.1 };
    let mut last = rest.div_ceil(stride).saturating_mul(stride);
    if last >= size.saturating_add(pads.0) {
        last -= stride;
    }
    last.saturating_add(extent).saturating_sub(size.saturating_add(pads.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::infer::window_count;

    /// torch's `pooling_output_shape` in ceil mode.
    fn by_torch(size: usize, pads: (usize, usize), extent: usize, stride: usize) -> usize {
        let count = (size + pads.0 + pads.1 - extent).div_ceil(stride) + 1;
        if (count - 1) * stride >= size + pads.0 { count - 1 } else { count }
    }

    #[test]
    fn ceil_mode_is_padding() {
        for size in 1..12 {
            for (begin, end) in [(0, 0), (1, 1), (0, 1), (2, 1)] {
                for extent in 1..5 {
                    for stride in 1..5 {
                        if size + begin + end < extent || begin >= extent || end >= extent {
                            continue;
                        }
                        let grown = ceil_padding(size, (begin, end), extent, stride);
                        let count = window_count(size, (begin, grown), extent, stride, 1).unwrap();
                        assert_eq!(count, by_torch(size, (begin, end), extent, stride), "{size} {begin} {end} {extent} {stride}");
                    }
                }
            }
        }
    }
}
