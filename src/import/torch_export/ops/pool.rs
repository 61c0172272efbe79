//! Pools over windows and adaptive ones, of one to three spatial axes. An operand without a batch axis gets one.

use smallvec::SmallVec;

use crate::graph::Op;
use crate::graph::op::{Pool, PoolKind};
use crate::import::build::pool::ceil_padding;
use crate::import::build::{Failure, Operand};
use crate::import::torch_export::call::{Call, Out, Outs};
use crate::shape::display;

/// The operand with a batch axis, and whether it got it here.
fn batched(call: &mut Call, rank: usize) -> Result<(Operand, bool), Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    match shape.len() {
        n if n == rank + 2 => Ok((x, false)),
        n if n == rank + 1 => Ok((call.reshape(x, &[&[1], shape.as_slice()].concat())?, true)),
        _ => Err(Failure::shapes(format!("{} for {rank} spatial axes", display(&shape)))),
    }
}

/// The pool; over one axis where the first of two does nothing, as one-dimensional pools decompose into.
fn pooled(call: &mut Call, mut pool: Pool, x: Operand) -> Result<Operand, Failure> {
    let shape = call.shape(&x);
    let idle = pool.kind != PoolKind::AdaptiveAverage && shape.len() == 4 && shape[2] == 1;
    if !idle || (pool.kernel[0], pool.pads_begin[0], pool.pads_end[0]) != (1, 0, 0) {
        return call.emit(Op::Pool(pool), &[x]);
    }
    for sizes in [&mut pool.kernel, &mut pool.strides, &mut pool.dilations, &mut pool.pads_begin, &mut pool.pads_end] {
        sizes.remove(0);
    }
    let x = call.reshape(x, &[shape[0], shape[1], shape[3]])?;
    let y = call.emit(Op::Pool(pool), &[x])?;
    let made = call.shape(&y);
    call.reshape(y, &[made[0], made[1], 1, made[2]])
}

fn finished(call: &mut Call, pool: Pool, x: Operand, bare: bool) -> Result<Outs, Failure> {
    let mut y = pooled(call, pool, x)?;
    if bare {
        let shape = call.shape(&y);
        y = call.reshape(y, &shape[1..])?;
    }
    Ok(vec![Out::Value(y), Out::Absent("the indices of a max pool")].into())
}

/// A pool over windows, `ceil_mode` resolved. What ceil mode adds never counts in an average, while
/// `count_include_pad` counts all other padding: with both, refused.
fn windowed(call: &mut Call, rank: usize, mut kind: PoolKind) -> Result<Outs, Failure> {
    let (x, bare) = batched(call, rank)?;
    let spatial = call.shape(&x)[2..].to_vec();
    let kernel = call.sizes("kernel_size")?;
    let strides = call.sizes("stride")?;
    let strides = if strides.is_empty() { kernel.clone() } else { strides };
    let pads = call.sizes("padding")?;
    let dilations = if call.has("dilation") { call.sizes("dilation")? } else { kernel.iter().map(|_| 1).collect() };
    if [kernel.len(), strides.len(), pads.len(), dilations.len()] != [rank; 4] || strides.contains(&0) || kernel.contains(&0) {
        return Err(Failure::invalid("kernel_size, stride, padding or dilation do not fit the spatial axes"));
    }
    if (0..rank).any(|i| pads[i] > kernel[i] / 2) {
        return Err(Failure::invalid(format!(
            "padding {} is more than half of kernel_size {}",
            display(&pads),
            display(&kernel)
        )));
    }
    let mut pads_end: SmallVec<[usize; 3]> = pads.iter().copied().collect();
    if pads.iter().all(|&pad| pad == 0) && matches!(kind, PoolKind::Average { .. }) {
        kind = PoolKind::Average { count_pad: false };
    }
    if call.flag("ceil_mode")? {
        for i in 0..rank {
            let extent = (kernel[i] - 1).saturating_mul(dilations[i]).saturating_add(1);
            pads_end[i] = ceil_padding(spatial[i], (pads[i], pads[i]), extent, strides[i]);
        }
        if kind == (PoolKind::Average { count_pad: true }) && pads_end.as_slice() != pads.as_slice() {
            return Err(Failure::unsupported("ceil_mode with count_include_pad"));
        }
    }
    let of = |sizes: &[usize]| SmallVec::from_slice(sizes);
    let pool =
        Pool { kind, kernel: of(&kernel), strides: of(&strides), dilations: of(&dilations), pads_begin: of(&pads), pads_end };
    finished(call, pool, x, bare)
}

fn average(call: &mut Call, rank: usize) -> Result<Outs, Failure> {
    if call.has("divisor_override") && !call.is_none("divisor_override") {
        return Err(Failure::unsupported("divisor_override"));
    }
    let count_pad = call.flag("count_include_pad")?;
    windowed(call, rank, PoolKind::Average { count_pad })
}

/// Means over as many bins as the result has elements; −1 or None keeps a size.
fn adaptive(call: &mut Call, rank: usize) -> Result<Outs, Failure> {
    let (x, bare) = batched(call, rank)?;
    let shape = call.shape(&x);
    let size = call.ints("output_size")?;
    if size.len() != rank || size.iter().any(|&n| n < 1 && n != -1) {
        return Err(Failure::invalid(format!("argument `output_size` is {size:?} for {rank} spatial axes")));
    }
    let size = size.iter().zip(&shape[2..]).map(|(&n, &own)| usize::try_from(n).unwrap_or(own)).collect();
    finished(call, Pool::adaptive_average(size), x, bare)
}

macro_rules! pools {
    ($($name:ident = $kind:ident($($argument:expr),*);)*) => {
        $(pub fn $name(call: &mut Call) -> Result<Outs, Failure> {
            $kind(call, $($argument),*)
        })*
    };
}

pools! {
    max_1d = windowed(1, PoolKind::Max);
    max_2d = windowed(2, PoolKind::Max);
    max_3d = windowed(3, PoolKind::Max);
    average_1d = average(1);
    average_2d = average(2);
    average_3d = average(3);
    adaptive_1d = adaptive(1);
    adaptive_2d = adaptive(2);
    adaptive_3d = adaptive(3);
}
