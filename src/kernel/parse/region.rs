//! Tensor pointers (`tt.make_tensor_ptr`, to Triton 3.8) and tensor descriptors: what they are made of, and the
//! plain loads and stores that they stand for.
//!
//! A tensor pointer is its base, sizes, strides and offsets; where it is carried through a loop or a branch,
//! these are carried. A load computes coordinates, addresses and a mask as the front end does for the same Python, and
//! as Triton's own rewriting passes do. Lanes outside read zero, or NaN if `padding` says so, or nothing defined
//! where a checked tensor pointer has no `padding`.
//!
//! Not read: descriptors that are parameters, or carried through loops; gathers, scatters and reductions through them.

use smallvec::SmallVec;

use super::{Named, Parser};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{BlockShape, CastKind, Elem, Inst, InstKind, IntBinary, IntPredicate, Literal, Type, Value, ValueData};
use crate::kernel::lower;
use crate::source::Span;

/// What a name with such a type stands for.
#[derive(Clone, Debug)]
pub(super) struct Region {
    base: Value,
    /// i32 or i64.
    shape: Vec<Value>,
    /// i64.
    strides: Vec<Value>,
    /// i32; none of a descriptor.
    offsets: Vec<Value>,
    block: BlockShape,
    /// What stands outside: `None` is nothing defined.
    fill: Option<f64>,
}

/// The type of a name that may be carried: one value, or the parts of a tensor pointer.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Plain(Type),
    TensorPointer { to: DType, block: BlockShape },
}

impl Kind {
    /// The types of its parts.
    pub fn parts(&self) -> Vec<Type> {
        match self {
            Kind::Plain(ty) => vec![ty.clone()],
            Kind::TensorPointer { to, block } => {
                let (wide, narrow) = (Type::scalar(Elem::I64), Type::scalar(Elem::I32));
                let rank = block.len();
                let base = std::iter::once(Type::scalar(Elem::Ptr(*to)));
                base.chain(vec![wide; 2 * rank]).chain(vec![narrow; rank]).collect()
            }
        }
    }

    /// The same of values, which are its parts.
    pub fn of(&self, parts: &[Value]) -> Named {
        match self {
            Kind::Plain(_) => Named::Value(parts[0]),
            Kind::TensorPointer { to: _, block } => {
                let rank = block.len();
                Named::Region(Box::new(Region {
                    base: parts[0],
                    shape: parts[1..1 + rank].to_vec(),
                    strides: parts[1 + rank..1 + 2 * rank].to_vec(),
                    offsets: parts[1 + 2 * rank..].to_vec(),
                    block: block.clone(),
                    fill: None,
                }))
            }
        }
    }
}

impl Region {
    pub fn parts(&self) -> impl Iterator<Item = Value> {
        std::iter::once(self.base).chain(self.shape.iter().chain(&self.strides).chain(&self.offsets).copied())
    }
}

impl<'t> Parser<'t> {
    /// A type that may be a tensor pointer's.
    pub(super) fn kind(&mut self) -> Result<Kind> {
        let start = self.at;
        if self.eat("!tt.ptr<") && self.peek("tensor<") {
            let ty = self.ty()?;
            if self.eat(",") {
                self.int()?;
            }
            self.expect(">")?;
            return self.pointed_to(&ty).map(|to| Kind::TensorPointer { to, block: ty.shape });
        }
        self.at = start;
        self.ty().map(Kind::Plain)
    }

    fn pointed_to(&self, ty: &Type) -> Result<DType> {
        match super::types::pointee(ty.elem) {
            Some(to) => Ok(to),
            None => self.error("a pointer to pointers"),
        }
    }

    /// `[%a, %b]`.
    fn bracketed(&mut self) -> Result<Vec<Value>> {
        self.expect("[")?;
        let list = self.operands()?;
        self.expect("]")?;
        Ok(list)
    }

    /// A name that stands for a tensor pointer or descriptor.
    fn region_operand(&mut self) -> Result<Region> {
        match self.named()? {
            Named::Region(region) => Ok(*region),
            Named::Value(_) => self.error("expected a tensor pointer or descriptor"),
        }
    }

    /// Operations of regions; `false` where the operation is another one. Loads and stores are such where their pointer is.
    pub(super) fn region_operation(&mut self, op: &str, names: &[&'t str], start: usize, insts: &mut Vec<Inst>) -> Result<bool> {
        match op {
            "tt.make_tensor_ptr" => {
                let base = self.operand()?;
                let mut lists = Vec::new();
                while self.eat(",") {
                    lists.push(self.bracketed()?);
                }
                self.skip_attributes()?;
                self.expect(":")?;
                self.expect("<")?;
                let block = self.ty()?.shape;
                self.expect(">")?;
                let [shape, strides, offsets] = lists.as_slice() else { return self.error("sizes, strides and offsets") };
                let (shape, strides, offsets) = (shape.clone(), strides.clone(), offsets.clone());
                self.named_region(names, Region { base, shape, strides, offsets, block, fill: None })?;
            }
            "tt.advance" => {
                let mut region = self.region_operand()?;
                self.expect(",")?;
                let by = self.bracketed()?;
                self.skip_attributes()?;
                self.expect(":")?;
                self.expect("<")?;
                self.ty()?;
                self.expect(">")?;
                if by.len() != region.offsets.len() {
                    return self.error("an offset for each axis");
                }
                let span = self.span_from(start);
                for (offset, by) in region.offsets.iter_mut().zip(by) {
                    let kind = InstKind::Int(IntBinary::Add, *offset, by);
                    *offset = self.emit(kind, Type::scalar(Elem::I32), span, insts);
                }
                self.named_region(names, region)?;
            }
            "tt.make_tensor_descriptor" => {
                let base = self.operand()?;
                self.expect(",")?;
                let shape = self.bracketed()?;
                self.expect(",")?;
                let strides = self.bracketed()?;
                let open = self.at;
                self.skip_attributes()?;
                let nan = self.text[open..self.at].contains("padding = 2");
                self.expect(":")?;
                self.expect("<")?;
                self.elem()?;
                self.expect(">")?;
                self.expect(",")?;
                let block = self.described()?.shape;
                let fill = Some(if nan { f64::NAN } else { 0.0 });
                self.named_region(names, Region { base, shape, strides, offsets: Vec::new(), block, fill })?;
            }
            "tt.descriptor_load" => {
                let mut region = self.region_operand()?;
                region.offsets = self.bracketed()?;
                self.skip_attributes()?;
                self.expect(":")?;
                self.expect("!tt.tensordesc")?;
                self.described()?;
                self.expect("->")?;
                let ty = self.ty()?;
                let span = self.span_from(start);
                let checked = vec![true; region.block.len()];
                let (ptr, mask) = self.region_addresses(&region, &checked, span, insts)?;
                self.region_load(&region, ptr, mask, &ty, names, span, insts)?;
            }
            "tt.descriptor_store" => {
                let mut region = self.region_operand()?;
                region.offsets = self.bracketed()?;
                self.expect(",")?;
                let value = self.operand()?;
                self.skip_attributes()?;
                self.expect(":")?;
                self.expect("!tt.tensordesc")?;
                self.described()?;
                self.expect(",")?;
                self.ty()?;
                let span = self.span_from(start);
                let checked = vec![true; region.block.len()];
                let (ptr, mask) = self.region_addresses(&region, &checked, span, insts)?;
                insts.push(Inst { kind: InstKind::Store { ptr, value, mask }, results: SmallVec::new(), span });
            }
            "tt.load" | "tt.store" => {
                let back = self.at;
                let Named::Region(mut region) = self.named()? else {
                    self.at = back;
                    return Ok(false);
                };
                let value = if op == "tt.store" { self.expect(",").and_then(|()| self.operand()).map(Some)? } else { None };
                let open = self.at;
                self.skip_attributes()?;
                let attributes = &self.text[open..self.at];
                let checked = boundaries(attributes, region.block.len());
                let Some(checked) = checked else { return self.error("`boundaryCheck` names an axis that the block lacks") };
                region.fill = match (attributes.contains("padding = 1"), attributes.contains("padding = 2")) {
                    (true, _) => Some(0.0),
                    (_, true) => Some(f64::NAN),
                    (false, false) => None,
                };
                self.expect(":")?;
                let Kind::TensorPointer { to, block } = self.kind()? else { return self.error("a tensor pointer's type") };
                let span = self.span_from(start);
                let (ptr, mask) = self.region_addresses(&region, &checked, span, insts)?;
                match value {
                    Some(value) => {
                        insts.push(Inst { kind: InstKind::Store { ptr, value, mask }, results: SmallVec::new(), span });
                    }
                    None => {
                        let ty = Type { elem: Elem::of(to), shape: block };
                        self.region_load(&region, ptr, mask, &ty, names, span, insts)?;
                    }
                }
            }
            _ => return Ok(false),
        }
        self.skip_location()?;
        Ok(true)
    }

    /// `<tensor<8x16xf16>>`, or without the word.
    fn described(&mut self) -> Result<Type> {
        self.expect("<")?;
        let ty = if self.peek("tensor<") {
            let ty = self.ty()?;
            self.expect(">")?;
            ty
        } else {
            self.block_type()?
        };
        Ok(ty)
    }

    fn named_region(&mut self, names: &[&'t str], region: Region) -> Result<()> {
        let rank = region.block.len();
        let of_rank = |list: &[Value]| list.is_empty() || list.len() == rank;
        if ![&region.shape, &region.strides, &region.offsets].into_iter().all(|list| of_rank(list)) || region.shape.is_empty() {
            return self.error(format!("sizes, strides and offsets of {rank} axes"));
        }
        if !matches!(self.values[region.base.0 as usize].ty.elem, Elem::Ptr(_)) {
            return self.error("a base that is no pointer");
        }
        let [name] = names else { return self.error("one result") };
        self.insert(name, Named::Region(Box::new(region)));
        Ok(())
    }

    fn emit(&mut self, kind: InstKind, ty: Type, span: Span, insts: &mut Vec<Inst>) -> Value {
        self.values.push(ValueData { ty, name: None, hints: Vec::new() });
        let value = Value(self.values.len() as u32 - 1);
        insts.push(Inst { kind, results: SmallVec::from_slice(&[value]), span });
        value
    }

    /// A scalar integer as i64.
    fn wide(&mut self, value: Value, span: Span, insts: &mut Vec<Inst>) -> Value {
        match self.values[value.0 as usize].ty.elem {
            Elem::I64 => value,
            _ => self.emit(InstKind::Cast(CastKind::ExtS, value), Type::scalar(Elem::I64), span, insts),
        }
    }

    /// Pointers of a region's block, and the mask of the lanes inside along the checked axes.
    fn region_addresses(
        &mut self,
        region: &Region,
        checked: &[bool],
        span: Span,
        insts: &mut Vec<Inst>,
    ) -> Result<(Value, Option<Value>)> {
        let rank = region.block.len();
        if region.offsets.len() != rank {
            return self.error(format!("offsets of {rank} axes"));
        }
        let base = self.values[region.base.0 as usize].ty.elem;
        let mut ptr = self.emit(InstKind::Splat(region.base), Type::block(base, &region.block), span, insts);
        let mut mask: Option<Value> = None;
        for (axis, &is_checked) in checked.iter().enumerate().take(rank) {
            let size = region.block[axis];
            let line = |elem| Type::block(elem, &[size]);
            let range = self.emit(InstKind::MakeRange { start: 0, end: size as i32 }, line(Elem::I32), span, insts);
            let range = self.emit(InstKind::Cast(CastKind::ExtS, range), line(Elem::I64), span, insts);
            let offset = self.wide(region.offsets[axis], span, insts);
            let offset = self.emit(InstKind::Splat(offset), line(Elem::I64), span, insts);
            let index = self.emit(InstKind::Int(IntBinary::Add, offset, range), line(Elem::I64), span, insts);
            let stride = self.wide(region.strides[axis], span, insts);
            let stride = self.emit(InstKind::Splat(stride), line(Elem::I64), span, insts);
            let term = self.emit(InstKind::Int(IntBinary::Mul, index, stride), line(Elem::I64), span, insts);
            let term = self.spread(term, axis, &region.block, span, insts);
            ptr = self.emit(InstKind::AddPtr { ptr, offset: term }, Type::block(base, &region.block), span, insts);
            if is_checked {
                let zero = self.emit(InstKind::Constant(Literal::Int(0)), line(Elem::I64), span, insts);
                let from = self.emit(InstKind::CompareInt(IntPredicate::GeS, index, zero), line(Elem::I1), span, insts);
                let bound = self.wide(region.shape[axis], span, insts);
                let bound = self.emit(InstKind::Splat(bound), line(Elem::I64), span, insts);
                let to = self.emit(InstKind::CompareInt(IntPredicate::LtS, index, bound), line(Elem::I1), span, insts);
                let inside = self.emit(InstKind::Int(IntBinary::And, from, to), line(Elem::I1), span, insts);
                let inside = self.spread(inside, axis, &region.block, span, insts);
                let whole = Type::block(Elem::I1, &region.block);
                mask = Some(match mask {
                    Some(mask) => self.emit(InstKind::Int(IntBinary::And, mask, inside), whole, span, insts),
                    None => inside,
                });
            }
        }
        Ok((ptr, mask))
    }

    /// A block of one axis as that axis of a block.
    fn spread(&mut self, value: Value, axis: usize, block: &BlockShape, span: Span, insts: &mut Vec<Inst>) -> Value {
        let mut ty = self.values[value.0 as usize].ty.clone();
        let mut value = value;
        for other in (0..block.len()).filter(|&other| other != axis) {
            ty.shape.insert(other, 1);
            value = self.emit(InstKind::ExpandDims { value, axis: other as u8 }, ty.clone(), span, insts);
        }
        if ty.shape != *block {
            ty.shape = block.clone();
            value = self.emit(InstKind::Broadcast(value), ty, span, insts);
        }
        value
    }

    #[expect(clippy::too_many_arguments, reason = "what the text of a load has")]
    fn region_load(
        &mut self,
        region: &Region,
        ptr: Value,
        mask: Option<Value>,
        ty: &Type,
        names: &[&'t str],
        span: Span,
        insts: &mut Vec<Inst>,
    ) -> Result<()> {
        let [name] = names else { return self.error("one result") };
        let block = Type { elem: ty.elem, shape: region.block.clone() };
        let other = region.fill.filter(|_| mask.is_some()).map(|fill| {
            let fill = if ty.elem.is_float() { lower::literal_of(fill, ty.elem) } else { Literal::Int(0) };
            self.emit(InstKind::Constant(fill), block.clone(), span, insts)
        });
        let mut value = self.emit(InstKind::Load { ptr, mask, other }, block.clone(), span, insts);
        // A descriptor's leading axes of size 1 may be dropped.
        if block != *ty {
            value = self.emit(InstKind::Reshape(value), ty.clone(), span, insts);
        }
        self.insert(name, Named::Value(value));
        Ok(())
    }
}

/// Which axes `boundaryCheck = array<i32: 0, 1>` names; `None` for one that a block of this rank lacks.
fn boundaries(attributes: &str, rank: usize) -> Option<Vec<bool>> {
    let mut checked = vec![false; rank];
    let Some(found) = attributes.find("boundaryCheck = array<i32") else { return Some(checked) };
    let list = &attributes[found + "boundaryCheck = array<i32".len()..];
    let list = list[..list.find('>')?].trim_start_matches(':');
    for axis in list.split(',').map(str::trim).filter(|axis| !axis.is_empty()) {
        *checked.get_mut(axis.parse::<usize>().ok()?)? = true;
    }
    Some(checked)
}
