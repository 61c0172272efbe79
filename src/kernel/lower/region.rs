//! Blocks of a tensor in memory, as values of the front end: block pointers and tensor descriptors.
//!
//! Neither exists in the IR: both are carried as the scalars that they are made of (base, shape, strides,
//! offsets) and become addresses and masks where a block is loaded or stored, as the compiler's own
//! pass rewrites them. Shapes and strides of a block pointer are i64, its offsets i32; shapes of a descriptor are i32.

use super::Lower;
use super::operands::Pointers;
use super::types::{Scalar, Ty};
use super::value::{Tensor, Val};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{BlockShape, InstKind};
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::{BinaryOp, CompareOp};

/// `tl.make_block_ptr(…)`, perhaps advanced.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockPtr {
    pub base: Tensor,
    pub shape: Vec<Tensor>,
    pub strides: Vec<Tensor>,
    pub offsets: Vec<Tensor>,
    pub block: BlockShape,
}

/// `tl.make_tensor_descriptor(…)`, or a descriptor that the host made.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    pub base: Tensor,
    pub shape: Vec<Tensor>,
    pub strides: Vec<Tensor>,
    pub block: BlockShape,
    /// Whether lanes outside read NaN and not zero.
    pub nan: bool,
}

fn element(base: &Tensor) -> Scalar {
    match base.ty.scalar {
        Scalar::Ptr(to) => Scalar::Num(to),
        number @ Scalar::Num(_) => number,
    }
}

impl BlockPtr {
    pub fn parts(&self) -> impl Iterator<Item = &Tensor> {
        std::iter::once(&self.base).chain(&self.shape).chain(&self.strides).chain(&self.offsets)
    }

    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut Tensor> {
        std::iter::once(&mut self.base).chain(&mut self.shape).chain(&mut self.strides).chain(&mut self.offsets)
    }

    pub fn block_type(&self) -> Ty {
        Ty::block(element(&self.base), &self.block)
    }

    pub fn same_type(&self, other: &BlockPtr) -> bool {
        self.block == other.block && self.parts().map(|p| &p.ty).eq(other.parts().map(|p| &p.ty))
    }
}

impl Descriptor {
    pub fn parts(&self) -> impl Iterator<Item = &Tensor> {
        std::iter::once(&self.base).chain(&self.shape).chain(&self.strides)
    }

    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut Tensor> {
        std::iter::once(&mut self.base).chain(&mut self.shape).chain(&mut self.strides)
    }

    pub fn block_type(&self) -> Ty {
        Ty::block(element(&self.base), &self.block)
    }

    pub fn same_type(&self, other: &Descriptor) -> bool {
        self.block == other.block && self.nan == other.nan && self.parts().map(|p| &p.ty).eq(other.parts().map(|p| &p.ty))
    }
}

/// Where a block lies: one entry an axis.
pub struct Axis {
    /// Coordinates along the axis, an i64 block of one axis.
    pub index: Tensor,
    /// The tensor's size along the axis where lanes outside it are masked off.
    pub bound: Option<Tensor>,
    pub stride: Tensor,
}

impl<'a> Lower<'a, '_> {
    /// Coordinates `offset, offset + 1, …` as i64.
    pub fn coordinates(&mut self, span: Span, offset: &Tensor, size: usize) -> Result<Tensor> {
        let wide = Scalar::Num(DType::I64);
        let ty = Ty::block(Scalar::Num(DType::I32), &[size]);
        let range = self.b.inst(InstKind::MakeRange { start: 0, end: size as i32 }, ty.ir());
        let range = self.tensor(range, ty);
        let range = self.cast(span, &range, wide)?;
        let offset = self.cast(span, offset, wide)?;
        self.tensor_op(span, BinaryOp::Add, &offset, &range)
    }

    fn tensor_op(&mut self, span: Span, op: BinaryOp, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let value = self.binary(span, op, &Val::Tensor(a.clone()), &Val::Tensor(b.clone()))?;
        self.tensor_of(span, &value)
    }

    /// Addresses of a block, and the mask of the lanes inside the tensor where axes are checked.
    pub fn addresses(&mut self, span: Span, base: &Tensor, axes: &[Axis]) -> Result<(Tensor, Option<Tensor>)> {
        let rank = axes.len();
        let mut ptr = base.clone();
        let mut mask: Option<Tensor> = None;
        for (i, axis) in axes.iter().enumerate() {
            let stride = self.cast(span, &axis.stride, Scalar::Num(DType::I64))?;
            let mut term = self.tensor_op(span, BinaryOp::Mul, &axis.index, &stride)?;
            let mut inside = None;
            if let Some(bound) = &axis.bound {
                let bound = self.cast(span, bound, Scalar::Num(DType::I64))?;
                let index = Val::Tensor(axis.index.clone());
                let zero = self.number(span, &Constant::Int(0), DType::I64)?;
                let from = self.compare(span, CompareOp::Ge, &index, &Val::Tensor(zero))?;
                let to = self.compare(span, CompareOp::Lt, &index, &Val::Tensor(bound))?;
                let both = self.binary(span, BinaryOp::BitAnd, &from, &to)?;
                inside = Some(self.tensor_of(span, &both)?);
            }
            for other in 0..rank {
                if other != i {
                    term = self.expand_dims(&term, other);
                    inside = inside.map(|m| self.expand_dims(&m, other));
                }
            }
            let (p, t) = self.operands(span, &Val::Tensor(ptr), &Val::Tensor(term), Pointers::Both, false)?;
            let sum = self.add(span, &Val::Tensor(p), &Val::Tensor(t))?;
            ptr = self.tensor_of(span, &sum)?;
            mask = match (mask, inside) {
                (Some(a), Some(b)) => Some(self.tensor_op(span, BinaryOp::BitAnd, &a, &b)?),
                (a, b) => a.or(b),
            };
        }
        let mask = mask.map(|m| self.broadcast_to(span, &m, &ptr.ty.shape.clone())).transpose()?;
        Ok((ptr, mask))
    }

    /// Loads a block; lanes outside read `fill`, or nothing defined.
    pub fn load_region(&mut self, span: Span, base: &Tensor, axes: &[Axis], fill: Option<f64>) -> Result<Val<'a>> {
        let Scalar::Ptr(to) = base.ty.scalar else { return Err(self.type_error(span, "a block through no pointer")) };
        let (ptr, mask) = self.addresses(span, base, axes)?;
        let ty = ptr.ty.with(Scalar::Num(to));
        let other = match (fill, &mask) {
            (Some(fill), Some(_)) => {
                let number = if to.is_float() { Constant::Float(fill) } else { Constant::Int(fill as i64) };
                let scalar = self.number(span, &number, to)?;
                Some(self.splat(&scalar, &ty.shape).value)
            }
            _ => None,
        };
        let value = self.b.inst(InstKind::Load { ptr: ptr.value, mask: mask.map(|m| m.value), other }, ty.ir());
        Ok(Val::Tensor(self.tensor(value, ty)))
    }

    /// Stores a block; lanes outside are left alone where axes are checked.
    pub fn store_region(&mut self, span: Span, base: &Tensor, axes: &[Axis], value: &Tensor) -> Result<Val<'a>> {
        let (ptr, mask) = self.addresses(span, base, axes)?;
        self.b.effect(InstKind::Store { ptr: ptr.value, value: value.value, mask: mask.map(|m| m.value) });
        Ok(Val::Const(Constant::None))
    }

    /// Where a block lies: integers of 32 bits, which wider ones are not cut to.
    pub fn offsets(&mut self, span: Span, list: &Val<'a>, what: &str) -> Result<Vec<Tensor>> {
        if let Some(wide) = list.flattened().iter().find(|t| t.ty.scalar.is_int() && t.ty.scalar.bits() > 32) {
            let mut diagnostic = self.rejected(span, format!("{what} have 32 bits, not {}", wide.ty));
            diagnostic.help = Some("convert it: `.to(tl.int32)`, or use plain pointers".to_owned());
            return Err(diagnostic);
        }
        self.scalars(span, list, what, DType::I32)
    }

    /// Integers of a call, as scalars of 32 or 64 bits: sizes, strides, offsets.
    pub fn scalars(&mut self, span: Span, list: &Val<'a>, what: &str, to: DType) -> Result<Vec<Tensor>> {
        let items = match list {
            Val::Tuple(items) => items.clone(),
            one => vec![one.clone()],
        };
        let mut scalars = Vec::with_capacity(items.len());
        for item in items {
            let scalar = match &item {
                Val::Const(constant @ (Constant::Int(_) | Constant::Bool(_))) => self.number(span, constant, to)?,
                other => {
                    let tensor = self.tensor_of(span, other)?;
                    if !tensor.ty.scalar.is_int() || tensor.ty.is_block() {
                        return Err(self.type_error(span, format!("{what} must be scalar integers, not {}", tensor.ty)));
                    }
                    self.cast(span, &tensor, Scalar::Num(to))?
                }
            };
            scalars.push(scalar);
        }
        Ok(scalars)
    }
}
