//! The IR as text, in TTIR's syntax: what Triton's own tools print, without locations.
//!
//! Values are called after the Python variable they were bound to (`%offs`, `%offs_1`, …), others are
//! numbered. Several results are printed one by one (`%a, %b = scf.for …`), which MLIR reads too.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write};

use super::ir::{
    Block, BlockId, CastKind, DotPrecision, Elem, FloatBinary, FloatPredicate, FloatUnary, Inst, InstKind, IntBinary,
    IntPredicate, Kernel, Literal, Region, Terminator, Type, Value,
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

/// MLIR identifiers: letters, digits, `_`, `$`, `.`, `-`; a digit may not come first.
fn identifier(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    text
}

/// A distinct name for every value, in the order of definition.
fn name_values(kernel: &Kernel) -> Vec<String> {
    let mut namer =
        Namer { kernel, taken: HashSet::new(), next: HashMap::new(), names: vec![String::new(); kernel.values.len()], number: 0 };
    for param in &kernel.params {
        namer.name(param.value);
    }
    for block in &kernel.blocks {
        block.args.iter().for_each(|&arg| namer.name(arg));
        namer.insts(&block.insts);
    }
    namer.names
}

struct Namer<'k> {
    kernel: &'k Kernel,
    taken: HashSet<String>,
    next: HashMap<String, usize>,
    names: Vec<String>,
    number: usize,
}

impl Namer<'_> {
    fn name(&mut self, value: Value) {
        let text = match self.kernel.value_name(value) {
            None => {
                self.number += 1;
                (self.number - 1).to_string()
            }
            Some(name) => {
                let base = identifier(name);
                let mut text = base.clone();
                while !self.taken.insert(text.clone()) {
                    let next = self.next.entry(base.clone()).or_insert(0);
                    text = format!("{base}_{next}");
                    *next += 1;
                }
                text
            }
        };
        self.names[value.0 as usize] = text;
    }

    fn insts(&mut self, insts: &[Inst]) {
        for inst in insts {
            inst.results.iter().for_each(|&result| self.name(result));
            for region in super::walk::regions(&inst.kind) {
                region.args.iter().for_each(|&arg| self.name(arg));
                self.insts(&region.insts);
            }
        }
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
                let fp8 = |elem| matches!(elem, Elem::F8E4M3 | Elem::F8E5M2);
                let (from, to) = (self.ty(*v).elem, self.ty(result).elem);
                let float = matches!(kind, CastKind::FloatExt | CastKind::FloatTrunc);
                if float && (fp8(from) || fp8(to) || from.bits() == to.bits()) {
                    let rounding = if *kind == CastKind::FloatTrunc { ", rounding = rtne" } else { "" };
                    self.arrow("tt.fp_to_fp", *v, rounding, result);
                } else if *kind == CastKind::Bitcast {
                    self.arrow("tt.bitcast", *v, "", result);
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
                put!(self, "scf.while ({}) : ({}) -> ({}) {{\n", carried.join(", "), self.types(init), self.types(&inst.results));
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
                self.line();
                put!(self, "^bb0({}):\n", self.typed(&after.args));
                let yields = self.yields("scf.yield", &after.yields);
                self.region(after, &yields);
                self.line();
                self.out.push_str("}\n");
            }
            InstKind::Assert { condition, message } => {
                put!(self, "tt.assert {}, {} : {}\n", self.v(*condition), quoted(message), self.ty(*condition));
            }
        }
    }
}

fn axis_name(axis: u8) -> &'static str {
    ["x", "y", "z"].get(axis as usize).copied().unwrap_or("?")
}

/// As MLIR quotes: `\xx` in hex for what is not printable.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(byte as char);
            }
            0x20..=0x7e => out.push(byte as char),
            _ => out.push_str(&format!("\\{byte:02X}")),
        }
    }
    out.push('"');
    out
}

/// One lane as MLIR writes it: decimal where that reads back exactly, else the bits in hex.
fn literal_text(literal: Literal, elem: Elem) -> String {
    match literal {
        Literal::Int(int) if elem == Elem::I1 => if int == 0 { "false" } else { "true" }.to_owned(),
        Literal::Int(int) => int.to_string(),
        Literal::Float(x) if !x.is_finite() => bits_text(x, elem),
        Literal::Float(x) => {
            let short = exponent_form(&format!("{x:.6e}"));
            if short.parse::<f64>().is_ok_and(|back| same_in(elem, back, x)) {
                return short;
            }
            exponent_form(&format!("{x:.16e}"))
        }
    }
}

/// Whether a decimal reads back as the value when rounded to the element type.
fn same_in(elem: Elem, back: f64, x: f64) -> bool {
    match elem {
        Elem::F64 => back == x,
        Elem::F16 => half::f16::from_f64(back).to_f64() == x,
        Elem::BF16 => half::bf16::from_f64(back).to_f64() == x,
        _ => f64::from(back as f32) == x,
    }
}

/// Rust's `1.5e-7` as C's `1.5e-07`.
fn exponent_form(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else { return text.to_owned() };
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

fn bits_text(x: f64, elem: Elem) -> String {
    match elem {
        Elem::F64 => format!("0x{:016X}", x.to_bits()),
        Elem::F16 => format!("0x{:04X}", half::f16::from_f64(x).to_bits()),
        Elem::BF16 => format!("0x{:04X}", half::bf16::from_f64(x).to_bits()),
        _ => format!("0x{:08X}", (x as f32).to_bits()),
    }
}

pub(super) fn int_name(op: IntBinary) -> &'static str {
    match op {
        IntBinary::Add => "arith.addi",
        IntBinary::Sub => "arith.subi",
        IntBinary::Mul => "arith.muli",
        IntBinary::DivS => "arith.divsi",
        IntBinary::DivU => "arith.divui",
        IntBinary::RemS => "arith.remsi",
        IntBinary::RemU => "arith.remui",
        IntBinary::And => "arith.andi",
        IntBinary::Or => "arith.ori",
        IntBinary::Xor => "arith.xori",
        IntBinary::Shl => "arith.shli",
        IntBinary::ShrS => "arith.shrsi",
        IntBinary::ShrU => "arith.shrui",
        IntBinary::MinS => "arith.minsi",
        IntBinary::MinU => "arith.minui",
        IntBinary::MaxS => "arith.maxsi",
        IntBinary::MaxU => "arith.maxui",
    }
}

pub(super) fn float_name(op: FloatBinary) -> &'static str {
    match op {
        FloatBinary::Add => "arith.addf",
        FloatBinary::Sub => "arith.subf",
        FloatBinary::Mul => "arith.mulf",
        FloatBinary::Div => "arith.divf",
        FloatBinary::Rem => "arith.remf",
        FloatBinary::MinNum => "arith.minnumf",
        FloatBinary::MaxNum => "arith.maxnumf",
        FloatBinary::Minimum => "arith.minimumf",
        FloatBinary::Maximum => "arith.maximumf",
    }
}

pub(super) fn unary_name(op: FloatUnary) -> &'static str {
    match op {
        FloatUnary::Neg => "arith.negf",
        FloatUnary::Abs => "math.absf",
        FloatUnary::Exp => "math.exp",
        FloatUnary::Exp2 => "math.exp2",
        FloatUnary::Log => "math.log",
        FloatUnary::Log2 => "math.log2",
        FloatUnary::Sqrt => "math.sqrt",
        FloatUnary::SqrtRn => "tt.precise_sqrt",
        FloatUnary::Rsqrt => "math.rsqrt",
        FloatUnary::Sin => "math.sin",
        FloatUnary::Cos => "math.cos",
        FloatUnary::Erf => "math.erf",
        FloatUnary::Floor => "math.floor",
        FloatUnary::Ceil => "math.ceil",
    }
}

pub(super) fn int_predicate(predicate: IntPredicate) -> &'static str {
    match predicate {
        IntPredicate::Eq => "eq",
        IntPredicate::Ne => "ne",
        IntPredicate::LtS => "slt",
        IntPredicate::LeS => "sle",
        IntPredicate::GtS => "sgt",
        IntPredicate::GeS => "sge",
        IntPredicate::LtU => "ult",
        IntPredicate::LeU => "ule",
        IntPredicate::GtU => "ugt",
        IntPredicate::GeU => "uge",
    }
}

pub(super) fn float_predicate(predicate: FloatPredicate) -> &'static str {
    match predicate {
        FloatPredicate::Oeq => "oeq",
        FloatPredicate::One => "one",
        FloatPredicate::Olt => "olt",
        FloatPredicate::Ole => "ole",
        FloatPredicate::Ogt => "ogt",
        FloatPredicate::Oge => "oge",
        FloatPredicate::Une => "une",
    }
}

pub(super) fn cast_name(kind: CastKind) -> &'static str {
    match kind {
        CastKind::Trunc => "arith.trunci",
        CastKind::ExtS => "arith.extsi",
        CastKind::ExtU => "arith.extui",
        CastKind::IntToFloatS => "arith.sitofp",
        CastKind::IntToFloatU => "arith.uitofp",
        CastKind::FloatToIntS => "arith.fptosi",
        CastKind::FloatToIntU => "arith.fptoui",
        CastKind::FloatExt => "arith.extf",
        CastKind::FloatTrunc => "arith.truncf",
        CastKind::Bitcast => "tt.bitcast",
    }
}

pub(super) fn precision_name(precision: DotPrecision) -> &'static str {
    match precision {
        DotPrecision::Ieee => "ieee",
        DotPrecision::Tf32 => "tf32",
        DotPrecision::Tf32x3 => "tf32x3",
        DotPrecision::Bf16x3 => "bf16x3",
        DotPrecision::Bf16x6 => "bf16x6",
    }
}
