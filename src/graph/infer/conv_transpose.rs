//! Types of transposed convolutions.

use super::{at_most, float, operand, same_dtype};
use crate::graph::op::{ConvTranspose, TensorType};
use crate::shape::{Shape, display};

/// X [N, C, spatial…], W [C, K / groups, kernel…], B [K] → [N, K, spatial…].
pub(super) fn infer(conv: &ConvTranspose, inputs: &[Option<&TensorType>]) -> Result<TensorType, String> {
    at_most(inputs, 3)?;
    let (x, w) = (operand(inputs, 0, "X")?, operand(inputs, 1, "W")?);
    float(x, "X")?;
    same_dtype(x, w, "X and W")?;
    if x.shape.len() < 3 || w.shape.len() != x.shape.len() {
        return Err(format!("X {} and W {} must have one rank, at least 3", display(&x.shape), display(&w.shape)));
    }
    let channels = x.shape[1];
    if w.shape[0] != channels {
        return Err(format!(
            "W {} expects {} input channels, X {} has {channels}",
            display(&w.shape),
            w.shape[0],
            display(&x.shape)
        ));
    }
    if conv.groups == 0 || channels % conv.groups != 0 {
        return Err(format!("{} groups do not divide {channels} input channels", conv.groups));
    }
    let out_channels = w.shape[1].checked_mul(conv.groups).ok_or("too many output channels")?;
    if let Some(bias) = inputs.get(2).copied().flatten() {
        same_dtype(x, bias, "X and B")?;
        if bias.shape.as_slice() != [out_channels] {
            return Err(format!("B is {}, W gives {out_channels} output channels", display(&bias.shape)));
        }
    }
    let rank = x.shape.len() - 2;
    let lists = [&conv.strides, &conv.dilations, &conv.pads_begin, &conv.pads_end, &conv.output_padding];
    if let Some(list) = lists.iter().find(|list| list.len() != rank) {
        return Err(format!("{} entries of an attribute for {rank} spatial axes", list.len()));
    }
    let spatial: Shape = (0..rank)
        .map(|i| size(conv, i, x.shape[2 + i], w.shape[2 + i]).map_err(|e| format!("spatial axis {i}: {e}")))
        .collect::<Result<_, _>>()?;
    Ok(TensorType { dtype: x.dtype, shape: [x.shape[0], out_channels].into_iter().chain(spatial).collect() })
}

/// (input − 1) · stride + dilation · (kernel − 1) + 1 − pads + output padding (ONNX ConvTranspose, torch
/// ConvTranspose2d).
fn size(conv: &ConvTranspose, i: usize, input: usize, kernel: usize) -> Result<usize, String> {
    let (stride, dilation) = (conv.strides[i], conv.dilations[i]);
    if kernel == 0 || stride == 0 || dilation == 0 || input == 0 {
        return Err(format!("size {input}, kernel {kernel}, stride {stride} and dilation {dilation} must all be at least 1"));
    }
    let full = (input - 1).checked_mul(stride).zip((kernel - 1).checked_mul(dilation));
    let full = full.and_then(|(steps, window)| steps.checked_add(window)?.checked_add(1)?.checked_add(conv.output_padding[i]));
    let full = full.ok_or("sizes overflow")?;
    let pads = conv.pads_begin[i].saturating_add(conv.pads_end[i]);
    full.checked_sub(pads).filter(|&size| size > 0).ok_or_else(|| format!("padding of {pads} leaves nothing of {full}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use smallvec::smallvec;

    fn of(conv: &ConvTranspose, x: &[usize], w: &[usize]) -> Result<String, String> {
        let ty = |shape: &[usize]| TensorType { dtype: DType::F32, shape: shape.into() };
        infer(conv, &[Some(&ty(x)), Some(&ty(w))]).map(|ty| display(&ty.shape))
    }

    #[test]
    fn sizes_are_those_of_torch() {
        let mut conv = ConvTranspose {
            strides: smallvec![2, 3],
            dilations: smallvec![1, 2],
            pads_begin: smallvec![1, 0],
            pads_end: smallvec![1, 2],
            output_padding: smallvec![1, 0],
            groups: 2,
        };
        assert_eq!(of(&conv, &[1, 4, 5, 6], &[4, 3, 3, 2]).unwrap(), "1×6×10×16");
        assert_eq!(of(&conv, &[1, 3, 5, 6], &[4, 3, 3, 2]).unwrap_err(), "W 4×3×3×2 expects 4 input channels, X 1×3×5×6 has 3");
        conv.groups = 3;
        assert_eq!(of(&conv, &[1, 4, 5, 6], &[4, 3, 3, 2]).unwrap_err(), "3 groups do not divide 4 input channels");
        conv.groups = 1;
        conv.pads_end = smallvec![20, 0];
        let why = of(&conv, &[1, 4, 5, 6], &[4, 3, 3, 2]).unwrap_err();
        assert_eq!(why, "spatial axis 0: padding of 21 leaves nothing of 12");
    }
}
