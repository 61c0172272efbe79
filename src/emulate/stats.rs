//! Counting what a launch costs a device: bytes, sectors, arithmetic.
//!
//! * *bytes*: active lanes × the element's size, each time an access is executed; *unique*: each element once, whoever
//!   touches it.
//! * *requests*: an access of a block is made by warps of 32 lanes, which hold neighbouring lanes along the axis whose addresses
//!   lie closest (as Triton lays blocks out for coalescing); a warp without an active lane asks for nothing. *Sectors* are
//!   pieces of 32 bytes that a request touches; buffers begin at a sector. fp32 in a row: 4 sectors a request.
//! * *FLOPs*: 2·m·n·k of a dot, 2 of a fused multiply-add, 1 of any other float operation or function, for every lane of a block,
//!   masked or not, as the machine computes it. Reductions: lanes − results.
//!
//! An atomic counts as a store.
//!
//! Does not count: caches, bank conflicts, accesses by pointers that are seen as another type, what a compiler hoists, merges or vectorises beyond a warp.

use std::collections::BTreeMap;

use super::observe::{Sight, Touched};
use super::tape::Code;
use crate::dtype::DType;
use crate::kernel::ir::{DotPrecision, Elem};

const WARP: usize = 32;
const SECTOR: i64 = 32;

/// Loads of one parameter, or stores to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    pub lanes: u64,
    pub active: u64,
    pub bytes: u64,
    pub unique_bytes: u64,
    pub requests: u64,
    pub sectors: u64,
}

/// Arithmetic by the unit that does it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flops {
    /// Everything but dots, and dots of fp32 operands as they are.
    pub fp32: u64,
    /// Dots of fp32 operands in tf32 or split into narrower parts: products that tensor cores make.
    pub tf32: u64,
    /// Dots of 16-bit and 8-bit floats.
    pub half: u64,
    pub fp64: u64,
}

impl Flops {
    pub fn total(self) -> u64 {
        self.fp32 + self.tf32 + self.half + self.fp64
    }
}

/// What was counted.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// By parameter and whether it is stored to.
    pub traffic: BTreeMap<(usize, bool), Traffic>,
    pub flops: Flops,
    seen: BTreeMap<(usize, bool), Vec<u64>>,
}

impl Stats {
    /// Counts an instruction; called before and after it.
    pub fn note(&mut self, sight: &mut Sight<'_, '_>) {
        if sight.after {
            let lanes = sight.lanes() as u64;
            self.compute(sight.code(), lanes);
        } else if let Some(touched) = sight.touched() {
            self.touch(&touched);
        }
    }

    fn compute(&mut self, code: &Code, lanes: u64) {
        let mut plain = |elem: Elem, n: u64| match elem {
            Elem::F64 => self.flops.fp64 += n,
            elem if elem.is_float() => self.flops.fp32 += n,
            _ => {}
        };
        match code {
            Code::Float(_, elem, ..) | Code::Unary(_, elem, _) => plain(*elem, lanes),
            Code::Fma(elem, ..) => plain(*elem, 2 * lanes),
            Code::Reduce(reduce) => {
                let numel: usize = reduce.shape.iter().product();
                let results = numel / reduce.shape[reduce.axis].max(1);
                reduce.elems.iter().for_each(|elem| plain(*elem, (numel - results) as u64));
            }
            Code::Dot(dot) => {
                let n = 2 * (dot.m * dot.n * dot.k) as u64;
                match (dot.elem, dot.precision) {
                    (Elem::F64, _) => self.flops.fp64 += n,
                    (Elem::F32, DotPrecision::Ieee) => self.flops.fp32 += n,
                    (Elem::F32, _) => self.flops.tf32 += n,
                    _ => self.flops.half += n,
                }
            }
            _ => {}
        }
    }

    fn touch(&mut self, touched: &Touched) {
        let size = bytes(touched.elem);
        let key = (touched.parameter, touched.store);
        let traffic = self.traffic.entry(key).or_default();
        let seen = self.seen.entry(key).or_default();
        let is_active = |lane: usize| touched.active.is_empty() || touched.active[lane];
        traffic.lanes += touched.elements.len() as u64;
        for (lane, &element) in touched.elements.iter().enumerate().filter(|(lane, _)| is_active(*lane)) {
            debug_assert!(is_active(lane));
            traffic.active += 1;
            traffic.bytes += size as u64;
            let Ok(element) = usize::try_from(element) else { continue };
            let (word, bit) = (element / 64, 1u64 << (element % 64));
            if seen.len() <= word {
                seen.resize(word + 1, 0);
            }
            if seen[word] & bit == 0 {
                seen[word] |= bit;
                traffic.unique_bytes += size as u64;
            }
        }
        let mut sectors: Vec<i64> = Vec::with_capacity(WARP);
        for warp in lane_order(touched).chunks(WARP) {
            sectors.clear();
            sectors.extend(warp.iter().filter(|&&lane| is_active(lane)).map(|&lane| touched.elements[lane] * size / SECTOR));
            sectors.sort_unstable();
            sectors.dedup();
            traffic.sectors += sectors.len() as u64;
            traffic.requests += u64::from(!sectors.is_empty());
        }
    }
}

fn bytes(elem: Elem) -> i64 {
    match elem {
        Elem::I1 => DType::Bool.size() as i64,
        elem => i64::from(elem.bits() / 8),
    }
}

/// Lanes in the order in which warps hold them: the axis with the smallest step between addresses is the fastest.
fn lane_order(touched: &Touched) -> Vec<usize> {
    let shape = &touched.shape;
    let strides = crate::shape::contiguous_strides(shape);
    let mut axes: Vec<usize> = (0..shape.len()).filter(|&axis| shape[axis] > 1).collect();
    let step = |axis: usize| touched.elements[strides[axis] as usize].abs_diff(touched.elements[0]);
    // Slowest first; axes along which the address stays are slower than all others.
    axes.sort_by_key(|&axis| {
        std::cmp::Reverse(match step(axis) {
            0 => u64::MAX,
            step => step,
        })
    });
    let mut lanes = vec![0usize];
    for &axis in &axes {
        lanes = lanes
            .iter()
            .flat_map(|&at| (0..shape[axis]).map(move |i| (at, i)))
            .map(|(at, i)| at + i * strides[axis] as usize)
            .collect();
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(shape: &[usize], elem: Elem, element: impl Fn(usize) -> i64, active: impl Fn(usize) -> bool) -> Stats {
        let n = shape.iter().product();
        let mut stats = Stats::default();
        stats.touch(&Touched {
            parameter: 0,
            store: false,
            elem,
            shape: shape.to_vec(),
            elements: (0..n).map(element).collect(),
            active: (0..n).map(active).collect(),
        });
        stats
    }

    fn figures(stats: &Stats) -> [u64; 6] {
        let t = &stats.traffic[&(0, false)];
        [t.lanes, t.active, t.bytes, t.unique_bytes, t.requests, t.sectors]
    }

    #[test]
    fn sectors_are_those_of_a_warp() {
        let row = |lane: usize| lane as i64;
        // 2 warps of 128 bytes each.
        assert_eq!(figures(&touched(&[64], Elem::F32, row, |_| true)), [64, 64, 256, 256, 2, 8]);
        // Halves: 64 bytes a warp.
        assert_eq!(figures(&touched(&[64], Elem::F16, row, |_| true)), [64, 64, 128, 128, 2, 4]);
        // Every second element: twice the sectors; every eighth: one a lane.
        assert_eq!(figures(&touched(&[32], Elem::F32, |lane| 2 * lane as i64, |_| true))[5], 8);
        assert_eq!(figures(&touched(&[32], Elem::F32, |lane| 8 * lane as i64, |_| true))[5], 32);
        // Misaligned by one element: one sector more.
        assert_eq!(figures(&touched(&[32], Elem::F32, |lane| lane as i64 + 1, |_| true))[5], 5);
        // A tail of 8 lanes; the second warp asks for nothing.
        assert_eq!(figures(&touched(&[64], Elem::F32, row, |lane| lane < 8)), [64, 8, 32, 32, 1, 1]);
        // One element for all.
        assert_eq!(figures(&touched(&[32], Elem::F32, |_| 7, |_| true)), [32, 32, 128, 4, 1, 1]);
    }

    #[test]
    fn warps_follow_the_addresses() {
        // A 32×32 block of a matrix whose columns are contiguous: warps go down the columns.
        let column_major = |lane: usize| (lane / 32 + lane % 32 * 100) as i64;
        assert_eq!(figures(&touched(&[32, 32], Elem::F32, column_major, |_| true))[4..], [32, 32 * 4 + sectors_of_columns()]);
        // A row that is broadcast along the first axis.
        assert_eq!(figures(&touched(&[4, 32], Elem::F32, |lane| (lane % 32) as i64, |_| true)), [128, 128, 512, 128, 4, 16]);
    }

    /// Columns start at multiples of 100 elements, which are 400 bytes: every second one in the middle of a sector.
    fn sectors_of_columns() -> u64 {
        (0..32u64).map(|column| u64::from(column * 400 % 32 != 0)).sum()
    }
}
