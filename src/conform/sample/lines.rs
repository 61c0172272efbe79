//! Elements that depend on a whole line of their operand, and those of transposed convolutions.

use super::{Sampler, coordinates};
use crate::diag::Result;
use crate::graph::op::{ArgReduce, ConvTranspose, Norm, Reduce, ReduceKind, Scan, ScanKind};
use crate::graph::{NodeId, ValueId};
use crate::shape::Shape;

impl Sampler<'_> {
    /// The elements of a value along some axes, through one place.
    fn line(&self, value: ValueId, axes: &[usize], through: &[usize]) -> Result<Vec<f64>> {
        let sizes: Shape = axes.iter().map(|&axis| self.graph.shape(value)[axis]).collect();
        let element = |at: Shape| {
            let mut index = Shape::from_slice(through);
            axes.iter().zip(at).for_each(|(&axis, i)| index[axis] = i);
            self.element(value, &index)
        };
        coordinates(&sizes).map(element).collect()
    }

    /// A place in the operand of a reduction, 0 along the reduced axes.
    fn before(&self, value: ValueId, axes: &[usize], keep: bool, index: &[usize]) -> Shape {
        let mut left = index.iter().copied();
        let rank = self.graph.shape(value).len();
        let place = |axis: usize| {
            let gone = axes.contains(&axis);
            let at = if gone && !keep { Some(0) } else { left.next() };
            if gone { 0 } else { at.unwrap_or(0) }
        };
        (0..rank).map(place).collect()
    }

    pub(super) fn reduce(&self, node: NodeId, reduce: &Reduce, index: &[usize]) -> Result<f64> {
        let x = self.operand(node, 0)?;
        let dtype = self.graph.dtype(x);
        let line = self.line(x, &reduce.axes, &self.before(x, &reduce.axes, reduce.keep, index))?;
        let count = line.len() as f64;
        let extreme = |worse: fn(f64, f64) -> bool| {
            let better = |best: f64, &v: &f64| if v.is_nan() || worse(best, v) { v } else { best };
            line[1..].iter().fold(line[0], better)
        };
        let whole = |combine: fn(i64, i64) -> i64, first: i64| {
            line.iter().fold(first, |total, &v| dtype.wrap(combine(total, v as i64))) as f64
        };
        Ok(match reduce.kind {
            ReduceKind::Sum if dtype.is_integer() => whole(i64::wrapping_add, 0),
            ReduceKind::Prod if dtype.is_integer() => whole(i64::wrapping_mul, 1),
            ReduceKind::Sum => line.iter().sum(),
            ReduceKind::Mean => line.iter().sum::<f64>() / count,
            ReduceKind::Max => extreme(|best, v| best < v),
            ReduceKind::Min => extreme(|best, v| best > v),
            ReduceKind::Prod => line.iter().product(),
            ReduceKind::LogSumExp => {
                let largest = extreme(|best, v| best < v);
                let shift = if largest.is_finite() { largest } else { 0.0 };
                shift + libm::log(line.iter().map(|v| libm::exp(v - shift)).sum())
            }
        })
    }

    pub(super) fn position(&self, node: NodeId, arg: &ArgReduce, index: &[usize]) -> Result<f64> {
        let x = self.operand(node, 0)?;
        let line = self.line(x, &[arg.axis], &self.before(x, &[arg.axis], arg.keep, index))?;
        let best = (1..line.len()).fold(0, |best, i| if arg.takes(line[i], line[best]) { i } else { best });
        Ok(best as f64)
    }

    pub(super) fn scan(&self, node: NodeId, scan: &Scan, index: &[usize]) -> Result<f64> {
        let x = self.operand(node, 0)?;
        let dtype = self.graph.dtype(x);
        let line = self.line(x, &[scan.axis], index)?;
        let (at, more) = (index[scan.axis], usize::from(!scan.exclusive));
        let part = if scan.reverse { &line[at + 1 - more..] } else { &line[..at + more] };
        Ok(match scan.kind {
            ScanKind::Sum if dtype.is_integer() => part.iter().fold(0, |a, &v| dtype.wrap(i64::wrapping_add(a, v as i64))) as f64,
            ScanKind::Prod if dtype.is_integer() => {
                part.iter().fold(1, |a, &v| dtype.wrap(i64::wrapping_mul(a, v as i64))) as f64
            }
            ScanKind::Sum => part.iter().sum(),
            ScanKind::Prod => part.iter().product(),
        })
    }

    pub(super) fn norm(&self, node: NodeId, norm: &Norm, index: &[usize]) -> Result<f64> {
        let x = self.operand(node, 0)?;
        let line = self.line(x, &norm.axes, index)?;
        let count = line.len() as f64;
        let mean = if norm.centred { line.iter().sum::<f64>() / count } else { 0.0 };
        let variance = line.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count;
        let normal = (self.element(x, index)? - mean) / (variance + norm.epsilon).sqrt();
        let parameter = |i: usize, without: f64| {
            let Some(value) = self.graph.node(node).inputs.get(i).copied().flatten() else { return Ok(without) };
            let at: Shape =
                self.graph.shape(value).iter().zip(index).map(|(&size, &at)| if size == 1 { 0 } else { at }).collect();
            self.element(value, &at)
        };
        Ok(normal * parameter(1, 1.0)? + parameter(2, 0.0)?)
    }

    /// Taps outermost: those whose step leads back to an element of X.
    pub(super) fn conv_transpose(&self, node: NodeId, conv: &ConvTranspose, index: &[usize]) -> Result<f64> {
        let (x, w) = (self.operand(node, 0)?, self.operand(node, 1)?);
        let (input, kernel) = (self.graph.shape(x), self.graph.shape(w));
        let (group, filter) = (index[1] / kernel[1], index[1] % kernel[1]);
        let channels = input[1] / conv.groups;
        let mut sum = 0.0;
        for tap in coordinates(&kernel[2..]) {
            let source = |i: usize| {
                let steps = (index[2 + i] + conv.pads_begin[i]).checked_sub(tap[i] * conv.dilations[i])?;
                (steps % conv.strides[i] == 0 && steps / conv.strides[i] < input[2 + i]).then(|| steps / conv.strides[i])
            };
            let Some(spatial) = (0..tap.len()).map(source).collect::<Option<Vec<usize>>>() else { continue };
            for c in (group * channels..).take(channels) {
                let at: Shape = [index[0], c].into_iter().chain(spatial.iter().copied()).collect();
                let weight: Shape = [c, filter].into_iter().chain(tap.iter().copied()).collect();
                sum += self.element(x, &at)? * self.element(w, &weight)?;
            }
        }
        match self.graph.node(node).inputs.get(2).copied().flatten() {
            Some(bias) => Ok(sum + self.element(bias, &index[1..2])?),
            None => Ok(sum),
        }
    }
}
