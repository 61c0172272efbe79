//! `tt.dot_scaled`: operands of narrow formats with a scale for every group of elements along K.
//!
//! Every element is the exact product of its number and its scale, in f32 (a scale of all ones is NaN); the
//! sum runs over k in order, from the accumulator on, as a dot of bf16 operands does. On GPUs without such
//! an instruction Triton multiplies in bf16, or in fp16 where an operand has that format: with fp16 operands
//! and scales those products may be rounded there, and are not here.

use super::elementwise::united_taints;
use super::lines::{flagged, line};
use crate::emulate::simd;
use crate::emulate::simd::dot::Shape;
use crate::emulate::tape::whole::Whole;
use crate::emulate::value::{Cell, FloatBlock, Floats, Layout, Pool, misfit};
use crate::kernel::ir::{DotScaled, Elem, ScaledFormat};

/// Lanes and taints of an operand, unpacked: `[batch, rows, columns]` in row-major order.
struct Operand {
    lanes: Vec<f32>,
    flags: Vec<u8>,
}

const E2M1: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

fn two(byte: i64) -> [f32; 2] {
    [byte & 15, byte >> 4 & 15].map(|code| if code & 8 == 0 { E2M1[code as usize] } else { -E2M1[(code & 7) as usize] })
}

/// `pack_last` says that a byte's two elements lie along the last axis.
fn operand(cell: &Cell, elem: Elem, shape: &[usize], format: ScaledFormat, pack_last: bool, pool: &mut Pool) -> Operand {
    let cell = line(cell, elem, shape, pool);
    let flags = united_taints(&[&cell], &Layout::line(shape.iter().product()));
    let (lanes, flags) = match (&cell, format) {
        (Cell::Floats(FloatBlock { lanes: Floats::F32(lanes), .. }), _) => {
            (lanes.to_vec(), flags.unwrap_or_else(|| vec![0; lanes.len()]))
        }
        (Cell::Ints(block), ScaledFormat::E2M1) => {
            let (bytes, columns) = (block.values(), shape[shape.len() - 1]);
            let flags = flags.unwrap_or_else(|| vec![0; bytes.len()]);
            let (mut lanes, mut twice) = (vec![0.0; 2 * bytes.len()], vec![0; 2 * bytes.len()]);
            for (i, &byte) in bytes.iter().enumerate() {
                let (row, column) = (i / columns, i % columns);
                for (half, value) in two(byte).into_iter().enumerate() {
                    let place = if pack_last { 2 * i + half } else { (2 * row + half) * columns + column };
                    (lanes[place], twice[place]) = (value, flags[i]);
                }
            }
            (lanes, twice)
        }
        (other, _) => misfit(other, "an operand of a scaled dot"),
    };
    Operand { lanes, flags }
}

/// Multiplies by scales of shape `[batch, rows, groups]`, where `row_of` and `k_of` say which row and which
/// element of K a lane is.
fn scale(
    operand: &mut Operand,
    cell: &Cell,
    elem: Elem,
    shape: &[usize],
    k: usize,
    pool: &mut Pool,
    place: impl Fn(usize) -> [usize; 2],
) {
    let groups = shape[shape.len() - 1];
    let cell = line(cell, elem, shape, pool);
    let factors: Vec<f32> = match &cell {
        Cell::Ints(block) => block.values().iter().map(|&code| exponent(code)).collect(),
        Cell::Floats(FloatBlock { lanes: Floats::F32(lanes), .. }) => lanes.to_vec(),
        other => misfit(other, "scales"),
    };
    for (i, (lane, flag)) in operand.lanes.iter_mut().zip(&mut operand.flags).enumerate() {
        let [row, at] = place(i);
        let group = row * groups + at / (k / groups);
        *lane *= factors[group];
        *flag |= cell.taints().as_ref().map_or(0, |t| t[group]);
    }
}

/// A power of two by its biased exponent.
fn exponent(code: i64) -> f32 {
    match code as u8 {
        255 => f32::NAN,
        // Subnormal in f32.
        0 => f32::from_bits(1 << 22),
        code => f32::from_bits(u32::from(code) << 23),
    }
}

pub fn dot(dot: &DotScaled, whole: &Whole, cells: &[&Cell], pool: &mut Pool) -> Result<Cell, &'static str> {
    let mut next = 0..cells.len();
    let mut take = || {
        let i = next.next().expect("invariant: an operand for each part of a scaled dot");
        (cells[i], whole.elems[i], &whole.shapes[i])
    };
    let a_parts = take();
    let a_scale = dot.a_scale.map(|_| take());
    let b_parts = take();
    let b_scale = dot.b_scale.map(|_| take());
    let acc_parts = take();
    let rank = whole.result_shape.len();
    let batch: usize = whole.result_shape[..rank - 2].iter().product();
    let (m, n) = (whole.result_shape[rank - 2], whole.result_shape[rank - 1]);
    let mut a = operand(a_parts.0, a_parts.1, a_parts.2, dot.a_format, dot.a_k_pack, pool);
    let mut b = operand(b_parts.0, b_parts.1, b_parts.2, dot.b_format, !dot.b_k_pack, pool);
    let k = a.lanes.len() / (batch * m);
    if let Some((cell, elem, shape)) = a_scale {
        scale(&mut a, cell, elem, shape, k, pool, |i| [i / k, i % k]);
    }
    if let Some((cell, elem, shape)) = b_scale {
        scale(&mut b, cell, elem, shape, k, pool, |i| [i / (k * n) * n + i % n, i / n % k]);
    }
    let acc = line(acc_parts.0, acc_parts.1, acc_parts.2, pool);
    let Cell::Floats(FloatBlock { lanes: Floats::F32(lanes), taints, .. }) = &acc else {
        misfit(&acc, "an accumulator of f32 lanes")
    };
    let mut out = lanes.to_vec();
    let mut flags = taints.as_deref().cloned().unwrap_or_else(|| vec![0; out.len()]);
    let shape = Shape { k, v: n, s: m, vector_k: n, scalar_k: 1, scalar_s: k, acc_s: n, ..Shape::default() };
    for i in 0..batch {
        let (left, right) = (&a.lanes[i * m * k..(i + 1) * m * k], &b.lanes[i * k * n..(i + 1) * k * n]);
        let plane = &mut out[i * m * n..(i + 1) * m * n];
        if pool.lazy {
            simd::dot::dot(shape, right, left, plane);
        } else {
            simd::dot::dot_plain(shape, right, left, plane);
        }
        for (at, flag) in flags[i * m * n..(i + 1) * m * n].iter_mut().enumerate() {
            let (row, column) = (at / n, at % n);
            let along = |p: usize| a.flags[i * m * k + row * k + p] | b.flags[i * k * n + p * n + column];
            *flag |= (0..k).fold(0, |all, p| all | along(p));
        }
    }
    let cell = Cell::f32_block(Layout::line(out.len()), out, None);
    Ok(flagged(cell, flags).with_layout(Layout::row_major(&whole.result_shape), pool))
}
