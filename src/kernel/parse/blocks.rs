//! Operations on whole blocks and calls of foreign code, one arm a form of syntax: scans, gathers, histograms,
//! joins and splits, `tt.extern_elementwise`, `tt.elementwise_inline_asm`, `tt.dot_scaled`.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Parser;
use crate::diag::{Diagnostic, Result, codes};
use crate::kernel::ir::{DotScaled, InlineAsm, InstKind, ScaledFormat, Type, Value};
use crate::kernel::libdevice::Symbol;
use crate::kernel::print;
use crate::source::Span;

const SCALED_FORMATS: [ScaledFormat; 5] =
    [ScaledFormat::E2M1, ScaledFormat::E4M3, ScaledFormat::E5M2, ScaledFormat::BF16, ScaledFormat::F16];

impl<'t> Parser<'t> {
    /// An operation behind its name, with its result types; `None` for an unknown one.
    pub(super) fn block_operation(&mut self, op: &str) -> Result<Option<(InstKind, Vec<Type>)>> {
        let parsed = match op {
            "tt.gather" => {
                let source = self.operand()?;
                self.expect("[")?;
                let index = self.operand()?;
                self.expect("]")?;
                let map = self.attributes()?;
                let axis = self.axis_attribute(&map, "axis")?;
                self.expect(":")?;
                self.type_list()?;
                self.expect("->")?;
                (InstKind::Gather { source, index, axis }, vec![self.ty()?])
            }
            "tt.histogram" => {
                let list = self.operands()?;
                let [value, rest @ ..] = list.as_slice() else { return self.error("a histogram needs a block") };
                if rest.len() > 1 {
                    return self.error("a histogram has at most two operands");
                }
                let kind = InstKind::Histogram { value: *value, mask: rest.first().copied() };
                self.skip_attributes()?;
                (kind, vec![self.arrow()?.1])
            }
            "tt.join" | "tt.cat" => {
                let (a, b) = self.pair()?;
                self.skip_attributes()?;
                let (_, to) = self.arrow()?;
                (if op == "tt.join" { InstKind::Join(a, b) } else { InstKind::Cat(a, b) }, vec![to])
            }
            "tt.split" => {
                let value = self.operand()?;
                self.skip_attributes()?;
                let (_, to) = self.arrow()?;
                (InstKind::Split(value), vec![to.clone(), to])
            }
            "tt.unsplat" => {
                let value = self.operand()?;
                self.skip_attributes()?;
                self.expect(":")?;
                let from = self.ty()?;
                (InstKind::Unsplat(value), vec![Type::scalar(from.elem)])
            }
            "tt.clampf" => {
                let list = self.operands()?;
                let [value, min, max] = list.as_slice() else { return self.error("a clampf has three operands") };
                self.expect(",")?;
                self.expect("propagateNan")?;
                self.expect("=")?;
                let keeps_nan = match self.word() {
                    "all" => true,
                    "none" => false,
                    word => return self.error(format!("propagateNan = {word}")),
                };
                self.skip_attributes()?;
                self.expect(":")?;
                (InstKind::ClampFloat { value: *value, min: *min, max: *max, keeps_nan }, vec![self.ty()?])
            }
            "math.absi" => {
                let value = self.operand()?;
                self.skip_attributes()?;
                self.expect(":")?;
                (InstKind::AbsInt(value), vec![self.ty()?])
            }
            "tt.extern_elementwise" => {
                let start = self.at;
                let operands = SmallVec::from_vec(self.operands()?);
                let map = self.attributes()?;
                let name = self.text_attribute(&map, "symbol")?;
                let Some(symbol) = Symbol::named(&name) else {
                    let span = Span::new(start, self.at);
                    let message = format!("the library function `{name}`");
                    return Err(Box::new(Diagnostic::new(&codes::KERNEL_UNSUPPORTED, message).at(self.file, span)));
                };
                self.expect(":")?;
                self.type_list()?;
                self.expect("->")?;
                (InstKind::Extern { symbol, operands }, vec![self.ty()?])
            }
            "tt.elementwise_inline_asm" => self.inline_asm()?,
            "tt.dot_scaled" => self.dot_scaled()?,
            _ => return Ok(None),
        };
        Ok(Some(parsed))
    }

    fn pair(&mut self) -> Result<(Value, Value)> {
        let a = self.operand()?;
        self.expect(",")?;
        Ok((a, self.operand()?))
    }

    pub(super) fn scan(&mut self) -> Result<(InstKind, Vec<Type>)> {
        self.expect("(")?;
        let operands = self.operands()?;
        self.expect(")")?;
        self.expect("<")?;
        let map = self.attributes()?;
        let axis = self.axis_attribute(&map, "axis")?;
        let reverse = match map.get("reverse").copied() {
            Some("true") => true,
            Some("false") | None => false,
            Some(other) => return self.error(format!("reverse = {other}")),
        };
        self.expect(">")?;
        self.expect("(")?;
        self.expect("{")?;
        let combine = self.region(Self::region_label, "tt.scan.return")?;
        self.expect(")")?;
        self.skip_attributes()?;
        self.expect(":")?;
        self.type_list()?;
        self.expect("->")?;
        let types = self.type_list()?;
        Ok((InstKind::Scan { operands: SmallVec::from_vec(operands), axis, reverse, combine }, types))
    }

    fn inline_asm(&mut self) -> Result<(InstKind, Vec<Type>)> {
        let text = self.string()?;
        let map = self.attributes()?;
        let constraints = self.text_attribute(&map, "constraints")?;
        let pure = map.get("pure").copied() == Some("true");
        let Ok(pack) = u32::try_from(self.int_attribute(&map, "packed_element")?) else {
            return self.error("`packed_element` is no count");
        };
        let mut operands = Vec::new();
        if self.peek("%") {
            operands = self.operands()?;
            self.expect(":")?;
            self.types()?;
        }
        self.expect("->")?;
        let types = self.types()?;
        let asm = Arc::new(InlineAsm { text, constraints, pack, pure });
        Ok((InstKind::InlineAsm { asm, operands }, types))
    }

    fn scaled(&mut self) -> Result<(Value, Option<Value>)> {
        let value = self.operand()?;
        let scale = if self.eat("scale") { Some(self.operand()?) } else { None };
        Ok((value, scale))
    }

    fn scaled_format(&mut self, side: &str) -> Result<ScaledFormat> {
        self.expect(side)?;
        self.expect("=")?;
        let word = self.word();
        match SCALED_FORMATS.into_iter().find(|&format| print::scaled_format_name(format) == word) {
            Some(format) => Ok(format),
            None => self.error(format!("the format `{word}`")),
        }
    }

    fn dot_scaled(&mut self) -> Result<(InstKind, Vec<Type>)> {
        let (a, a_scale) = self.scaled()?;
        self.expect(",")?;
        let (b, b_scale) = self.scaled()?;
        self.expect(",")?;
        let acc = self.operand()?;
        let a_format = self.scaled_format("lhs")?;
        let b_format = self.scaled_format("rhs")?;
        let map = self.attributes()?;
        let flag = |key: &str, default: bool| map.get(key).map_or(default, |text| text.starts_with("true"));
        let (fast_math, a_k_pack, b_k_pack) = (flag("fastMath", false), flag("lhs_k_pack", true), flag("rhs_k_pack", true));
        self.expect(":")?;
        for scale in [a_scale, b_scale] {
            self.ty()?;
            if scale.is_some() {
                self.expect(",")?;
                self.ty()?;
            }
            if !self.eat("*") {
                self.expect("->")?;
            }
        }
        let dot = DotScaled { a, a_scale, a_format, b, b_scale, b_format, acc, fast_math, a_k_pack, b_k_pack };
        Ok((InstKind::DotScaled(Box::new(dot)), vec![self.ty()?]))
    }
}
