//! Operators over whole lines as torch: reductions, positions, running sums, normalisation by own
//! statistics; and transposed convolutions.
//!
//! What torch's functions lack is composed: products over several axes one by one, the last of equal
//! extremes on the flipped axis, exclusive sums on a shifted operand, cropping that is not symmetric on
//! the uncropped result.

use super::python::{float_of, list, tuple};
use super::torch_ops::sizes;
use crate::dtype::DType;
use crate::graph::op::{ArgReduce, ConvTranspose, Norm, Reduce, ReduceKind, Scan, ScanKind};

/// `dim=1` or `dim=(1, 2)`, with `keepdim=True` where axes stay.
fn over(axes: &[usize], keep: bool) -> String {
    let dim = if let [axis] = axes { axis.to_string() } else { tuple(axes) };
    if keep { format!("dim={dim}, keepdim=True") } else { format!("dim={dim}") }
}

pub(super) fn reduction(reduce: &Reduce, x: &str, dtype: DType) -> String {
    let over = over(&reduce.axes, reduce.keep);
    // torch sums integers in int64.
    let own = if dtype.is_float() { String::new() } else { format!(", dtype={}", super::python::dtype(dtype)) };
    match reduce.kind {
        ReduceKind::Sum => format!("torch.sum({x}, {over}{own})"),
        ReduceKind::Mean => format!("torch.mean({x}, {over})"),
        ReduceKind::Max => format!("torch.amax({x}, {over})"),
        ReduceKind::Min => format!("torch.amin({x}, {over})"),
        ReduceKind::LogSumExp => format!("torch.logsumexp({x}, {over})"),
        ReduceKind::Prod => {
            // From the last axis on, so that the others keep their numbers.
            let keep = if reduce.keep { ", keepdim=True" } else { "" };
            reduce.axes.iter().rev().fold(x.to_owned(), |x, axis| format!("torch.prod({x}, dim={axis}{keep}{own})"))
        }
    }
}

pub(super) fn position(arg: &ArgReduce, x: &str, size: usize) -> String {
    let over = over(&[arg.axis], arg.keep);
    let name = arg.kind.name();
    if arg.last {
        return format!("{} - torch.{name}({x}.flip({}), {over})", size - 1, arg.axis);
    }
    format!("torch.{name}({x}, {over})")
}

/// `rank`: the operand's.
pub(super) fn running(scan: &Scan, x: &str, rank: usize, dtype: DType) -> String {
    let flip = if scan.reverse { format!(".flip({})", scan.axis) } else { String::new() };
    let mut operand = format!("{x}{flip}");
    if scan.exclusive {
        // One more before, one less behind; torch gives the last axis first.
        let mut pads = vec!["0".to_owned(); 2 * (rank - scan.axis)];
        let end = pads.len();
        (pads[end - 2], pads[end - 1]) = ("1".to_owned(), "-1".to_owned());
        let fill = if scan.kind == ScanKind::Prod { ", value=1" } else { "" };
        operand = format!("F.pad({operand}, ({}){fill})", pads.join(", "));
    }
    let own = if dtype.is_float() { String::new() } else { format!(", dtype={}", super::python::dtype(dtype)) };
    format!("torch.{}({operand}, dim={}{own}){flip}", scan.kind.name(), scan.axis)
}

/// torch's own function over the last axes, else by mean and variance.
pub(super) fn normalised(norm: &Norm, x: &str, shape: &[usize], dtype: DType, gamma: Option<&str>, beta: Option<&str>) -> String {
    let epsilon = float_of(dtype, norm.epsilon);
    let over = over(&norm.axes, true);
    let trailing = norm.axes.iter().copied().eq(shape.len() - norm.axes.len()..shape.len());
    let mut text = match (norm.centred, trailing) {
        (true, true) => format!("F.layer_norm({x}, {}, eps={epsilon})", tuple(&shape[shape.len() - norm.axes.len()..])),
        (true, false) => {
            let mean = format!("torch.mean({x}, {over})");
            format!("({x} - {mean}) * torch.rsqrt(torch.var({x}, {over}, correction=0) + {epsilon})")
        }
        (false, _) => format!("{x} * torch.rsqrt(torch.mean({x} * {x}, {over}) + {epsilon})"),
    };
    if let Some(gamma) = gamma {
        text += &format!(" * {gamma}");
    }
    if let Some(beta) = beta {
        text += &format!(" + {beta}");
    }
    text
}

/// `None` for more than three axes.
pub(super) fn transposed(conv: &ConvTranspose, x: &str, w: &str, bias: Option<&str>) -> Option<String> {
    let rank = conv.strides.len();
    if !(1..=3).contains(&rank) {
        return None;
    }
    let fits = |i: usize| {
        let padding = conv.output_padding[i];
        conv.pads_begin[i] == conv.pads_end[i] && (padding == 0 || padding < conv.strides[i].max(conv.dilations[i]))
    };
    let taken = (0..rank).all(fits);
    let mut args = vec![x.to_owned(), w.to_owned()];
    args.extend(bias.filter(|_| taken).map(str::to_owned));
    let mut option = |name: &str, value: &[usize], default: usize| {
        if value.iter().any(|&v| v != default) {
            args.push(format!("{name}={}", sizes(value)));
        }
    };
    option("stride", &conv.strides, 1);
    option("padding", if taken { &conv.pads_begin } else { &[] }, 0);
    option("output_padding", if taken { &conv.output_padding } else { &[] }, 0);
    option("groups", &[conv.groups], 1);
    option("dilation", &conv.dilations, 1);
    let call = format!("F.conv_transpose{rank}d({})", list(&args));
    if taken {
        return Some(call);
    }
    let pads: Vec<String> = (0..rank)
        .rev()
        .flat_map(|i| [-(conv.pads_begin[i] as i64), conv.output_padding[i] as i64 - conv.pads_end[i] as i64])
        .map(|pad| pad.to_string())
        .collect();
    let shift = bias.map_or_else(String::new, |bias| format!(" + {bias}.reshape(-1{})", ", 1".repeat(rank)));
    Some(format!("F.pad({call}, ({})){shift}", pads.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::op::ArgKind;
    use smallvec::smallvec;

    #[test]
    fn what_torch_lacks_is_composed() {
        let product = Reduce { kind: ReduceKind::Prod, axes: smallvec![0, 2], keep: true };
        let text = "torch.prod(torch.prod(x, dim=2, keepdim=True), dim=0, keepdim=True)";
        assert_eq!(reduction(&product, "x", DType::F32), text);
        let last = ArgReduce { kind: ArgKind::Min, axis: 1, keep: false, last: true };
        assert_eq!(position(&last, "x", 7), "6 - torch.argmin(x.flip(1), dim=1)");
        let scan = Scan { kind: ScanKind::Prod, axis: 0, reverse: true, exclusive: true };
        let text = "torch.cumprod(F.pad(x.flip(0), (0, 0, 1, -1), value=1), dim=0).flip(0)";
        assert_eq!(running(&scan, "x", 2, DType::F32), text);
    }

    #[test]
    fn cropping_goes_where_torch_takes_it() {
        let conv = |end: usize| ConvTranspose {
            strides: smallvec![2, 2],
            dilations: smallvec![1, 1],
            pads_begin: smallvec![1, 1],
            pads_end: smallvec![end, 1],
            output_padding: smallvec![1, 0],
            groups: 2,
        };
        let text = "F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=(1, 0), groups=2)";
        assert_eq!(transposed(&conv(1), "x", "w", Some("b")).unwrap(), text);
        let text = "F.pad(F.conv_transpose2d(x, w, stride=2, groups=2), (-1, -1, -1, -1)) + b.reshape(-1, 1, 1)";
        assert_eq!(transposed(&conv(2), "x", "w", Some("b")).unwrap(), text);
    }

    #[test]
    fn only_the_last_axes_are_a_layer() {
        let norm = |axes: &[usize], centred| Norm { axes: axes.into(), epsilon: 1e-5, centred };
        let shape = [2, 3, 4];
        let text = normalised(&norm(&[1, 2], true), "x", &shape, DType::F32, Some("g"), Some("b"));
        assert_eq!(text, "F.layer_norm(x, (3, 4), eps=1e-5) * g + b");
        let text = normalised(&norm(&[0, 2], true), "x", &shape, DType::F32, None, None);
        let over = "dim=(0, 2), keepdim=True";
        assert_eq!(text, format!("(x - torch.mean(x, {over})) * torch.rsqrt(torch.var(x, {over}, correction=0) + 1e-5)"));
        let text = normalised(&norm(&[1], false), "x", &shape, DType::F32, Some("g"), None);
        assert_eq!(text, "x * torch.rsqrt(torch.mean(x * x, dim=1, keepdim=True) + 1e-5) * g");
    }
}
