//! Operations on whole blocks and calls of foreign code, in TTIR's syntax (see `parse::blocks`).

use std::fmt::Write;

use super::literal::quoted;
use super::operations::scaled_format_name;
use super::{Printer, put};
use crate::kernel::ir::{DotScaled, InlineAsm, Region, Value};
use crate::kernel::libdevice::Symbol;

impl Printer<'_> {
    fn several(&self, values: &[Value]) -> String {
        let types = self.types(values);
        if values.len() == 1 { types } else { format!("({types})") }
    }

    pub(super) fn scan(&mut self, operands: &[Value], axis: u8, reverse: bool, combine: &Region, results: &[Value]) {
        let list = self.list(operands);
        put!(self, "\"tt.scan\"({list}) <{{axis = {axis} : i32, reverse = {reverse}}}> ({{\n");
        self.line();
        put!(self, "^bb0({}):\n", self.typed(&combine.args));
        let yields = self.yields("tt.scan.return", &combine.yields);
        self.region(combine, &yields);
        self.line();
        put!(self, "}}) : ({}) -> {}\n", self.types(operands), self.several(results));
    }

    pub(super) fn gather(&mut self, source: Value, index: Value, axis: u8, result: Value) {
        let (s, i) = (self.v(source), self.v(index));
        put!(self, "tt.gather {s}[{i}] {{axis = {axis} : i32}} : ");
        put!(self, "({}, {}) -> {}\n", self.ty(source), self.ty(index), self.ty(result));
    }

    pub(super) fn histogram(&mut self, value: Value, mask: Option<Value>, result: Value) {
        let operands: Vec<Value> = [Some(value), mask].into_iter().flatten().collect();
        put!(self, "tt.histogram {} : {} -> {}\n", self.list(&operands), self.ty(value), self.ty(result));
    }

    /// `op a, b : type -> type`, the type that of one operand.
    pub(super) fn two_arrow(&mut self, op: &str, a: Value, b: Value, result: Value) {
        put!(self, "{op} {} : {} -> {}\n", self.list(&[a, b]), self.ty(a), self.ty(result));
    }

    pub(super) fn clamp(&mut self, operands: [Value; 3], keeps_nan: bool) {
        let nan = if keeps_nan { "all" } else { "none" };
        put!(self, "tt.clampf {}, propagateNan = {nan} : {}\n", self.list(&operands), self.ty(operands[0]));
    }

    pub(super) fn extern_call(&mut self, symbol: Symbol, operands: &[Value], result: Value) {
        put!(self, "tt.extern_elementwise {} ", self.list(operands));
        put!(self, "{{libname = \"\", libpath = \"\", pure = true, symbol = \"{symbol}\"}} : ");
        put!(self, "({}) -> {}\n", self.types(operands), self.ty(result));
    }

    pub(super) fn inline_asm(&mut self, asm: &InlineAsm, operands: &[Value], results: &[Value]) {
        let InlineAsm { text, constraints, pack, pure } = asm;
        put!(self, "tt.elementwise_inline_asm {} ", quoted(text));
        put!(self, "{{constraints = {}, packed_element = {pack} : i32, pure = {pure}}} ", quoted(constraints));
        if !operands.is_empty() {
            put!(self, "{} : {} ", self.list(operands), self.types(operands));
        }
        put!(self, "-> {}\n", self.types(results));
    }

    pub(super) fn dot_scaled(&mut self, dot: &DotScaled, result: Value) {
        let side = |printer: &Self, value: Value, scale: Option<Value>| match scale {
            Some(scale) => format!("{} scale {}", printer.v(value), printer.v(scale)),
            None => printer.v(value),
        };
        let types = |printer: &Self, value: Value, scale: Option<Value>| match scale {
            Some(scale) => format!("{}, {}", printer.ty(value), printer.ty(scale)),
            None => printer.ty(value).to_string(),
        };
        let (a, b) = (side(self, dot.a, dot.a_scale), side(self, dot.b, dot.b_scale));
        let (lhs, rhs) = (scaled_format_name(dot.a_format), scaled_format_name(dot.b_format));
        put!(self, "tt.dot_scaled {a}, {b}, {} lhs = {lhs} rhs = {rhs} {{fastMath = {}", self.v(dot.acc), dot.fast_math);
        for (name, pack) in [("lhs_k_pack", dot.a_k_pack), ("rhs_k_pack", dot.b_k_pack)] {
            if !pack {
                put!(self, ", {name} = false");
            }
        }
        let (a, b) = (types(self, dot.a, dot.a_scale), types(self, dot.b, dot.b_scale));
        put!(self, "}} : {a} * {b} -> {}\n", self.ty(result));
    }
}
