//! Lanes that change places: joins, splits, gathers, flips; and the histogram.

use super::{Builtin, Lower, MAX_NUMEL, MAX_RANK, function, member_function};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{BlockShape, InstKind};
use crate::kernel::lower::call::Args;
use crate::kernel::lower::shape_text;
use crate::kernel::lower::types::{Scalar, Ty};
use crate::kernel::lower::value::{Tensor, Val};
use crate::source::Span;
use crate::syntax::ast::BinaryOp;

pub static TABLE: &[Builtin] = &[
    function("join", &["a", "b"], join),
    member_function("split", &["a"], split),
    function("interleave", &["a", "b"], interleave),
    function("cat", &["input", "other", "can_reorder=", "dim="], cat),
    member_function("gather", &["src", "index", "axis"], gather),
    member_function("histogram", &["input", "num_bins", "mask="], histogram),
    member_function("flip", &["x", "dim="], flip),
    function("swizzle2d", &["i", "j", "size_i", "size_j", "size_g"], swizzle2d),
];

impl<'a> Lower<'a, '_> {
    /// Two values of one shape with a new last axis of size 2; of scalars, a block of two.
    pub fn join_blocks(&mut self, span: Span, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let (a, b) = self.broadcast(span, a.clone(), b.clone())?;
        if a.ty.scalar != b.ty.scalar {
            return Err(self.type_error(span, format!("a join of {} and {}", a.ty, b.ty)));
        }
        let scalars = !a.ty.is_block();
        let (a, b) = if scalars { (self.expand_dims(&a, 0), self.expand_dims(&b, 0)) } else { (a, b) };
        let mut shape = a.ty.shape.clone();
        shape.push(2);
        if shape.len() > MAX_RANK || shape.iter().product::<usize>() > MAX_NUMEL {
            return Err(self.rejected(span, format!("a block of {} elements and {} axes", shape_text(&shape), shape.len())));
        }
        let ty = Ty::block(a.ty.scalar, &shape);
        let value = self.b.inst(InstKind::Join(a.value, b.value), ty.ir());
        let joined = self.tensor(value, ty);
        Ok(if scalars { self.reshape(&joined, &[2]) } else { joined })
    }

    /// The halves of an axis of size 2 exchanged, as Triton exchanges lanes: `x ^ xor_sum(x)` on their bits.
    pub fn exchanged(&mut self, span: Span, bits: &Tensor, axis: usize) -> Result<Tensor> {
        let sum = super::reduce::xor_of(self, span, bits, axis)?;
        let sum = self.expand_dims(&sum, axis);
        let value = self.binary(span, BinaryOp::BitXor, &Val::Tensor(bits.clone()), &Val::Tensor(sum))?;
        self.tensor_of(span, &value)
    }

    /// The bits of a value as signed integers of its width.
    pub fn as_bits(&mut self, span: Span, value: &Tensor) -> Result<Tensor> {
        let dtype = match value.ty.scalar.bits() {
            1 => DType::Bool,
            8 => DType::I8,
            16 => DType::I16,
            32 => DType::I32,
            _ => DType::I64,
        };
        self.bitcast(span, value, Scalar::Num(dtype))
    }
}

fn join<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let (a, b) = (lower.tensor_arg(args, "a")?, lower.tensor_arg(args, "b")?);
    Ok(Val::Tensor(lower.join_blocks(args.span, &a, &b)?))
}

fn split<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let a = lower.tensor_arg(args, "a")?;
    if a.ty.shape.last() != Some(&2) {
        return Err(lower.rejected(args.span, format!("`tl.split` of {}: its last axis must have size 2", a.ty)));
    }
    // The IR has no split into scalars: a block of two is split as a block of 1×2.
    let one_axis = a.ty.shape.len() == 1;
    let a = if one_axis { lower.expand_dims(&a, 0) } else { a };
    let ty = Ty::block(a.ty.scalar, &a.ty.shape[..a.ty.shape.len() - 1]);
    let halves = lower.b.insts_with(InstKind::Split(a.value), &[ty.ir(), ty.ir()]);
    let mut out = Vec::with_capacity(2);
    for half in halves {
        let half = lower.tensor(half, ty.clone());
        out.push(Val::Tensor(if one_axis { lower.unsplat(&half) } else { half }));
    }
    Ok(Val::Tuple(out))
}

/// The values of two blocks in turn along the last axis.
fn interleave<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let (a, b) = (lower.tensor_arg(args, "a")?, lower.tensor_arg(args, "b")?);
    let joined = lower.join_blocks(args.span, &a, &b)?;
    let mut shape = joined.ty.shape.clone();
    if shape.len() == 1 {
        return Ok(Val::Tensor(joined));
    }
    shape.pop();
    if let Some(last) = shape.last_mut() {
        *last *= 2;
    }
    Ok(Val::Tensor(lower.reshape(&joined, &shape)))
}

fn cat<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let span = args.span;
    let (a, b) = (lower.tensor_arg(args, "input")?, lower.tensor_arg(args, "other")?);
    if a.ty.scalar != b.ty.scalar || !a.ty.is_block() || !b.ty.is_block() {
        return Err(lower.type_error(span, format!("a cat of {} and {}", a.ty, b.ty)));
    }
    if lower.bool_arg(args, "can_reorder", false)? {
        if a.ty.shape.len() != 1 || b.ty.shape.len() != 1 {
            return Err(lower.rejected(span, "`tl.cat` with can_reorder takes blocks of one axis"));
        }
        let ty = Ty::block(a.ty.scalar, &[a.ty.shape[0] + b.ty.shape[0]]);
        let value = lower.b.inst(InstKind::Cat(a.value, b.value), ty.ir());
        return Ok(Val::Tensor(lower.tensor(value, ty)));
    }
    let rank = a.ty.shape.len();
    if a.ty.shape != b.ty.shape {
        let message = format!("a cat of {} and {}: the shapes must be equal", a.ty, b.ty);
        return Err(lower.rejected(span, message));
    }
    let dim = match args.given("dim") {
        Some(dim) => lower.axis_of(dim, rank)?,
        None => 0,
    };
    let joined = lower.join_blocks(span, &a, &b)?;
    let mut order: Vec<usize> = (0..rank).collect();
    order.insert(dim, rank);
    let moved = lower.permute(&joined, &order);
    let mut shape = a.ty.shape.clone();
    shape[dim] *= 2;
    Ok(Val::Tensor(lower.reshape(&moved, &shape)))
}

fn gather<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let (source, index) = (lower.tensor_arg(args, "src")?, lower.tensor_arg(args, "index")?);
    if !index.ty.scalar.is_int() {
        return Err(lower.type_error(args.span, format!("an index of {}", index.ty.scalar)));
    }
    let rank = source.ty.shape.len();
    let axis = lower.axis_of(lower.arg(args, "axis")?, rank)?;
    let same = |d: usize| d == axis || source.ty.shape[d] == index.ty.shape[d];
    if index.ty.shape.len() != rank || !(0..rank).all(same) {
        let message = format!("a gather of {} by {} along axis {axis}: the other sizes must be equal", source.ty, index.ty);
        return Err(lower.type_error(args.span, message));
    }
    let ty = Ty::block(source.ty.scalar, &index.ty.shape);
    let kind = InstKind::Gather { source: source.value, index: index.value, axis: axis as u8 };
    let value = lower.b.inst(kind, ty.ir());
    Ok(Val::Tensor(lower.tensor(value, ty)))
}

fn histogram<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let input = lower.tensor_arg(args, "input")?;
    let num_bins = lower.arg(args, "num_bins")?.clone();
    let bins = lower.shape_of(std::slice::from_ref(&num_bins), args)?;
    let mut mask = lower.optional_tensor(args, "mask")?;
    if input.ty.shape.len() != 1 {
        return Err(lower.type_error(args.span, format!("a histogram of {}; it takes one axis", input.ty)));
    }
    if !input.ty.scalar.is_int() || input.ty.scalar.bits() != 32 {
        return Err(lower.type_error(args.span, format!("a histogram of {}; it takes 32-bit integers", input.ty.scalar)));
    }
    if let Some(m) = mask.take() {
        if !m.ty.scalar.is_bool() {
            return Err(lower.type_error(args.span, format!("a mask of {}", m.ty.scalar)));
        }
        mask = Some(lower.broadcast_to(args.span, &m, &input.ty.shape.clone())?);
    }
    let ty = Ty::block(Scalar::Num(DType::I32), &bins);
    let value = lower.b.inst(InstKind::Histogram { value: input.value, mask: mask.map(|m| m.value) }, ty.ir());
    Ok(Val::Tensor(lower.tensor(value, ty)))
}

/// Reversed along an axis: every bit of the index is flipped.
fn flip<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let x = lower.tensor_arg(args, "x")?;
    let rank = x.ty.shape.len();
    let axis = match args.given("dim") {
        Some(dim) => lower.axis_of(dim, rank)?,
        None if rank > 0 => rank - 1,
        None => return Err(lower.type_error(args.span, "`tl.flip` of a scalar")),
    };
    let size = x.ty.shape[axis];
    if !size.is_power_of_two() {
        return Err(lower.rejected(args.span, format!("`tl.flip` along {size}: the size must be a power of two")));
    }
    let steps = size.trailing_zeros() as usize;
    let mut shape = BlockShape::from_slice(&x.ty.shape[..axis]);
    shape.extend(std::iter::repeat_n(2, steps));
    shape.extend(x.ty.shape[axis + 1..].iter().copied());
    let bits = lower.as_bits(args.span, &x)?;
    // Without an axis left (a block of one lane) there is nothing to see as a hypercube.
    let mut y = if shape.is_empty() { bits } else { lower.reshape(&bits, &shape) };
    for step in 0..steps {
        y = lower.exchanged(args.span, &y, axis + step)?;
    }
    let back = lower.reshape(&y, &x.ty.shape);
    Ok(Val::Tensor(lower.bitcast(args.span, &back, x.ty.scalar)?))
}

/// Row-major indices of a matrix as those of column-major groups of `size_g` rows.
fn swizzle2d<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let span = args.span;
    let mut vals = Vec::with_capacity(5);
    for param in ["i", "j", "size_i", "size_j", "size_g"] {
        vals.push(lower.arg(args, param)?.val.clone());
    }
    let [i, j, size_i, size_j, size_g] = [0, 1, 2, 3, 4].map(|at| vals[at].clone());
    let row = lower.binary(span, BinaryOp::Mul, &i, &size_j)?;
    let ij = lower.binary(span, BinaryOp::Add, &row, &j)?;
    let size_gj = lower.binary(span, BinaryOp::Mul, &size_g, &size_j)?;
    let group = lower.binary(span, BinaryOp::FloorDiv, &ij, &size_gj)?;
    let off_i = lower.binary(span, BinaryOp::Mul, &group, &size_g)?;
    let left = lower.binary(span, BinaryOp::Sub, &size_i, &off_i)?;
    // The last group may have fewer rows.
    let rows = super::call(lower, span, "minimum", vec![left, size_g])?;
    let within = lower.binary(span, BinaryOp::Mod, &ij, &size_gj)?;
    let step = lower.binary(span, BinaryOp::Mod, &within, &rows)?;
    let new_i = lower.binary(span, BinaryOp::Add, &off_i, &step)?;
    let new_j = lower.binary(span, BinaryOp::FloorDiv, &within, &rows)?;
    Ok(Val::Tuple(vec![new_i, new_j]))
}
