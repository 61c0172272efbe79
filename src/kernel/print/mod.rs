//! The IR as text, in TTIR's syntax: what Triton's own tools print, without locations.
//!
//! Values are called after the Python variable they were bound to (`%offs`, `%offs_1`, …), others are
//! numbered. Several results are printed one by one (`%a, %b = scf.for …`), which MLIR reads too.

mod blocks;
mod hints;
mod literal;
mod names;
mod operations;

use std::fmt::{self, Write};

use super::ir::{Block, BlockId, CastKind, DotPrecision, Elem, Inst, InstKind, Kernel, Region, Terminator, Type, Value};
use literal::{literal_text, quoted};
use names::{identifier, name_values};
pub(super) use operations::{
    atomic_name, cast_name, float_name, float_predicate, hint_name, int_name, int_predicate, order_name, precision_name,
    scaled_format_name, scope_name, unary_name,
};

/// The whole kernel, with a line break at the end.
pub fn print(kernel: &Kernel) -> String {
    let mut printer = Printer { kernel, names: name_values(kernel), out: String::new(), indent: 1 };
    printer.kernel();
    printer.out
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self))
    }
}

struct Printer<'k> {
    kernel: &'k Kernel,
    names: Vec<String>,
    out: String,
    indent: usize,
}

/// Writing to a String cannot fail.
macro_rules! put {
    ($printer:expr, $($arg:tt)*) => {
        write!($printer.out, $($arg)*).expect("invariant: a String takes every write")
    };
}
use put;

impl<'k> Printer<'k> {
    fn v(&self, value: Value) -> String {
        format!("%{}", self.names[value.0 as usize])
    }

    fn list(&self, values: &[Value]) -> String {
        values.iter().map(|&v| self.v(v)).collect::<Vec<_>>().join(", ")
    }

    fn ty(&self, value: Value) -> &'k Type {
        self.kernel.ty(value)
    }

    fn types(&self, values: &[Value]) -> String {
        values.iter().map(|&v| self.ty(v).to_string()).collect::<Vec<_>>().join(", ")
    }

    fn typed(&self, values: &[Value]) -> String {
        values.iter().map(|&v| format!("{}: {}", self.v(v), self.ty(v))).collect::<Vec<_>>().join(", ")
    }

    fn line(&mut self) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }

    fn kernel(&mut self) {
        let params: Vec<Value> = self.kernel.params.iter().map(|p| p.value).collect();
        put!(self, "tt.func public @{}({}) {{\n", identifier(&self.kernel.name), self.typed(&params));
        for (i, block) in self.kernel.blocks.iter().enumerate() {
            self.block(i, block);
        }
        self.out.push_str("}\n");
    }

    fn block(&mut self, index: usize, block: &Block) {
        if index > 0 {
            let args = if block.args.is_empty() { String::new() } else { format!("({})", self.typed(&block.args)) };
            put!(self, "^bb{index}{args}:\n");
        }
        self.insts(&block.insts);
        self.line();
        match &block.terminator {
            Terminator::Return => self.out.push_str("tt.return\n"),
            Terminator::Branch { to, args } => put!(self, "cf.br {}\n", self.target(*to, args)),
            Terminator::CondBranch { condition, then, otherwise } => put!(
                self,
                "cf.cond_br {}, {}, {}\n",
                self.v(*condition),
                self.target(then.0, &then.1),
                self.target(otherwise.0, &otherwise.1)
            ),
        }
    }

    fn target(&self, to: BlockId, args: &[Value]) -> String {
        if args.is_empty() {
            return format!("^bb{}", to.0);
        }
        format!("^bb{}({} : {})", to.0, self.list(args), self.types(args))
    }

    fn insts(&mut self, insts: &[Inst]) {
        for inst in insts {
            self.inst(inst);
        }
    }

    /// A region's instructions and its yield, one level in.
    fn region(&mut self, region: &Region, yield_line: &str) {
        self.indent += 1;
        self.insts(&region.insts);
        if !yield_line.is_empty() {
            self.line();
            put!(self, "{yield_line}\n");
        }
        self.indent -= 1;
    }

    fn yields(&self, op: &str, values: &[Value]) -> String {
        if values.is_empty() {
            return String::new();
        }
        format!("{op} {} : {}", self.list(values), self.types(values))
    }

    fn results_arrow(&self, results: &[Value]) -> String {
        if results.is_empty() { String::new() } else { format!(" -> ({})", self.types(results)) }
    }

    /// `op a, b : type`.
    fn same(&mut self, op: &str, operands: &[Value]) {
        put!(self, "{op} {} : {}\n", self.list(operands), self.ty(operands[0]));
    }

    /// `op a : type -> type`.
    fn arrow(&mut self, op: &str, operand: Value, attributes: &str, result: Value) {
        put!(self, "{op} {}{attributes} : {} -> {}\n", self.v(operand), self.ty(operand), self.ty(result));
    }

    fn inst(&mut self, inst: &Inst) {
        let start = self.out.len();
        self.inst_alone(inst);
        if inst.results.iter().any(|&r| !self.kernel.values[r.0 as usize].hints.is_empty()) {
            hints::insert(&mut self.out, start, self.kernel, inst);
        }
    }

    fn inst_alone(&mut self, inst: &Inst) {
        self.line();
        if !inst.results.is_empty() {
            put!(self, "{} = ", self.list(&inst.results));
        }
        let result = inst.results.first().copied().unwrap_or(Value(0));
        match &inst.kind {
            InstKind::ProgramId { axis } => put!(self, "tt.get_program_id {} : i32\n", axis_name(*axis)),
            InstKind::NumPrograms { axis } => put!(self, "tt.get_num_programs {} : i32\n", axis_name(*axis)),
            InstKind::Constant(literal) => {
                let ty = self.ty(result);
                let lane = literal_text(*literal, ty.elem);
                if ty.is_scalar() && ty.elem == Elem::I1 {
                    put!(self, "arith.constant {lane}\n");
                } else if ty.is_scalar() {
                    put!(self, "arith.constant {lane} : {ty}\n");
                } else {
                    put!(self, "arith.constant dense<{lane}> : {ty}\n");
                }
            }
            InstKind::MakeRange { start, end } => {
                put!(self, "tt.make_range {{end = {end} : i32, start = {start} : i32}} : {}\n", self.ty(result));
            }
            InstKind::Splat(v) => self.arrow("tt.splat", *v, "", result),
            InstKind::ExpandDims { value, axis } => {
                self.arrow("tt.expand_dims", *value, &format!(" {{axis = {axis} : i32}}"), result);
            }
            InstKind::Broadcast(v) => self.arrow("tt.broadcast", *v, "", result),
            InstKind::Trans { value, order } => {
                let order = order.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
                self.arrow("tt.trans", *value, &format!(" {{order = array<i32: {order}>}}"), result);
            }
            InstKind::Reshape(v) => self.arrow("tt.reshape", *v, "", result),
            InstKind::AddPtr { ptr, offset } => {
                put!(self, "tt.addptr {}, {} : {}, {}\n", self.v(*ptr), self.v(*offset), self.ty(*ptr), self.ty(*offset));
            }
            InstKind::Load { ptr, mask, other } => {
                let operands: Vec<Value> = [Some(*ptr), *mask, *other].into_iter().flatten().collect();
                self.same("tt.load", &operands);
            }
            InstKind::Store { ptr, value, mask } => {
                let operands: Vec<Value> = [Some(*ptr), Some(*value), *mask].into_iter().flatten().collect();
                self.same("tt.store", &operands);
            }
            InstKind::Int(op, a, b) => self.same(int_name(*op), &[*a, *b]),
            InstKind::Float(op, a, b) => self.same(float_name(*op), &[*a, *b]),
            InstKind::Unary(op, v) => self.same(unary_name(*op), &[*v]),
            InstKind::Fma(a, b, c) => self.same("math.fma", &[*a, *b, *c]),
            InstKind::CompareInt(predicate, a, b) => {
                put!(self, "arith.cmpi {}, {}, {} : {}\n", int_predicate(*predicate), self.v(*a), self.v(*b), self.ty(*a));
            }
            InstKind::CompareFloat(predicate, a, b) => {
                put!(self, "arith.cmpf {}, {}, {} : {}\n", float_predicate(*predicate), self.v(*a), self.v(*b), self.ty(*a));
            }
            InstKind::Select { condition, then, other } => {
                put!(self, "arith.select {}, {}, {} : ", self.v(*condition), self.v(*then), self.v(*other));
                if !self.ty(*condition).is_scalar() {
                    put!(self, "{}, ", self.ty(*condition));
                }
                put!(self, "{}\n", self.ty(*then));
            }
            InstKind::Cast(kind, v) => {
                let (from, to) = (self.ty(*v).elem, self.ty(result).elem);
                let float = matches!(kind, CastKind::FloatExt | CastKind::FloatTrunc | CastKind::FloatTruncZero);
                let zero = *kind == CastKind::FloatTruncZero;
                if float && (zero || from.is_fp8() || to.is_fp8() || from.bits() == to.bits()) {
                    let rounding = match (zero, *kind == CastKind::FloatTrunc) {
                        (true, _) => ", rounding = rtz",
                        (false, true) => ", rounding = rtne",
                        (false, false) => "",
                    };
                    self.arrow("tt.fp_to_fp", *v, rounding, result);
                } else if matches!(kind, CastKind::Bitcast | CastKind::PtrToInt | CastKind::IntToPtr) {
                    self.arrow(cast_name(*kind), *v, "", result);
                } else {
                    put!(self, "{} {} : {} to {}\n", cast_name(*kind), self.v(*v), self.ty(*v), self.ty(result));
                }
            }
            InstKind::Dot { a, b, acc, precision } => {
                put!(self, "tt.dot {}, {}, {}", self.v(*a), self.v(*b), self.v(*acc));
                if *precision != DotPrecision::Ieee {
                    put!(self, ", inputPrecision = {}", precision_name(*precision));
                }
                put!(self, " : {} * {} -> {}\n", self.ty(*a), self.ty(*b), self.ty(result));
            }
            InstKind::DotScaled(dot) => self.dot_scaled(dot, result),
            InstKind::Scan { operands, axis, reverse, combine } => self.scan(operands, *axis, *reverse, combine, &inst.results),
            InstKind::Gather { source, index, axis } => self.gather(*source, *index, *axis, result),
            InstKind::Histogram { value, mask } => self.histogram(*value, *mask, result),
            InstKind::Join(a, b) => self.two_arrow("tt.join", *a, *b, result),
            InstKind::Cat(a, b) => self.two_arrow("tt.cat", *a, *b, result),
            InstKind::Split(v) => self.arrow("tt.split", *v, "", result),
            InstKind::Unsplat(v) => self.same("tt.unsplat", &[*v]),
            InstKind::ClampFloat { value, min, max, keeps_nan } => self.clamp([*value, *min, *max], *keeps_nan),
            InstKind::AbsInt(v) => self.same("math.absi", &[*v]),
            InstKind::Extern { symbol, operands } => self.extern_call(*symbol, operands, result),
            InstKind::InlineAsm { asm, operands } => self.inline_asm(asm, operands, &inst.results),
            InstKind::Reduce { operands, axis, combine } => {
                put!(self, "\"tt.reduce\"({}) <{{axis = {axis} : i32}}> ({{\n", self.list(operands));
                self.line();
                put!(self, "^bb0({}):\n", self.typed(&combine.args));
                let yields = self.yields("tt.reduce.return", &combine.yields);
                self.region(combine, &yields);
                self.line();
                let results = self.types(&inst.results);
                let results = if inst.results.len() == 1 { results } else { format!("({results})") };
                put!(self, "}}) : ({}) -> {results}\n", self.types(operands));
            }
            InstKind::For { lower, upper, step, init, body } => {
                let i = body.args.first().copied().unwrap_or(Value(0));
                put!(self, "scf.for {} = {} to {} step {}", self.v(i), self.v(*lower), self.v(*upper), self.v(*step));
                if !init.is_empty() {
                    let carried = body.args.iter().skip(1).zip(init);
                    let carried: Vec<String> =
                        carried.map(|(&arg, &init)| format!("{} = {}", self.v(arg), self.v(init))).collect();
                    put!(self, " iter_args({}){}", carried.join(", "), self.results_arrow(&inst.results));
                }
                put!(self, " : {} {{\n", self.ty(i));
                let yields = self.yields("scf.yield", &body.yields);
                self.region(body, &yields);
                self.line();
                self.out.push_str("}\n");
            }
            InstKind::If { condition, then, otherwise } => {
                put!(self, "scf.if {}{} {{\n", self.v(*condition), self.results_arrow(&inst.results));
                let yields = self.yields("scf.yield", &then.yields);
                self.region(then, &yields);
                self.line();
                if otherwise.insts.is_empty() && otherwise.yields.is_empty() {
                    self.out.push_str("}\n");
                    return;
                }
                self.out.push_str("} else {\n");
                let yields = self.yields("scf.yield", &otherwise.yields);
                self.region(otherwise, &yields);
                self.line();
                self.out.push_str("}\n");
            }
            InstKind::While { init, before, after } => {
                let carried = before.args.iter().zip(init);
                let carried: Vec<String> = carried.map(|(&arg, &init)| format!("{} = {}", self.v(arg), self.v(init))).collect();
                let carried = if carried.is_empty() { String::new() } else { format!(" ({})", carried.join(", ")) };
                put!(self, "scf.while{carried} : ({}) -> ({}) {{\n", self.types(init), self.types(&inst.results));
                let condition = match before.yields.split_first() {
                    Some((condition, [])) => format!("scf.condition({})", self.v(*condition)),
                    Some((condition, rest)) => {
                        format!("scf.condition({}) {} : {}", self.v(*condition), self.list(rest), self.types(rest))
                    }
                    None => String::new(),
                };
                self.region(before, &condition);
                self.line();
                self.out.push_str("} do {\n");
                if !after.args.is_empty() {
                    self.line();
                    put!(self, "^bb0({}):\n", self.typed(&after.args));
                }
                // MLIR wants a block that is not empty, and finds the yield of nothing only in other loops.
                let yields = match after.yields.is_empty() {
                    true => "scf.yield".to_owned(),
                    false => self.yields("scf.yield", &after.yields),
                };
                self.region(after, &yields);
                self.line();
                self.out.push_str("}\n");
            }
            InstKind::Assert { condition, message } => {
                put!(self, "tt.assert {}, {} : {}\n", self.v(*condition), quoted(message), self.ty(*condition));
            }
            InstKind::VolatileLoad { ptr, mask, other } => {
                let operands: Vec<Value> = [Some(*ptr), *mask, *other].into_iter().flatten().collect();
                put!(self, "tt.load {} {{isVolatile = true}} : {}\n", self.list(&operands), self.ty(*ptr));
            }
            InstKind::AtomicRmw { op, order, scope, ptr, value, mask } => {
                let operands: Vec<Value> = [Some(*ptr), Some(*value), *mask].into_iter().flatten().collect();
                put!(self, "tt.atomic_rmw {}, {}, {}, ", atomic_name(*op), order_name(*order), scope_name(*scope));
                put!(self, "{} : ({}) -> {}\n", self.list(&operands), self.types(&operands), self.ty(result));
            }
            InstKind::AtomicCas { order, scope, ptr, expected, value } => {
                let operands = [*ptr, *expected, *value];
                put!(self, "tt.atomic_cas {}, {}, ", order_name(*order), scope_name(*scope));
                put!(self, "{} : ({}) -> {}\n", self.list(&operands), self.types(&operands), self.ty(result));
            }
            InstKind::Barrier => self.out.push_str("ttg.barrier all\n"),
            InstKind::Assume(condition) => put!(self, "llvm.intr.assume {} : i1\n", self.v(*condition)),
        }
    }
}

fn axis_name(axis: u8) -> &'static str {
    ["x", "y", "z"].get(axis as usize).copied().unwrap_or("?")
}
