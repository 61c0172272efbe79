//! Shapes: axes added, grown, reordered, regrouped.

use smallvec::SmallVec;

use super::{Builtin, Lower, MAX_RANK, function, member_function};
use crate::diag::Result;
use crate::kernel::ir::{BlockShape, InstKind};
use crate::kernel::lower::call::{Arg, Args};
use crate::kernel::lower::shape_text;
use crate::kernel::lower::types::Ty;
use crate::kernel::lower::value::{Tensor, Val};

pub static TABLE: &[Builtin] = &[
    member_function("expand_dims", &["input", "axis"], expand_dims),
    member_function("broadcast_to", &["input", "*shape"], broadcast_to),
    function("broadcast", &["input", "other"], broadcast),
    member_function("trans", &["input", "*dims"], trans),
    member_function("permute", &["input", "*dims"], permute),
    member_function("reshape", &["input", "*shape", "can_reorder="], reshape),
    member_function("view", &["input", "*shape"], reshape),
    member_function("ravel", &["x", "can_reorder="], ravel),
    member_function("item", &["input"], item),
    function("squeeze", &["x", "dim"], squeeze),
    function("unsqueeze", &["x", "dim"], unsqueeze),
];

impl Lower<'_, '_> {
    /// Row-major order is kept; the element count must be equal.
    pub fn reshape(&mut self, input: &Tensor, shape: &[usize]) -> Tensor {
        let ty = Ty::block(input.ty.scalar, shape);
        let value = self.b.inst(InstKind::Reshape(input.value), ty.ir());
        self.tensor(value, ty)
    }

    /// The only lane of a block.
    pub fn unsplat(&mut self, input: &Tensor) -> Tensor {
        let ty = Ty::scalar(input.ty.scalar);
        let value = self.b.inst(InstKind::Unsplat(input.value), ty.ir());
        self.tensor(value, ty)
    }

    /// Result axis `i` is input axis `order[i]`.
    pub fn permute(&mut self, input: &Tensor, order: &[usize]) -> Tensor {
        let shape: BlockShape = order.iter().map(|&axis| input.ty.shape[axis]).collect();
        let ty = Ty::block(input.ty.scalar, &shape);
        let order: SmallVec<[u8; 4]> = order.iter().map(|&axis| axis as u8).collect();
        let value = self.b.inst(InstKind::Trans { value: input.value, order }, ty.ir());
        self.tensor(value, ty)
    }
}

fn expand_dims<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let mut input = lower.tensor_arg(args, "input")?;
    let axis = lower.arg(args, "axis")?.clone();
    let list = match &axis.val {
        Val::Tuple(items) => items.iter().map(|item| Arg { val: item.clone(), span: axis.span }).collect(),
        _ => vec![axis.clone()],
    };
    let rank = input.ty.shape.len() + list.len();
    if rank > MAX_RANK {
        return Err(lower.unsupported(args.span, format!("a block of more than {MAX_RANK} axes")));
    }
    let mut axes = list.iter().map(|arg| lower.axis_of(arg, rank)).collect::<Result<Vec<_>>>()?;
    axes.sort_unstable();
    if axes.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(lower.type_error(axis.span, "an axis is named twice"));
    }
    for axis in axes {
        input = lower.expand_dims(&input, axis);
    }
    Ok(Val::Tensor(input))
}

fn broadcast_to<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let input = lower.tensor_arg(args, "input")?;
    let shape = lower.shape_of(&args.rest, args)?;
    Ok(Val::Tensor(lower.broadcast_to(args.span, &input, &shape)?))
}

fn broadcast<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let (a, b) = (lower.tensor_arg(args, "input")?, lower.tensor_arg(args, "other")?);
    let (a, b) = lower.broadcast(args.span, a, b)?;
    Ok(Val::Tuple(vec![Val::Tensor(a), Val::Tensor(b)]))
}

/// The order of axes that a call asks for.
fn order<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>, rank: usize) -> Result<Vec<usize>> {
    let dims = lower.ints_of(&args.rest, "an axis")?;
    let mut order = Vec::with_capacity(rank);
    for dim in dims {
        let wrapped = if dim < 0 { dim + rank as i64 } else { dim };
        order.extend(usize::try_from(wrapped).ok().filter(|&axis| axis < rank));
    }
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted != (0..rank).collect::<Vec<_>>() {
        return Err(lower
            .type_error(args.span, format!("the axes of `tl.{}` must be 0 to {} in some order", args.builtin.name, rank - 1)));
    }
    Ok(order)
}

fn trans<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let input = lower.tensor_arg(args, "input")?;
    let rank = input.ty.shape.len();
    if rank < 2 {
        return Err(lower.type_error(args.span, format!("`tl.trans` of {}; it needs two axes", input.ty)));
    }
    let order = if args.rest.is_empty() {
        let mut order: Vec<usize> = (0..rank).collect();
        order.swap(rank - 2, rank - 1);
        order
    } else {
        order(lower, args, rank)?
    };
    Ok(Val::Tensor(lower.permute(&input, &order)))
}

fn permute<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let input = lower.tensor_arg(args, "input")?;
    if !input.ty.is_block() {
        return Err(lower.type_error(args.span, "`tl.permute` of a scalar"));
    }
    let order = order(lower, args, input.ty.shape.len())?;
    Ok(Val::Tensor(lower.permute(&input, &order)))
}

fn reshape<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let input = lower.tensor_arg(args, "input")?;
    // `can_reorder` leaves the order of elements open: row-major is one of them.
    let shape = lower.shape_of(&args.rest, args)?;
    if !input.ty.is_block() {
        return Ok(Val::Tensor(lower.splat(&input, &shape)));
    }
    if shape.is_empty() && input.ty.shape.iter().all(|&n| n == 1) {
        return Ok(Val::Tensor(lower.unsplat(&input)));
    }
    if input.ty.shape.iter().product::<usize>() != shape.iter().product::<usize>() {
        let message = format!("a block of {} as one of {}", shape_text(&input.ty.shape), shape_text(&shape));
        return Err(lower.type_error(args.span, message));
    }
    Ok(Val::Tensor(lower.reshape(&input, &shape)))
}

fn ravel<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let input = lower.tensor_arg(args, "x")?;
    let numel = input.ty.shape.iter().product();
    Ok(Val::Tensor(lower.reshape(&input, &[numel])))
}

fn item<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let input = lower.tensor_arg(args, "input")?;
    if input.ty.shape.iter().any(|&n| n != 1) {
        return Err(lower.type_error(args.span, format!("`.item` of {}; it takes one element", input.ty)));
    }
    Ok(Val::Tensor(if input.ty.is_block() { lower.unsplat(&input) } else { input }))
}

/// Without an axis of size 1.
fn squeeze<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let x = lower.tensor_arg(args, "x")?;
    let axis = lower.axis_of(lower.arg(args, "dim")?, x.ty.shape.len())?;
    if x.ty.shape[axis] != 1 {
        return Err(lower.rejected(args.span, format!("`tl.squeeze` of {} along {axis}: the size must be 1", x.ty)));
    }
    let mut shape = x.ty.shape.clone();
    shape.remove(axis);
    Ok(Val::Tensor(if shape.is_empty() { lower.unsplat(&x) } else { lower.reshape(&x, &shape) }))
}

/// With a new axis of size 1.
fn unsqueeze<'a>(lower: &mut Lower<'a, '_>, args: &Args<'a>) -> Result<Val<'a>> {
    let x = lower.tensor_arg(args, "x")?;
    let axis = lower.axis_of(lower.arg(args, "dim")?, x.ty.shape.len() + 1)?;
    let mut shape = x.ty.shape.clone();
    shape.insert(axis, 1);
    if shape.len() > MAX_RANK {
        return Err(lower.unsupported(args.span, format!("a block of more than {MAX_RANK} axes")));
    }
    Ok(Val::Tensor(if x.ty.is_block() { lower.reshape(&x, &shape) } else { lower.splat(&x, &shape) }))
}
