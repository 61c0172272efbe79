//! `sort`, `topk`, `bitonic_merge`: bitonic networks (Batcher 1968) on a hypercube with one axis for every bit of
//! an index, as Triton's library has them, operation by operation; so the IR is the same, and so is where a NaN
//! ends up. `topk` halves the block by a maximum after every merge (Shanbhag et al., "Efficient top-k query
//! processing on massively parallel hardware", 2018).

use super::create::make_range;
use super::{Builtin, Lower, call, function};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::BlockShape;
use crate::kernel::lower::call::Args;
use crate::kernel::lower::types::Scalar;
use crate::kernel::lower::value::{Tensor, Val};
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, CompareOp};

pub static TABLE: &[Builtin] = &[
    function("sort", &["x", "dim=", "descending="], |l, a| sort(l, a, None)),
    function("topk", &["x", "k", "dim=", "descending="], |l, a| {
        let k = l.int_arg(a, "k")?;
        sort(l, a, Some(k))
    }),
    function("bitonic_merge", &["x", "dim=", "descending="], bitonic_merge),
];

/// Which way a stage sorts.
#[derive(Clone, Copy)]
enum Order {
    Ascending,
    Descending,
    /// Runs in turn, so that neighbours make a bitonic sequence.
    Alternating,
}

impl Order {
    fn of(descending: bool) -> Order {
        if descending { Order::Descending } else { Order::Ascending }
    }
}

/// A block and the size of its last axis, the only one that is sorted.
fn last_axis<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<(Tensor, usize)> {
    let x = lower.tensor_arg(args, "x")?;
    let rank = x.ty.shape.len();
    if let Some(dim) = args.given("dim")
        && lower.int_of(dim, "an axis")? != rank as i64 - 1
    {
        return Err(lower.rejected(args.span, format!("`tl.{}` sorts along the last axis only", args.builtin.name)));
    }
    match x.ty.shape.last() {
        Some(&size) if x.ty.shape.iter().all(|n| n.is_power_of_two()) => Ok((x, size)),
        Some(_) => Err(lower.rejected(args.span, format!("`tl.{}` of {}: sizes must be powers of two", args.builtin.name, x.ty))),
        None => Err(lower.type_error(args.span, format!("`tl.{}` of a scalar", args.builtin.name))),
    }
}

fn hypercube(numel: usize) -> BlockShape {
    BlockShape::from_elem(2, numel.trailing_zeros().max(1) as usize)
}

fn sort<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, k: Option<i64>) -> Result<Val<'a>> {
    let span = args.span;
    let (x, size) = last_axis(lower, args)?;
    let descending = lower.bool_arg(args, "descending", k.is_some())?;
    let k = match k.map(usize::try_from) {
        None => size,
        Some(Ok(k)) if k.is_power_of_two() && k <= size => k,
        Some(_) => return Err(lower.rejected(span, format!("topk: k must be a power of two from 1 to {size}"))),
    };
    let (log_n, log_k) = (size.trailing_zeros() as usize, k.trailing_zeros() as usize);
    if log_k == 0 {
        let name = if descending { "max" } else { "min" };
        let axis = Val::int(x.ty.shape.len() as i64 - 1);
        let rest = [Val::bool(false), Val::bool(true), Val::bool(true)];
        let vals = [Val::Tensor(x), axis].into_iter().chain(rest).collect();
        return call(lower, span, name, vals);
    }
    let mut h = lower.reshape(&x, &hypercube(x.ty.shape.iter().product()));
    let order = |i: usize| if i < log_n { Order::Alternating } else { Order::of(descending) };
    for i in 1..=log_k {
        h = merge(lower, span, h, i, order(i))?;
    }
    for i in log_k + 1..=log_n {
        let axis = h.ty.shape.len() - 1 - log_k;
        let name = if descending { "max" } else { "min" };
        let value = call(lower, span, name, vec![Val::Tensor(h), Val::int(axis as i64)])?;
        h = lower.tensor_of(span, &value)?;
        h = merge(lower, span, h, log_k, order(i))?;
    }
    let mut shape = x.ty.shape.clone();
    if let Some(last) = shape.last_mut() {
        *last = k;
    }
    Ok(Val::Tensor(lower.reshape(&h, &shape)))
}

fn bitonic_merge<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let (x, size) = last_axis(lower, args)?;
    let descending = lower.bool_arg(args, "descending", false)?;
    let h = lower.reshape(&x, &hypercube(x.ty.shape.iter().product()));
    let h = merge(lower, args.span, h, size.trailing_zeros() as usize, Order::of(descending))?;
    Ok(Val::Tensor(lower.reshape(&h, &x.ty.shape)))
}

/// 0 and 1 along the j-th axis from the end.
fn indicator(lower: &mut Lower<'_, '_>, rank: usize, j: usize) -> Tensor {
    let range = make_range(lower, 0, 2, &[2]);
    let mut shape = BlockShape::from_elem(1, rank);
    shape[rank - 1 - j] = 2;
    lower.reshape(&range, &shape)
}

/// One stage: pairs 2^(stage−1) apart, then half as far, down to neighbours.
fn merge<'a>(lower: &mut Lower<'a, '_>, span: Span, mut x: Tensor, stage: usize, order: Order) -> Result<Tensor> {
    let rank = x.ty.shape.len();
    let flip = match order {
        Order::Ascending => Val::int(0),
        Order::Descending => Val::int(1),
        Order::Alternating => Val::Tensor(indicator(lower, rank, stage)),
    };
    for i in (0..stage).rev() {
        x = compare_and_swap(lower, span, x, &flip, i)?;
    }
    Ok(x)
}

/// Puts the lanes of every pair along the i-th axis from the end in order.
fn compare_and_swap<'a>(lower: &mut Lower<'a, '_>, span: Span, x: Tensor, flip: &Val<'a>, i: usize) -> Result<Tensor> {
    let rank = x.ty.shape.len();
    let bits = lower.as_bits(span, &x)?;
    let other = lower.exchanged(span, &bits, rank - 1 - i)?;
    let y = lower.bitcast(span, &other, x.ty.scalar)?;
    let right = Val::Tensor(indicator(lower, rank, i));
    let greater = lower.compare(span, CompareOp::Gt, &Val::Tensor(x.clone()), &Val::Tensor(y.clone()))?;
    let turned = lower.binary(span, BinaryOp::BitXor, flip, &right)?;
    let turned = lower.tensor_of(span, &turned)?;
    let turned = Val::Tensor(lower.cast(span, &turned, Scalar::Num(DType::Bool))?);
    let swap = lower.compare(span, CompareOp::Ne, &greater, &turned)?;
    let chosen = call(lower, span, "where", vec![swap, Val::Tensor(y), Val::Tensor(x)])?;
    lower.tensor_of(span, &chosen)
}
