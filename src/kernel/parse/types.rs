//! Types: `i32`, `!tt.ptr<f32>`, `tensor<64x32xf16>`.

use super::Parser;
use super::region::Kind;
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{BlockShape, Elem, Type};

/// Sizes and element counts beyond this are refused.
const MAX_SIZE: usize = 1 << 30;

/// The element type that a pointer to such elements has.
pub(super) fn pointee(elem: Elem) -> Option<DType> {
    Some(match elem {
        Elem::I1 => DType::Bool,
        Elem::I8 => DType::I8,
        Elem::I16 => DType::I16,
        Elem::I32 => DType::I32,
        Elem::I64 => DType::I64,
        Elem::F8E4M3 => DType::F8E4M3,
        Elem::F8E5M2 => DType::F8E5M2,
        Elem::F8E4M3Fnuz => DType::F8E4M3Fnuz,
        Elem::F8E5M2Fnuz => DType::F8E5M2Fnuz,
        Elem::F16 => DType::F16,
        Elem::BF16 => DType::BF16,
        Elem::F32 => DType::F32,
        Elem::F64 => DType::F64,
        Elem::Ptr(_) => return None,
    })
}

impl Parser<'_> {
    pub(super) fn elem(&mut self) -> Result<Elem> {
        if self.eat("!tt.ptr<") {
            let to = self.elem()?;
            if self.eat(",") {
                self.int()?;
            }
            self.expect(">")?;
            let Some(dtype) = pointee(to) else { return self.error("a pointer to pointers") };
            return Ok(Elem::Ptr(dtype));
        }
        const ELEMS: [Elem; 13] = [
            Elem::I1,
            Elem::I8,
            Elem::I16,
            Elem::I32,
            Elem::I64,
            Elem::F8E4M3,
            Elem::F8E5M2,
            Elem::F8E4M3Fnuz,
            Elem::F8E5M2Fnuz,
            Elem::F16,
            Elem::BF16,
            Elem::F32,
            Elem::F64,
        ];
        self.skip();
        let start = self.at;
        let word = self.word();
        match ELEMS.into_iter().find(|elem| elem.to_string() == word) {
            Some(elem) => Ok(elem),
            None => {
                self.at = start;
                self.error("expected a type")
            }
        }
    }

    pub(super) fn ty(&mut self) -> Result<Type> {
        if !self.eat("tensor<") {
            return Ok(Type::scalar(self.elem()?));
        }
        self.block_type()
    }

    /// `64x32xf16>`.
    pub(super) fn block_type(&mut self) -> Result<Type> {
        let mut shape = BlockShape::new();
        while self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            let size = self.int()?;
            if !self.rest().starts_with('x') {
                return self.error("expected `x` behind a size");
            }
            self.at += 1;
            match usize::try_from(size) {
                Ok(size) if size > 0 && size <= MAX_SIZE => shape.push(size),
                _ => return self.error(format!("a size of {size}")),
            }
        }
        let elem = self.elem()?;
        self.expect(">")?;
        if shape.iter().try_fold(1usize, |n, &s| n.checked_mul(s)).is_none_or(|n| n > MAX_SIZE) {
            return self.error("a block of more than 2^30 elements");
        }
        Ok(Type { elem, shape })
    }

    /// Types of a list, those of a tensor pointer's parts one by one.
    pub(super) fn types(&mut self) -> Result<Vec<Type>> {
        Ok(self.kinds()?.iter().flat_map(Kind::parts).collect())
    }

    fn kinds(&mut self) -> Result<Vec<Kind>> {
        let mut list = vec![self.kind()?];
        while self.eat(",") {
            list.push(self.kind()?);
        }
        Ok(list)
    }

    /// `(type, …)`, or one type, as [`Parser::types`].
    pub(super) fn type_list(&mut self) -> Result<Vec<Type>> {
        Ok(self.kind_list()?.iter().flat_map(Kind::parts).collect())
    }

    /// `(type, …)`, or one type.
    pub(super) fn kind_list(&mut self) -> Result<Vec<Kind>> {
        if !self.eat("(") {
            return Ok(vec![self.kind()?]);
        }
        if self.eat(")") {
            return Ok(Vec::new());
        }
        let list = self.kinds()?;
        self.expect(")")?;
        Ok(list)
    }

    /// `: type -> type`.
    pub(super) fn arrow(&mut self) -> Result<(Type, Type)> {
        self.expect(":")?;
        let from = self.ty()?;
        self.expect("->")?;
        Ok((from, self.ty()?))
    }
}
