//! LRN: y = x / (bias + α / size · Σ x²)^β over the `size` channels around each one.
//!
//! <https://onnx.ai/onnx/operators/onnx__LRN.html>. Opset 1; 13: bfloat16. X T [N, C, …], T a float. The
//! window of channel c is c − ⌊(size − 1)/2⌋ … c + ⌈(size − 1)/2⌉, cut at the ends. Lowered to one
//! Map that reads X `size` times, 0 outside.

use crate::expr::index::Index;
use crate::expr::{Binary, ExprBuilder};
use crate::graph::op::{Access, Map, Op, OutOfBounds};
use crate::import::onnx::node::{Context, Failure};
use crate::import::onnx::ops::pointwise::number;
use crate::shape::display;

/// Wider windows would make too long a Map.
const WIDEST: i64 = 32;

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "X")?;
    let ty = cx.ty(&x);
    if ty.shape.len() < 2 || !ty.dtype.is_float() {
        return Err(Failure::shapes(format!("X {} {} has no channels of floats", ty.dtype, display(&ty.shape))));
    }
    let alpha = cx.attributes.float("alpha")?.unwrap_or(f64::from(1e-4f32));
    let beta = cx.attributes.float("beta")?.unwrap_or(0.75);
    let bias = cx.attributes.float("bias")?.unwrap_or(1.0);
    let size = cx.attributes.int("size")?.ok_or_else(|| Failure::invalid("attribute `size` is missing"))?;
    if size < 1 {
        return Err(Failure::invalid(format!("attribute `size` is {size}: it must be at least 1")));
    }
    if size > WIDEST {
        return Err(Failure::unsupported(format!("windows of more than {WIDEST} channels")));
    }
    let mut b = ExprBuilder::new();
    let (mut reads, mut sum) = (Vec::new(), None);
    let first = -((size - 1) / 2);
    for offset in first..first + size {
        let mut index: Vec<Index> = (0..ty.shape.len()).map(Index::Dim).collect();
        if offset != 0 {
            index[1] = Index::Add(Box::new(Index::Dim(1)), Box::new(Index::Constant(offset)));
        }
        let oob = if offset == 0 { OutOfBounds::InBounds } else { OutOfBounds::Fill(0.0) };
        reads.push(Access { input: 0, index, oob });
        let value = b.read(reads.len() as u32 - 1, ty.dtype);
        let square = b.binary(Binary::Mul, value, value);
        sum = Some(sum.map_or(square, |sum| b.binary(Binary::Add, sum, square)));
    }
    let centre = b.read(first.unsigned_abs() as u32, ty.dtype);
    let sum = sum.unwrap_or(centre);
    let (scale, bias, beta) = (number(&mut b, alpha / size as f64, sum), number(&mut b, bias, sum), number(&mut b, beta, sum));
    let scaled = b.binary(Binary::Mul, sum, scale);
    let base = b.binary(Binary::Add, scaled, bias);
    let divisor = b.binary(Binary::Pow, base, beta);
    let root = b.binary(Binary::Div, centre, divisor);
    let map = Map { label: "lrn".to_owned(), dims: ty.shape, reads, body: b.finish(root) };
    cx.finish(Op::Map(map), &[x])
}
