//! Operations: what stands behind an operation's name, one arm a form of syntax.

use std::sync::Arc;

use super::Parser;
use super::tables::{
    ATOMICS, CASTS, FLOAT_BINARY, FLOAT_PREDICATES, FLOAT_UNARY, INT_BINARY, INT_PREDICATES, ORDERS, PRECISIONS, SCOPES,
};
use crate::diag::Result;
use crate::kernel::ir::{AtomicOp, CastKind, DotPrecision, Elem, FloatBinary, InstKind, Literal, Region, Type, Value};
use crate::kernel::{lower, print};

impl<'t> Parser<'t> {
    /// An operation behind its name, with its result types; `None` for an unknown one.
    pub(super) fn operation(&mut self, op: &str) -> Result<Option<(InstKind, Vec<Type>)>> {
        // Apart from the others, so that their frames do not lie on the stack once a level of nesting.
        match op {
            "tt.reduce" => self.reduce().map(Some),
            "tt.scan" => self.scan().map(Some),
            "scf.for" => self.for_loop().map(Some),
            "scf.if" => self.branch().map(Some),
            "scf.while" => self.while_loop().map(Some),
            _ => self.flat_operation(op),
        }
    }

    fn branch(&mut self) -> Result<(InstKind, Vec<Type>)> {
        let condition = self.operand()?;
        let kinds = if self.eat("->") { self.kind_list()? } else { Vec::new() };
        self.expect("{")?;
        let then = self.region(|_| Ok(Vec::new()), "scf.yield")?;
        let otherwise = if self.eat("else") {
            self.expect("{")?;
            self.region(|_| Ok(Vec::new()), "scf.yield")?
        } else {
            Region::default()
        };
        self.skip_attributes()?;
        Ok((InstKind::If { condition, then, otherwise }, self.carry(kinds)))
    }

    /// An operation without regions.
    fn flat_operation(&mut self, op: &str) -> Result<Option<(InstKind, Vec<Type>)>> {
        if let Some(int) = INT_BINARY.into_iter().find(|&o| print::int_name(o) == op) {
            let ([a, b], ty) = self.same()?;
            return Ok(Some((InstKind::Int(int, a, b), vec![ty])));
        }
        if let Some(float) = FLOAT_BINARY.into_iter().find(|&o| print::float_name(o) == op) {
            let ([a, b], ty) = self.same()?;
            return Ok(Some((InstKind::Float(float, a, b), vec![ty])));
        }
        if let Some(unary) = FLOAT_UNARY.into_iter().find(|&o| print::unary_name(o) == op) {
            let ([a], ty) = self.same()?;
            return Ok(Some((InstKind::Unary(unary, a), vec![ty])));
        }
        if let Some(cast) = CASTS.into_iter().find(|&o| print::cast_name(o) == op) {
            let v = self.operand()?;
            self.skip_attributes()?;
            self.expect(":")?;
            self.ty()?;
            self.expect("to")?;
            return Ok(Some((InstKind::Cast(cast, v), vec![self.ty()?])));
        }
        let parsed = match op {
            // Every division of ours is correctly rounded.
            "tt.precise_divf" => {
                let ([a, b], ty) = self.same()?;
                (InstKind::Float(FloatBinary::Div, a, b), vec![ty])
            }
            "arith.bitcast" => {
                let v = self.operand()?;
                self.expect(":")?;
                self.ty()?;
                self.expect("to")?;
                (InstKind::Cast(CastKind::Bitcast, v), vec![self.ty()?])
            }
            "tt.get_program_id" | "tt.get_num_programs" => {
                let axis = match self.word() {
                    "x" => 0,
                    "y" => 1,
                    "z" => 2,
                    _ => return self.error("expected a grid axis: x, y or z"),
                };
                self.expect(":")?;
                let ty = self.ty()?;
                (if op == "tt.get_program_id" { InstKind::ProgramId { axis } } else { InstKind::NumPrograms { axis } }, vec![ty])
            }
            "arith.constant" => self.constant()?,
            "tt.make_range" => {
                let map = self.attributes()?;
                self.expect(":")?;
                let ty = self.ty()?;
                let (start, end) = (self.int_attribute(&map, "start")?, self.int_attribute(&map, "end")?);
                match (i32::try_from(start), i32::try_from(end)) {
                    (Ok(start), Ok(end)) => (InstKind::MakeRange { start, end }, vec![ty]),
                    _ => return self.error("a range beyond 32 bits"),
                }
            }
            "tt.splat" | "tt.broadcast" | "tt.reshape" | "tt.bitcast" | "tt.ptr_to_int" | "tt.int_to_ptr" => {
                let v = self.operand()?;
                self.skip_attributes()?;
                let (_, to) = self.arrow()?;
                let kind = match op {
                    "tt.splat" => InstKind::Splat(v),
                    "tt.broadcast" => InstKind::Broadcast(v),
                    "tt.reshape" => InstKind::Reshape(v),
                    "tt.ptr_to_int" => InstKind::Cast(CastKind::PtrToInt, v),
                    "tt.int_to_ptr" => InstKind::Cast(CastKind::IntToPtr, v),
                    _ => InstKind::Cast(CastKind::Bitcast, v),
                };
                (kind, vec![to])
            }
            "tt.fp_to_fp" => {
                let v = self.operand()?;
                let mut zero = false;
                if self.eat(",") {
                    self.expect("rounding")?;
                    self.expect("=")?;
                    zero = match self.word() {
                        "rtne" => false,
                        "rtz" => true,
                        word => return self.error(format!("the rounding `{word}`")),
                    };
                }
                let (from, to) = self.arrow()?;
                let wider = from.elem.bits() < to.elem.bits();
                let kind = match (wider, zero) {
                    (true, _) => CastKind::FloatExt,
                    (false, true) => CastKind::FloatTruncZero,
                    (false, false) => CastKind::FloatTrunc,
                };
                (InstKind::Cast(kind, v), vec![to])
            }
            "tt.expand_dims" => {
                let value = self.operand()?;
                let map = self.attributes()?;
                let axis = self.axis_attribute(&map, "axis")?;
                (InstKind::ExpandDims { value, axis }, vec![self.arrow()?.1])
            }
            "tt.trans" => {
                let value = self.operand()?;
                let map = self.attributes()?;
                let order = map.get("order").and_then(|text| text.strip_prefix("array<i32:")).and_then(|t| t.strip_suffix('>'));
                let order = order.map(|text| text.split(',').map(|axis| axis.trim().parse()).collect());
                let Some(Ok(order)) = order else { return self.error("expected `order = array<i32: …>`") };
                (InstKind::Trans { value, order }, vec![self.arrow()?.1])
            }
            "tt.addptr" => {
                let (ptr, offset) = (self.operand()?, self.comma_operand()?);
                self.skip_attributes()?;
                self.expect(":")?;
                let ty = self.ty()?;
                self.expect(",")?;
                self.ty()?;
                (InstKind::AddPtr { ptr, offset }, vec![ty])
            }
            "tt.load" => {
                let list = self.operands()?;
                self.skip_attributes()?;
                self.expect(":")?;
                let ty = self.ty()?;
                let Elem::Ptr(to) = ty.elem else { return self.error("a load through something other than a pointer") };
                let [ptr, rest @ ..] = list.as_slice() else { return self.error("a load needs a pointer") };
                if rest.len() > 2 {
                    return self.error("a load has at most three operands");
                }
                let (ptr, mask, other) = (*ptr, rest.first().copied(), rest.get(1).copied());
                let kind = match self.noted.volatile {
                    true => InstKind::VolatileLoad { ptr, mask, other },
                    false => InstKind::Load { ptr, mask, other },
                };
                (kind, vec![ty.with_elem(Elem::of(to))])
            }
            "tt.store" => {
                let list = self.operands()?;
                self.skip_attributes()?;
                self.expect(":")?;
                self.ty()?;
                let [ptr, value, rest @ ..] = list.as_slice() else { return self.error("a store needs a pointer and a value") };
                if rest.len() > 1 {
                    return self.error("a store has at most three operands");
                }
                (InstKind::Store { ptr: *ptr, value: *value, mask: rest.first().copied() }, Vec::new())
            }
            "math.fma" => {
                let ([a, b, c], ty) = self.same()?;
                (InstKind::Fma(a, b, c), vec![ty])
            }
            "arith.cmpi" => {
                let word = self.word();
                let Some(predicate) = INT_PREDICATES.into_iter().find(|&p| print::int_predicate(p) == word) else {
                    return self.error(format!("the predicate `{word}`"));
                };
                self.expect(",")?;
                let ([a, b], ty) = self.same()?;
                (InstKind::CompareInt(predicate, a, b), vec![ty.with_elem(Elem::I1)])
            }
            "arith.cmpf" => {
                let word = self.word();
                let Some(predicate) = FLOAT_PREDICATES.into_iter().find(|&p| print::float_predicate(p) == word) else {
                    return self.error(format!("the predicate `{word}`"));
                };
                self.expect(",")?;
                let ([a, b], ty) = self.same()?;
                (InstKind::CompareFloat(predicate, a, b), vec![ty.with_elem(Elem::I1)])
            }
            "arith.select" => {
                let (condition, then, other) = (self.operand()?, self.comma_operand()?, self.comma_operand()?);
                self.skip_attributes()?;
                self.expect(":")?;
                let types = self.types()?;
                let Some(ty) = types.last().cloned() else { return self.error("expected a type") };
                (InstKind::Select { condition, then, other }, vec![ty])
            }
            "tt.dot" => {
                let (a, b, acc) = (self.operand()?, self.comma_operand()?, self.comma_operand()?);
                let mut precision = DotPrecision::Ieee;
                if self.eat(",") {
                    self.expect("inputPrecision")?;
                    self.expect("=")?;
                    let word = self.word();
                    let Some(known) = PRECISIONS.into_iter().find(|&p| print::precision_name(p) == word) else {
                        return self.error(format!("the precision `{word}`"));
                    };
                    precision = known;
                }
                self.skip_attributes()?;
                self.expect(":")?;
                self.ty()?;
                self.expect("*")?;
                self.ty()?;
                self.expect("->")?;
                (InstKind::Dot { a, b, acc, precision }, vec![self.ty()?])
            }
            "tt.assert" => {
                let condition = self.operand()?;
                self.expect(",")?;
                let message = Arc::from(self.string()?.as_str());
                self.skip_attributes()?;
                self.expect(":")?;
                self.ty()?;
                (InstKind::Assert { condition, message }, Vec::new())
            }
            "tt.atomic_rmw" | "tt.atomic_cas" => self.atomic(op == "tt.atomic_cas")?,
            // `gpu.barrier` to Triton 3.6, with the address spaces that it orders after that.
            "ttg.barrier" | "gpu.barrier" => {
                if op == "ttg.barrier" {
                    let spaces = self.word();
                    if spaces != "all" {
                        return self.error(format!("a barrier of the address space `{spaces}`"));
                    }
                }
                self.skip_attributes()?;
                (InstKind::Barrier, Vec::new())
            }
            "llvm.intr.assume" => {
                let condition = self.operand()?;
                self.skip_attributes()?;
                self.expect(":")?;
                self.ty()?;
                (InstKind::Assume(condition), Vec::new())
            }
            _ => return self.block_operation(op),
        };
        Ok(Some(parsed))
    }

    /// `op?, order, scope, operands : (types) -> type`.
    fn atomic(&mut self, cas: bool) -> Result<(InstKind, Vec<Type>)> {
        let mut op = AtomicOp::Exchange;
        if !cas {
            let word = self.word();
            let Some(known) = ATOMICS.into_iter().find(|&o| print::atomic_name(o) == word) else {
                return self.error(format!("the atomic operation `{word}`"));
            };
            op = known;
            self.expect(",")?;
        }
        let word = self.word();
        let Some(order) = ORDERS.into_iter().find(|&o| print::order_name(o) == word) else {
            return self.error(format!("the memory order `{word}`"));
        };
        self.expect(",")?;
        let word = self.word();
        let Some(scope) = SCOPES.into_iter().find(|&s| print::scope_name(s) == word) else {
            return self.error(format!("the memory scope `{word}`"));
        };
        self.expect(",")?;
        let operands = self.operands()?;
        self.skip_attributes()?;
        self.expect(":")?;
        self.type_list()?;
        self.expect("->")?;
        let ty = self.ty()?;
        let kind = match operands.as_slice() {
            &[ptr, expected, value] if cas => InstKind::AtomicCas { order, scope, ptr, expected, value },
            &[ptr, value] if !cas => InstKind::AtomicRmw { op, order, scope, ptr, value, mask: None },
            &[ptr, value, mask] if !cas => InstKind::AtomicRmw { op, order, scope, ptr, value, mask: Some(mask) },
            other => return self.error(format!("{} operands of an atomic operation", other.len())),
        };
        Ok((kind, vec![ty]))
    }

    fn comma_operand(&mut self) -> Result<Value> {
        self.expect(",")?;
        self.operand()
    }

    /// `%a, %b : type`.
    fn same<const N: usize>(&mut self) -> Result<([Value; N], Type)> {
        let list = self.operands()?;
        self.skip_attributes()?;
        self.expect(":")?;
        let ty = self.ty()?;
        match <[Value; N]>::try_from(list) {
            Ok(list) => Ok((list, ty)),
            Err(list) => self.error(format!("{} operands instead of {N}", list.len())),
        }
    }

    fn constant(&mut self) -> Result<(InstKind, Vec<Type>)> {
        if self.peek("{") {
            self.skip_balanced('{', '}')?;
        }
        for (word, int) in [("true", 1), ("false", 0)] {
            if self.eat(word) {
                if self.eat(":") {
                    self.ty()?;
                }
                return Ok((InstKind::Constant(Literal::Int(int)), vec![Type::scalar(Elem::I1)]));
            }
        }
        let dense = self.eat("dense<");
        self.skip();
        let start = self.at;
        let rest = self.rest();
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '>' | ':' | '[')).unwrap_or(rest.len());
        let text = &rest[..end];
        self.at += end;
        if dense {
            self.expect(">")?;
        }
        self.expect(":")?;
        let ty = self.ty()?;
        match read_literal(text, ty.elem) {
            Some(literal) => Ok((InstKind::Constant(literal), vec![ty])),
            None => {
                self.at = start;
                self.error(format!("`{text}` is no constant of {}", ty.elem))
            }
        }
    }
}

fn read_literal(text: &str, elem: Elem) -> Option<Literal> {
    if elem.is_float() {
        if let Some(hex) = text.strip_prefix("0x") {
            let bits = u64::from_str_radix(hex, 16).ok()?;
            let x = match elem {
                Elem::F64 => f64::from_bits(bits),
                Elem::F16 => half::f16::from_bits(u16::try_from(bits).ok()?).to_f64(),
                Elem::BF16 => half::bf16::from_bits(u16::try_from(bits).ok()?).to_f64(),
                Elem::F32 => f64::from(f32::from_bits(u32::try_from(bits).ok()?)),
                _ => return None,
            };
            return Some(Literal::Float(x));
        }
        return text.parse().ok().map(|x| lower::literal_of(x, elem));
    }
    let int: i64 = match text {
        "true" => 1,
        "false" => 0,
        _ => text.parse().ok()?,
    };
    let wrapped = lower::wrap(int, elem);
    (wrapped == int || elem == Elem::I1).then_some(Literal::Int(wrapped))
}
