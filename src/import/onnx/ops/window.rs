//! What Conv and the pools share: spatial attributes and `auto_pad`.

use smallvec::SmallVec;

use crate::import::onnx::node::{Context, Failure};

pub(super) type Sizes = SmallVec<[usize; 3]>;

/// Strides, dilations and pads of every spatial axis.
pub(super) struct Window {
    pub strides: Sizes,
    pub dilations: Sizes,
    pub pads_begin: Sizes,
    pub pads_end: Sizes,
}

/// Reads `strides`, `dilations`, `pads` and `auto_pad` for a window of `kernel` over `spatial`.
///
/// SAME_UPPER and SAME_LOWER pad so that the output has ⌈size / stride⌉ elements an axis; an odd
/// rest goes to the end (UPPER) or the beginning (LOWER).
pub(super) fn read(cx: &Context, spatial: &[usize], kernel: &[usize]) -> Result<Window, Failure> {
    let rank = spatial.len();
    let strides = cx.attributes.sizes("strides", rank, 1)?;
    let dilations = cx.attributes.sizes("dilations", rank, 1)?;
    let pads = cx.attributes.ints("pads")?;
    let auto_pad = cx.attributes.string("auto_pad")?.unwrap_or("NOTSET");
    let (pads_begin, pads_end) = match auto_pad {
        "NOTSET" | "" => explicit(pads.unwrap_or(&[]), rank)?,
        "VALID" => (SmallVec::from_elem(0, rank), SmallVec::from_elem(0, rank)),
        "SAME_UPPER" | "SAME_LOWER" => {
            let mut begin = Sizes::new();
            let mut end = Sizes::new();
            for i in 0..rank {
                let extent = (kernel[i] - 1).saturating_mul(dilations[i]).saturating_add(1);
                let covered = (spatial[i].div_ceil(strides[i]).saturating_sub(1) * strides[i]).saturating_add(extent);
                let total = covered.saturating_sub(spatial[i]);
                let (small, large) = (total / 2, total - total / 2);
                let upper = auto_pad == "SAME_UPPER";
                begin.push(if upper { small } else { large });
                end.push(if upper { large } else { small });
            }
            (begin, end)
        }
        other => return Err(Failure::invalid(format!("attribute `auto_pad` is `{other}`"))),
    };
    Ok(Window { strides, dilations, pads_begin, pads_end })
}

/// `pads` as [begin of every axis…, end of every axis…].
fn explicit(pads: &[i64], rank: usize) -> Result<(Sizes, Sizes), Failure> {
    if pads.is_empty() {
        return Ok((SmallVec::from_elem(0, rank), SmallVec::from_elem(0, rank)));
    }
    if pads.len() != 2 * rank {
        return Err(Failure::invalid(format!("attribute `pads` has {} entries for {rank} spatial axes", pads.len())));
    }
    let sizes: Option<Sizes> = pads.iter().map(|&p| usize::try_from(p).ok()).collect();
    let sizes = sizes.ok_or_else(|| Failure::unsupported(format!("negative `pads` {pads:?}")))?;
    Ok((SmallVec::from_slice(&sizes[..rank]), SmallVec::from_slice(&sizes[rank..])))
}
