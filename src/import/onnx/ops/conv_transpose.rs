//! ConvTranspose: y[n, k, p…] = Σ x[n, c, h…] · w[c, k, r…] + b[k] with h · stride + r · dilation − pad = p, in groups.
//!
//! <https://onnx.ai/onnx/operators/onnx__ConvTranspose.html>. Opset 1; 11: defaults of strides and dilations written
//! down; 22: bfloat16. X T [N, C, spatial…] with one to three spatial axes, W T [C, K / group, kernel…], B T [K]
//! optional; T is a float type. `output_shape` gives the output's sizes and so the pads, as `auto_pad` does;
//! with an odd total the rest goes to the end (SAME_UPPER) or the beginning.

use smallvec::SmallVec;

use crate::graph::op::ConvTranspose;
use crate::graph::{Op, Role};
use crate::import::onnx::node::{Context, Failure};
use crate::shape::display;

type Sizes = SmallVec<[usize; 3]>;

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let (x, w) = (cx.input(0, "X")?, cx.input(1, "W")?);
    let (x_shape, w_shape) = (cx.shape(&x), cx.shape(&w));
    if x_shape.len() < 3 || w_shape.len() != x_shape.len() {
        let shapes = (display(&x_shape), display(&w_shape));
        return Err(Failure::shapes(format!("X {} and W {} must have one rank, at least 3", shapes.0, shapes.1)));
    }
    let rank = x_shape.len() - 2;
    if rank > 3 {
        return Err(Failure::unsupported(format!("{rank} spatial axes")));
    }
    let kernel = &w_shape[2..];
    if kernel.contains(&0) || x_shape.contains(&0) {
        return Err(Failure::shapes(format!("X {} or W {} is empty", display(&x_shape), display(&w_shape))));
    }
    let stated = cx.attributes.sizes("kernel_shape", rank, 1)?;
    if cx.attributes.ints("kernel_shape")?.is_some() && stated.as_slice() != kernel {
        return Err(Failure::shapes(format!("attribute `kernel_shape` is {}, W is {}", display(&stated), display(&w_shape))));
    }
    let group = cx.attributes.int("group")?.unwrap_or(1);
    let groups = usize::try_from(group).ok().filter(|&g| g > 0 && w_shape[0].is_multiple_of(g));
    let groups =
        groups.ok_or_else(|| Failure::invalid(format!("attribute `group` is {group}: it must divide {}", w_shape[0])))?;
    let strides = cx.attributes.sizes("strides", rank, 1)?;
    let dilations = cx.attributes.sizes("dilations", rank, 1)?;
    let mut output_padding = counts(cx, "output_padding", rank)?;
    let full = |i: usize| {
        let window = (kernel[i] - 1).saturating_mul(dilations[i]).saturating_add(1);
        (x_shape[2 + i] - 1).saturating_mul(strides[i]).saturating_add(window).saturating_add(output_padding[i])
    };
    let full: Vec<usize> = (0..rank).map(full).collect();
    let auto_pad = cx.attributes.string("auto_pad")?.unwrap_or("NOTSET");
    let output_shape = cx.attributes.ints("output_shape")?;
    let wanted: Option<Vec<usize>> = match (output_shape, auto_pad) {
        (Some(sizes), _) => {
            // Some files give the batch and the channels, too.
            let sizes = if sizes.len() == rank + 2 { &sizes[2..] } else { sizes };
            let sizes: Option<Vec<usize>> = sizes.iter().map(|&s| usize::try_from(s).ok().filter(|&s| s > 0)).collect();
            Some(sizes.filter(|s| s.len() == rank).ok_or_else(|| Failure::invalid("attribute `output_shape` does not fit X"))?)
        }
        (None, "SAME_UPPER" | "SAME_LOWER") => Some((0..rank).map(|i| x_shape[2 + i].saturating_mul(strides[i])).collect()),
        (None, "NOTSET" | "" | "VALID") => None,
        (None, other) => return Err(Failure::invalid(format!("attribute `auto_pad` is `{other}`"))),
    };
    let (pads_begin, pads_end) = match wanted {
        None if auto_pad == "VALID" => (Sizes::from_elem(0, rank), Sizes::from_elem(0, rank)),
        None => {
            let pads = counts(cx, "pads", 2 * rank)?;
            (Sizes::from_slice(&pads[..rank]), Sizes::from_slice(&pads[rank..]))
        }
        Some(wanted) => {
            cx.attributes.ints("pads")?;
            let (mut begin, mut end) = (Sizes::new(), Sizes::new());
            for (i, &wanted) in wanted.iter().enumerate() {
                let total = full[i].saturating_sub(wanted);
                // Larger than what the windows reach: the rest is padding of the output.
                output_padding[i] += wanted.saturating_sub(full[i]);
                let (small, large) = (total / 2, total - total / 2);
                begin.push(if auto_pad == "SAME_UPPER" { small } else { large });
                end.push(if auto_pad == "SAME_UPPER" { large } else { small });
            }
            (begin, end)
        }
    };
    let taps = cx.product(&w_shape[2..])? / strides.iter().product::<usize>().max(1);
    let fan_in = (w_shape[0] / groups).saturating_mul(taps.max(1));
    let mut operands = vec![x, cx.set_role(&w, Role::Weight { fan_in })];
    if let Some(bias) = cx.optional(2) {
        operands.push(cx.set_role(&bias, Role::Bias));
    }
    cx.finish(Op::ConvTranspose(ConvTranspose { strides, dilations, pads_begin, pads_end, output_padding, groups }), &operands)
}

/// Counts, 0 without the attribute.
fn counts(cx: &Context, name: &'static str, len: usize) -> Result<SmallVec<[usize; 3]>, Failure> {
    let Some(given) = cx.attributes.ints(name)? else { return Ok(SmallVec::from_elem(0, len)) };
    let counts: Option<SmallVec<[usize; 3]>> = given.iter().map(|&p| usize::try_from(p).ok()).collect();
    let counts = counts.ok_or_else(|| Failure::unsupported(format!("negative `{name}` {given:?}")))?;
    if counts.len() == len {
        return Ok(counts);
    }
    Err(Failure::invalid(format!("attribute `{name}` has {} entries, {len} are expected", given.len())))
}
