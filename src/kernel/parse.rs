//! Reads TTIR text: what [`print`](super::print) writes, and what Triton's own tools write for the
//! operations that the IR has.
//!
//! A recursive-descent parser over the text itself, since MLIR's types (`64x32xf32`) do not split into
//! tokens. Locations, comments, attributes that do not change values (cache hints, divisibility,
//! `num_stages`) are skipped. Value names live in the region that defines them, as MLIR prints them.
//!
//! Does not read: MLIR's generic form (`"arith.addi"(…)`) except for `tt.reduce`, dense constants
//! whose lanes differ, calls, loops over `index`.

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::ir::{
    Block, BlockId, BlockShape, CastKind, DotPrecision, Elem, FloatBinary, FloatPredicate, FloatUnary, Inst, InstKind, IntBinary,
    IntPredicate, Kernel, Literal, Param, Region, Terminator, Type, Value, ValueData,
};
use super::print;
use super::verify::{Verified, verify};
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::source::{SourceFile, Span};

/// Reads the one public function of a text. Errors: K006 for bad syntax, K001 for an operation that
/// the IR does not have, K005 for what [`verify`] refuses.
pub fn parse(file: &Arc<SourceFile>) -> Result<Verified<Kernel>> {
    let mut parser = Parser {
        file,
        text: file.text(),
        at: 0,
        values: Vec::new(),
        scopes: vec![HashMap::new()],
        blocks: HashMap::new(),
        depth: 0,
    };
    verify(parser.module()?)
}

/// Regions nested deeper than this are refused.
const MAX_DEPTH: usize = 100;

/// What a result list names: `%a` or `%a:2`.
struct ResultName<'t> {
    name: &'t str,
    count: Option<usize>,
}

struct Parser<'t> {
    file: &'t Arc<SourceFile>,
    text: &'t str,
    at: usize,
    values: Vec<ValueData>,
    /// Names by region, innermost last. `%a:2` defines `a#0` and `a#1`.
    scopes: Vec<HashMap<String, Value>>,
    blocks: HashMap<String, BlockId>,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn span_from(&self, start: usize) -> Span {
        Span::new(start, self.at.max(start))
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        let end = self.text[self.at..].find(char::is_whitespace).map_or(self.text.len(), |i| self.at + i);
        Err(Box::new(Diagnostic::new(&codes::IR_SYNTAX, message).at(self.file, Span::new(self.at, end.max(self.at)))))
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Steps over blanks and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn peek(&mut self, token: &str) -> bool {
        self.skip();
        self.rest().starts_with(token)
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.peek(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.eat(token) { Ok(()) } else { self.error(format!("expected `{token}`")) }
    }

    /// A run of identifier characters, dots included.
    fn word(&mut self) -> &'t str {
        self.skip();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$'))).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn int(&mut self) -> Result<i64> {
        self.skip();
        let rest = self.rest();
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len()) + (rest.len() - digits.len());
        match rest[..end].parse() {
            Ok(int) => {
                self.at += end;
                Ok(int)
            }
            Err(_) => self.error("expected an integer of at most 64 bits"),
        }
    }

    /// Steps over a bracketed text, brackets and strings inside it included.
    fn skip_balanced(&mut self, open: char, close: char) -> Result<()> {
        let mut depth = 0usize;
        let mut quoted = false;
        let mut escaped = false;
        for (i, c) in self.rest().char_indices() {
            if quoted {
                match c {
                    _ if escaped => escaped = false,
                    '\\' => escaped = true,
                    '"' => quoted = false,
                    _ => {}
                }
            } else if c == '"' {
                quoted = true;
            } else if c == open {
                depth += 1;
            } else if c == close {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    self.at += i + c.len_utf8();
                    return Ok(());
                }
            }
        }
        self.error(format!("`{open}` without `{close}`"))
    }

    /// `loc(…)`, if there is one.
    fn skip_location(&mut self) -> Result<()> {
        if self.peek("loc(") {
            self.at += 3;
            self.skip_balanced('(', ')')?;
        }
        Ok(())
    }

    fn module(&mut self) -> Result<Kernel> {
        loop {
            if self.eat("#") {
                // `#loc1 = loc(…)`: an alias.
                self.word();
                self.expect("=")?;
                self.skip_location()?;
            } else if self.eat("module") {
                if self.eat("attributes") {
                    self.skip();
                    self.skip_balanced('{', '}')?;
                }
                self.expect("{")?;
            } else if self.eat("tt.func") {
                if self.eat("private") {
                    return self.error("private functions are not read; inline them first");
                }
                self.eat("public");
                return self.function();
            } else {
                return self.error("expected `tt.func`");
            }
        }
    }

    fn function(&mut self) -> Result<Kernel> {
        self.expect("@")?;
        let name = self.word();
        self.expect("(")?;
        let mut params = Vec::new();
        while !self.eat(")") {
            if !params.is_empty() {
                self.expect(",")?;
            }
            self.skip();
            let start = self.at;
            let (value, name) = self.definition()?;
            params.push(Param { name: Arc::from(name.as_str()), value, span: self.span_from(start) });
            if self.peek("{") {
                self.skip_balanced('{', '}')?;
            }
            self.skip_location()?;
        }
        if self.eat("attributes") {
            self.skip();
            self.skip_balanced('{', '}')?;
        }
        self.expect("{")?;
        let blocks = self.top_blocks()?;
        Ok(Kernel { name: Arc::from(name), params, values: std::mem::take(&mut self.values), blocks, source: self.file.clone() })
    }

    fn block_id(&mut self, label: &str) -> BlockId {
        let next = BlockId(self.blocks.len() as u32);
        *self.blocks.entry(label.to_owned()).or_insert(next)
    }

    /// `^name`, with the name.
    fn label(&mut self) -> Result<&'t str> {
        self.expect("^")?;
        Ok(self.word())
    }

    fn top_blocks(&mut self) -> Result<Vec<Block>> {
        // Labels are numbered as they appear as definitions, so that the entry comes first and
        // the others keep their order.
        let mut labels = vec![String::new()];
        let mut scan = self.at;
        while let Some(found) = self.text[scan..].find('^') {
            let start = scan + found + 1;
            let line_start = self.text[..start - 1].rfind('\n').map_or(0, |i| i + 1);
            let rest = &self.text[start..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            // Labels inside regions (`^bb0(…)` of reduce and while) are parsed where they stand.
            if self.text[line_start..start - 1].trim().is_empty() && &rest[..end] != "bb0" {
                labels.push(rest[..end].to_owned());
            }
            scan = start;
        }
        self.blocks = labels.iter().enumerate().map(|(i, label)| (label.clone(), BlockId(i as u32))).collect();

        let mut blocks = Vec::new();
        loop {
            let mut args = Vec::new();
            if self.peek("^") {
                let label = self.label()?;
                if self.block_id(label).0 as usize != blocks.len() {
                    return self.error(format!("block `^{label}` is defined twice or out of order"));
                }
                if self.eat("(") {
                    args = self.typed_list(")")?;
                }
                self.expect(":")?;
            } else if !blocks.is_empty() {
                break;
            }
            let mut insts = Vec::new();
            let terminator = loop {
                if let Some(terminator) = self.terminator()? {
                    break terminator;
                }
                insts.push(self.inst()?);
            };
            blocks.push(Block { args, insts, terminator });
        }
        self.expect("}")?;
        Ok(blocks)
    }

    fn terminator(&mut self) -> Result<Option<Terminator>> {
        let terminator = if self.eat("tt.return") {
            Terminator::Return
        } else if self.eat("cf.br") {
            let (to, args) = self.target()?;
            Terminator::Branch { to, args }
        } else if self.eat("cf.cond_br") {
            let condition = self.operand()?;
            self.expect(",")?;
            let then = self.target()?;
            self.expect(",")?;
            let otherwise = self.target()?;
            Terminator::CondBranch { condition, then, otherwise }
        } else {
            return Ok(None);
        };
        self.skip_location()?;
        Ok(Some(terminator))
    }

    fn target(&mut self) -> Result<(BlockId, Vec<Value>)> {
        let label = self.label()?;
        let Some(&to) = self.blocks.get(label) else { return self.error(format!("no block `^{label}`")) };
        let mut args = Vec::new();
        if self.eat("(") {
            args = self.operands()?;
            self.expect(":")?;
            self.types()?;
            self.expect(")")?;
        }
        Ok((to, args))
    }

    /// `%name`, without the `%`.
    fn value_name(&mut self) -> Result<&'t str> {
        self.expect("%")?;
        let start = self.at;
        self.word();
        Ok(&self.text[start..self.at])
    }

    fn define(&mut self, key: String, name: &str, ty: Type) -> Value {
        let numbered = name.chars().all(|c| c.is_ascii_digit());
        self.values.push(ValueData { ty, name: if numbered { None } else { Some(Arc::from(name)) } });
        let value = Value(self.values.len() as u32 - 1);
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(key, value);
        }
        value
    }

    /// `%name: type`.
    fn definition(&mut self) -> Result<(Value, String)> {
        let name = self.value_name()?;
        self.expect(":")?;
        let ty = self.ty()?;
        Ok((self.define(name.to_owned(), name, ty), name.to_owned()))
    }

    /// `%a: type, %b: type` up to a closing token.
    fn typed_list(&mut self, close: &str) -> Result<Vec<Value>> {
        let mut list = Vec::new();
        while !self.eat(close) {
            if !list.is_empty() {
                self.expect(",")?;
            }
            list.push(self.definition()?.0);
            self.skip_location()?;
        }
        Ok(list)
    }

    fn operand(&mut self) -> Result<Value> {
        self.skip();
        let start = self.at;
        let name = self.value_name()?;
        let mut key = name.to_owned();
        if self.rest().starts_with('#') {
            self.at += 1;
            key = format!("{name}#{}", self.int()?);
        }
        match self.scopes.iter().rev().find_map(|scope| scope.get(&key)) {
            Some(&value) => Ok(value),
            None => {
                self.at = start;
                self.error(format!("`%{key}` is not defined here"))
            }
        }
    }

    fn operands(&mut self) -> Result<Vec<Value>> {
        let mut list = vec![self.operand()?];
        while self.peek(",") {
            let comma = self.at;
            self.at += 1;
            if !self.peek("%") {
                self.at = comma;
                break;
            }
            list.push(self.operand()?);
        }
        Ok(list)
    }

    fn elem(&mut self) -> Result<Elem> {
        if self.eat("!tt.ptr<") {
            let to = self.elem()?;
            if self.eat(",") {
                self.int()?;
            }
            self.expect(">")?;
            let dtype = match to {
                Elem::I1 => DType::Bool,
                Elem::I8 => DType::I8,
                Elem::I16 => DType::I16,
                Elem::I32 => DType::I32,
                Elem::I64 => DType::I64,
                Elem::F8E4M3 => DType::F8E4M3,
                Elem::F8E5M2 => DType::F8E5M2,
                Elem::F16 => DType::F16,
                Elem::BF16 => DType::BF16,
                Elem::F32 => DType::F32,
                Elem::F64 => DType::F64,
                Elem::Ptr(_) => return self.error("a pointer to pointers"),
            };
            return Ok(Elem::Ptr(dtype));
        }
        const ELEMS: [Elem; 11] = [
            Elem::I1,
            Elem::I8,
            Elem::I16,
            Elem::I32,
            Elem::I64,
            Elem::F8E4M3,
            Elem::F8E5M2,
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

    fn ty(&mut self) -> Result<Type> {
        if !self.eat("tensor<") {
            return Ok(Type::scalar(self.elem()?));
        }
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

    fn types(&mut self) -> Result<Vec<Type>> {
        let mut list = vec![self.ty()?];
        while self.eat(",") {
            list.push(self.ty()?);
        }
        Ok(list)
    }

    /// `(type, …)`, or one type.
    fn type_list(&mut self) -> Result<Vec<Type>> {
        if !self.eat("(") {
            return Ok(vec![self.ty()?]);
        }
        if self.eat(")") {
            return Ok(Vec::new());
        }
        let list = self.types()?;
        self.expect(")")?;
        Ok(list)
    }

    /// Attributes that change nothing: `{…}`, `overflow<…>`, `fastmath<…>`, `cacheModifier = ca`.
    fn skip_attributes(&mut self) -> Result<()> {
        loop {
            if self.peek("{") {
                self.skip_balanced('{', '}')?;
            } else if self.eat("overflow") || self.eat("fastmath") {
                self.skip();
                self.skip_balanced('<', '>')?;
            } else if self.eat("cacheModifier") || self.eat("evictionPolicy") || self.eat("cache") || self.eat("evict") {
                self.expect("=")?;
                self.word();
            } else if !(self.eat("allow_reorder") || self.eat("efficient_layout")) {
                return Ok(());
            }
        }
    }

    /// The text of `key = …` in the attribute dictionary that follows; the dictionary is consumed.
    fn attributes(&mut self) -> Result<HashMap<&'t str, &'t str>> {
        let mut map = HashMap::new();
        self.expect("{")?;
        while !self.eat("}") {
            if !map.is_empty() {
                self.expect(",")?;
            }
            let key = self.word();
            if !self.eat("=") {
                map.insert(key, "");
                continue;
            }
            self.skip();
            let start = self.at;
            let mut depth = 0;
            for (i, c) in self.rest().char_indices() {
                match c {
                    '<' | '(' | '[' => depth += 1,
                    '>' | ')' | ']' => depth -= 1,
                    ',' | '}' if depth == 0 => {
                        self.at += i;
                        break;
                    }
                    _ => {}
                }
            }
            if key.is_empty() || self.at == start {
                return self.error("expected an attribute");
            }
            map.insert(key, self.text[start..self.at].trim());
        }
        Ok(map)
    }

    /// An integer attribute such as `axis = 1 : i32`.
    fn int_attribute(&self, map: &HashMap<&str, &str>, key: &str) -> Result<i64> {
        let text = map.get(key).map(|text| text.split(':').next().unwrap_or("").trim());
        match text.and_then(|text| text.parse().ok()) {
            Some(int) => Ok(int),
            None => self.error(format!("expected the attribute `{key}`")),
        }
    }

    fn axis_attribute(&self, map: &HashMap<&str, &str>, key: &str) -> Result<u8> {
        match u8::try_from(self.int_attribute(map, key)?) {
            Ok(axis) => Ok(axis),
            Err(_) => self.error(format!("`{key}` is no axis")),
        }
    }

    fn result_names(&mut self) -> Result<Vec<ResultName<'t>>> {
        let mut names = Vec::new();
        if !self.peek("%") {
            return Ok(names);
        }
        loop {
            let name = self.value_name()?;
            let count = if self.rest().starts_with(':') {
                self.at += 1;
                match usize::try_from(self.int()?) {
                    Ok(count) if count <= 1024 => Some(count),
                    _ => return self.error("a count of results"),
                }
            } else {
                None
            };
            names.push(ResultName { name, count });
            if !self.eat(",") {
                break;
            }
        }
        self.expect("=")?;
        Ok(names)
    }

    fn inst(&mut self) -> Result<Inst> {
        self.skip();
        let start = self.at;
        let names = self.result_names()?;
        self.skip();
        let op_start = self.at;
        let op = if self.eat("\"") {
            let op = self.word();
            self.expect("\"")?;
            op
        } else {
            self.word()
        };
        if op.is_empty() {
            return self.error("expected an operation");
        }
        let (kind, types) = match self.operation(op)? {
            Some(parsed) => parsed,
            None => {
                let span = Span::new(op_start, self.at);
                return Err(Box::new(
                    Diagnostic::new(&codes::KERNEL_UNSUPPORTED, format!("the operation `{op}`")).at(self.file, span),
                ));
            }
        };
        self.skip_location()?;
        let mut types = types.into_iter();
        let mut results = SmallVec::new();
        for ResultName { name, count } in names {
            for i in 0..count.unwrap_or(1) {
                let Some(ty) = types.next() else { return self.error(format!("`{op}` has fewer results")) };
                let key = if count.is_some() { format!("{name}#{i}") } else { name.to_owned() };
                results.push(self.define(key, name, ty));
            }
        }
        if types.next().is_some() {
            return self.error(format!("`{op}` has more results"));
        }
        Ok(Inst { kind, results, span: self.span_from(start) })
    }

    /// Instructions up to a yield, in a scope of their own.
    fn region(&mut self, arguments: impl FnOnce(&mut Self) -> Result<Vec<Value>>, yield_op: &str) -> Result<Region> {
        if self.depth == MAX_DEPTH {
            return self.error(format!("regions nested more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        self.scopes.push(HashMap::new());
        let args = arguments(self)?;
        let mut insts = Vec::new();
        let mut yields = Vec::new();
        while !self.peek("}") {
            if self.eat(yield_op) {
                if yield_op == "scf.condition" {
                    self.expect("(")?;
                    yields.push(self.operand()?);
                    self.expect(")")?;
                }
                if self.peek("%") {
                    yields.extend(self.operands()?);
                    self.expect(":")?;
                    self.types()?;
                }
                self.skip_location()?;
                break;
            }
            insts.push(self.inst()?);
        }
        self.expect("}")?;
        self.scopes.pop();
        self.depth -= 1;
        Ok(Region { args, insts, yields })
    }

    /// `^bb0(%a: type, …):`.
    fn region_label(&mut self) -> Result<Vec<Value>> {
        self.label()?;
        let args = if self.eat("(") { self.typed_list(")")? } else { Vec::new() };
        self.expect(":")?;
        Ok(args)
    }

    /// An operation behind its name, with its result types; `None` for an unknown one.
    fn operation(&mut self, op: &str) -> Result<Option<(InstKind, Vec<Type>)>> {
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
            "tt.splat" | "tt.broadcast" | "tt.reshape" | "tt.bitcast" => {
                let v = self.operand()?;
                self.skip_attributes()?;
                let (_, to) = self.arrow()?;
                let kind = match op {
                    "tt.splat" => InstKind::Splat(v),
                    "tt.broadcast" => InstKind::Broadcast(v),
                    "tt.reshape" => InstKind::Reshape(v),
                    _ => InstKind::Cast(CastKind::Bitcast, v),
                };
                (kind, vec![to])
            }
            "tt.fp_to_fp" => {
                let v = self.operand()?;
                if self.eat(",") {
                    self.expect("rounding")?;
                    self.expect("=")?;
                    if self.word() != "rtne" {
                        return self.error("only rtne rounding is supported");
                    }
                }
                let (from, to) = self.arrow()?;
                let wider = from.elem.bits() < to.elem.bits();
                let kind = if wider { CastKind::FloatExt } else { CastKind::FloatTrunc };
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
                let kind = InstKind::Load { ptr: *ptr, mask: rest.first().copied(), other: rest.get(1).copied() };
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
            "tt.reduce" => self.reduce()?,
            "scf.for" => self.for_loop()?,
            "scf.if" => {
                let condition = self.operand()?;
                let types = if self.eat("->") { self.type_list()? } else { Vec::new() };
                self.expect("{")?;
                let then = self.region(|_| Ok(Vec::new()), "scf.yield")?;
                let otherwise = if self.eat("else") {
                    self.expect("{")?;
                    self.region(|_| Ok(Vec::new()), "scf.yield")?
                } else {
                    Region::default()
                };
                self.skip_attributes()?;
                (InstKind::If { condition, then, otherwise }, types)
            }
            "scf.while" => self.while_loop()?,
            _ => return Ok(None),
        };
        Ok(Some(parsed))
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

    /// `: type -> type`.
    fn arrow(&mut self) -> Result<(Type, Type)> {
        self.expect(":")?;
        let from = self.ty()?;
        self.expect("->")?;
        Ok((from, self.ty()?))
    }

    fn string(&mut self) -> Result<String> {
        self.expect("\"")?;
        let mut bytes = Vec::new();
        let mut rest = self.rest().bytes();
        loop {
            let Some(byte) = rest.next() else { return self.error("a string without end") };
            match byte {
                b'"' => break,
                b'\\' => match rest.next() {
                    Some(c @ (b'"' | b'\\')) => bytes.push(c),
                    Some(high) => {
                        let low = rest.next().unwrap_or(b' ');
                        let pair = [high, low];
                        let digits = std::str::from_utf8(&pair).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok());
                        match digits {
                            Some(byte) => bytes.push(byte),
                            None => return self.error("an escape other than two hex digits"),
                        }
                    }
                    None => return self.error("a string without end"),
                },
                other => bytes.push(other),
            }
        }
        self.at = self.text.len() - rest.len();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
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

    fn reduce(&mut self) -> Result<(InstKind, Vec<Type>)> {
        self.expect("(")?;
        let operands = self.operands()?;
        self.expect(")")?;
        self.expect("<")?;
        let map = self.attributes()?;
        let axis = self.axis_attribute(&map, "axis")?;
        self.expect(">")?;
        self.expect("(")?;
        self.expect("{")?;
        let combine = self.region(Self::region_label, "tt.reduce.return")?;
        self.expect(")")?;
        self.skip_attributes()?;
        self.expect(":")?;
        self.type_list()?;
        self.expect("->")?;
        let types = self.type_list()?;
        Ok((InstKind::Reduce { operands: SmallVec::from_vec(operands), axis, combine }, types))
    }

    /// `(%arg = %init, …)`: names and initial values.
    fn carried(&mut self) -> Result<(Vec<&'t str>, Vec<Value>)> {
        let (mut names, mut init) = (Vec::new(), Vec::new());
        self.expect("(")?;
        while !self.eat(")") {
            if !names.is_empty() {
                self.expect(",")?;
            }
            names.push(self.value_name()?);
            self.expect("=")?;
            init.push(self.operand()?);
        }
        Ok((names, init))
    }

    fn for_loop(&mut self) -> Result<(InstKind, Vec<Type>)> {
        let counter = self.value_name()?;
        self.expect("=")?;
        let lower = self.operand()?;
        self.expect("to")?;
        let upper = self.operand()?;
        self.expect("step")?;
        let step = self.operand()?;
        let (mut names, mut init, mut types) = (Vec::new(), Vec::new(), Vec::new());
        if self.eat("iter_args") {
            (names, init) = self.carried()?;
            self.expect("->")?;
            types = self.type_list()?;
        }
        self.expect(":")?;
        let ty = self.ty()?;
        self.expect("{")?;
        if names.len() != types.len() {
            return self.error("a type for each carried value");
        }
        let carried = types.clone();
        let body = self.region(
            |parser| {
                let mut args = vec![parser.define(counter.to_owned(), counter, ty)];
                args.extend(names.into_iter().zip(carried).map(|(name, ty)| parser.define(name.to_owned(), name, ty)));
                Ok(args)
            },
            "scf.yield",
        )?;
        self.skip_attributes()?;
        Ok((InstKind::For { lower, upper, step, init, body }, types))
    }

    fn while_loop(&mut self) -> Result<(InstKind, Vec<Type>)> {
        let (names, init) = self.carried()?;
        self.expect(":")?;
        let from = self.type_list()?;
        self.expect("->")?;
        let types = self.type_list()?;
        self.expect("{")?;
        let before = self.region(
            |parser| Ok(names.into_iter().zip(from).map(|(name, ty)| parser.define(name.to_owned(), name, ty)).collect()),
            "scf.condition",
        )?;
        self.expect("do")?;
        self.expect("{")?;
        let after = self.region(Self::region_label, "scf.yield")?;
        self.skip_attributes()?;
        Ok((InstKind::While { init, before, after }, types))
    }
}

/// Sizes and element counts beyond this are refused.
const MAX_SIZE: usize = 1 << 30;

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
        return text.parse().ok().map(|x| super::lower::literal_of(x, elem));
    }
    let int: i64 = match text {
        "true" => 1,
        "false" => 0,
        _ => text.parse().ok()?,
    };
    let wrapped = super::lower::wrap(int, elem);
    (wrapped == int || elem == Elem::I1).then_some(Literal::Int(wrapped))
}

const INT_BINARY: [IntBinary; 17] = [
    IntBinary::Add,
    IntBinary::Sub,
    IntBinary::Mul,
    IntBinary::DivS,
    IntBinary::DivU,
    IntBinary::RemS,
    IntBinary::RemU,
    IntBinary::And,
    IntBinary::Or,
    IntBinary::Xor,
    IntBinary::Shl,
    IntBinary::ShrS,
    IntBinary::ShrU,
    IntBinary::MinS,
    IntBinary::MinU,
    IntBinary::MaxS,
    IntBinary::MaxU,
];

const FLOAT_BINARY: [FloatBinary; 9] = [
    FloatBinary::Add,
    FloatBinary::Sub,
    FloatBinary::Mul,
    FloatBinary::Div,
    FloatBinary::Rem,
    FloatBinary::MinNum,
    FloatBinary::MaxNum,
    FloatBinary::Minimum,
    FloatBinary::Maximum,
];

const FLOAT_UNARY: [FloatUnary; 14] = [
    FloatUnary::Neg,
    FloatUnary::Abs,
    FloatUnary::Exp,
    FloatUnary::Exp2,
    FloatUnary::Log,
    FloatUnary::Log2,
    FloatUnary::Sqrt,
    FloatUnary::SqrtRn,
    FloatUnary::Rsqrt,
    FloatUnary::Sin,
    FloatUnary::Cos,
    FloatUnary::Erf,
    FloatUnary::Floor,
    FloatUnary::Ceil,
];

const CASTS: [CastKind; 9] = [
    CastKind::Trunc,
    CastKind::ExtS,
    CastKind::ExtU,
    CastKind::IntToFloatS,
    CastKind::IntToFloatU,
    CastKind::FloatToIntS,
    CastKind::FloatToIntU,
    CastKind::FloatExt,
    CastKind::FloatTrunc,
];

const INT_PREDICATES: [IntPredicate; 10] = [
    IntPredicate::Eq,
    IntPredicate::Ne,
    IntPredicate::LtS,
    IntPredicate::LeS,
    IntPredicate::GtS,
    IntPredicate::GeS,
    IntPredicate::LtU,
    IntPredicate::LeU,
    IntPredicate::GtU,
    IntPredicate::GeU,
];

const FLOAT_PREDICATES: [FloatPredicate; 7] = [
    FloatPredicate::Oeq,
    FloatPredicate::One,
    FloatPredicate::Olt,
    FloatPredicate::Ole,
    FloatPredicate::Ogt,
    FloatPredicate::Oge,
    FloatPredicate::Une,
];

const PRECISIONS: [DotPrecision; 5] =
    [DotPrecision::Ieee, DotPrecision::Tf32, DotPrecision::Tf32x3, DotPrecision::Bf16x3, DotPrecision::Bf16x6];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::render::render;

    fn error(body: &str) -> String {
        let text = format!("tt.func public @k(%p: !tt.ptr<f32>, %n: i32) {{\n{body}\n}}\n");
        let error = parse(&SourceFile::new("k.ttir", text)).unwrap_err();
        let rendered = render(&error, false);
        let place = rendered.lines().find(|line| line.contains("-->")).unwrap_or("").trim().to_owned();
        format!("{error} {place}\n")
    }

    #[test]
    fn bad_text_is_refused_with_a_place() {
        let bodies = [
            "  tt.return\n  tt.return",
            "  %a = arith.addi %n, %m : i32\n  tt.return",
            "  %a = arith.addi %n : i32\n  tt.return",
            "  %a, %b = arith.addi %n, %n : i32\n  tt.return",
            "  %a = arith.constant 1.5 : i32\n  tt.return",
            "  %a = arith.constant 300 : i8\n  tt.return",
            "  %a = tt.make_range {end = 8 : i32} : tensor<8xi32>\n  tt.return",
            "  cf.br ^bb3\n^bb1:\n  tt.return",
            "  %a = tt.call @f(%n) : (i32) -> i32\n  tt.return",
            "  %a = tt.splat %n : i32 -> tensor<99999999999x2xi32>\n  tt.return",
            "  scf.if %n {\n",
        ];
        let all: String = bodies.iter().map(|body| error(body)).collect();
        expect_test::expect![[r#"
            [K006] expected `}` --> k.ttir:3:3
            [K006] `%m` is not defined here --> k.ttir:2:23
            [K006] 1 operands instead of 2 --> k.ttir:2:27
            [K006] `arith.addi` has fewer results --> k.ttir:3:3
            [K006] `1.5` is no constant of i32 --> k.ttir:2:23
            [K006] `300` is no constant of i8 --> k.ttir:2:23
            [K006] expected the attribute `start` --> k.ttir:2:53
            [K006] no block `^bb3` --> k.ttir:2:13
            [K001] the operation `tt.call` --> k.ttir:2:8
            [K006] a size of 99999999999 --> k.ttir:2:48
            [K006] expected an operation --> k.ttir:4:3
        "#]]
        .assert_eq(&all);
    }

    #[test]
    fn ill_typed_text_does_not_verify() {
        let bodies = [
            "  %a = arith.addf %n, %n : i32\n  tt.return",
            "  %a = tt.splat %n : i32 -> tensor<4xi64>\n  tt.return",
            "  %v = tt.load %p : !tt.ptr<f32>\n  tt.store %p, %n : !tt.ptr<f32>\n  tt.return",
            "  %a = arith.extsi %n : i32 to i16\n  tt.return",
            "  scf.if %n {\n  }\n  tt.return",
            "  cf.br ^bb1(%n : i32)\n^bb1:\n  tt.return",
            "  %c = arith.constant true\n  cf.cond_br %c, ^bb1, ^bb2\n^bb1:\n  %a = arith.addi %n, %n : i32\n  cf.br ^bb2\n^bb2:\n  %b = arith.addi %a, %n : i32\n  tt.return",
            "  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>\n  %s = \"tt.reduce\"(%r) <{axis = 1 : i32}> ({\n  ^bb0(%a: i32, %b: i32):\n    tt.reduce.return %a : i32\n  }) : (tensor<8xi32>) -> i32\n  tt.return",
            "  %t = scf.for %i = %n to %n step %n iter_args(%a = %n) -> (i32) : i32 {\n    scf.yield %a, %a : i32, i32\n  }\n  tt.return",
        ];
        let all: String = bodies.iter().map(|body| error(body)).collect();
        expect_test::expect![[r#"
            [K005] float arithmetic on i32 and i32 --> k.ttir:2:3
            [K005] the result is tensor<4xi64> instead of tensor<4xi32> --> k.ttir:2:3
            [K005] a store of i32 as f32 --> k.ttir:3:3
            [K005] a ExtS of i32 to i16 --> k.ttir:2:3
            [K005] an if on something other than an i1 --> k.ttir:2:3
            [K005] a branch passes 1 values to a block that takes 0 --> k.ttir:1:1
            [K005] `a` is used where its definition does not reach --> k.ttir:8:3
            [K005] a reduction of tensor<8xi32> along 1 --> k.ttir:3:3
            [K005] a region yields 2 values instead of 1 --> k.ttir:2:3
        "#]]
        .assert_eq(&all);
    }
}
