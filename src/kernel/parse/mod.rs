//! Reads TTIR text: what [`print`](super::print) writes, and what Triton's own tools write for the
//! operations that the IR has.
//!
//! A recursive-descent parser over the text itself, since MLIR's types (`64x32xf32`) do not split into
//! tokens. Locations, comments, attributes that do not change values (cache hints, `num_stages`, divisibility of
//! parameters) are skipped. Value names live in the region that defines them, as MLIR prints them. Calls are
//! read as the instructions of what they call ([`functions`]), and blocks that nothing branches to are left out.
//!
//! Does not read: MLIR's generic form (`"arith.addi"(…)`) except for `tt.reduce`, dense constants
//! whose lanes differ, loops over `index`.

mod blocks;
mod cursor;
mod functions;
mod hints;
mod ops;
mod region;
mod types;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use smallvec::SmallVec;

use super::ir::{Block, BlockId, Inst, Kernel, Param, Region, Terminator, Type, Value, ValueData};
use super::verify::{Verified, verify};
use crate::diag::{Diagnostic, Result, codes};
use crate::source::{SourceFile, Span};
use region::Kind;

/// Reads the one public function of a text. Errors: K001 for an operation that the IR does not have, K006
/// for bad syntax and for what [`verify`] refuses, since the text is not ours.
pub fn parse(file: &Arc<SourceFile>) -> Result<Verified<Kernel>> {
    let mut parser = Parser {
        file,
        text: file.text(),
        at: 0,
        values: Vec::new(),
        scopes: vec![HashMap::new()],
        blocks: HashMap::new(),
        depth: 0,
        functions: functions::private_functions(file.text()),
        poison: HashSet::new(),
        calls: 0,
        unfolded: 0,
        noted: hints::Noted::default(),
        carried: None,
    };
    verify(parser.module()?).map_err(|mut error| {
        error.code = &codes::IR_SYNTAX;
        error
    })
}

/// Regions nested deeper than this are refused.
const MAX_DEPTH: usize = 100;

/// What a result list names: `%a` or `%a:2`.
struct ResultName<'t> {
    name: &'t str,
    count: Option<usize>,
}

/// What a name stands for.
#[derive(Clone, Debug)]
enum Named {
    Value(Value),
    Region(Box<region::Region>),
}

struct Parser<'t> {
    file: &'t Arc<SourceFile>,
    text: &'t str,
    at: usize,
    values: Vec<ValueData>,
    /// Names by region, innermost last. `%a:2` defines `a#0` and `a#1`.
    scopes: Vec<HashMap<String, Named>>,
    blocks: HashMap<String, BlockId>,
    depth: usize,
    /// Where the parameter lists of private functions begin, by name.
    functions: HashMap<&'t str, usize>,
    /// Names of undefined values.
    poison: HashSet<String>,
    /// Calls that we are inside of.
    calls: usize,
    /// Calls and blocks of callees read so far.
    unfolded: usize,
    /// Attributes of the instruction at hand that mean something.
    noted: hints::Noted,
    /// What the results of the instruction at hand are, where tensor pointers may be among them.
    carried: Option<Vec<Kind>>,
}

impl<'t> Parser<'t> {
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
                    // It is read where it is called.
                    self.skip_function()?;
                    continue;
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
        Ok(Kernel {
            name: Arc::from(name),
            params,
            values: std::mem::take(&mut self.values),
            blocks,
            wraps: HashSet::new(),
            source: self.file.clone(),
        })
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

    /// The labels of the blocks that are reached from the entry, in order of the text, and where the others
    /// end, by where they begin.
    fn reached(&self) -> (Vec<String>, HashMap<usize, usize>) {
        let end = self.at + self.function_length();
        // Labels inside regions (`^bb0(…)` of reduce and while) stand where they are parsed.
        let mut starts: Vec<(&'t str, usize)> = vec![("", self.at)];
        for (found, _) in self.text[self.at..end].match_indices('^') {
            let at = self.at + found;
            let line_start = self.text[..at].rfind('\n').map_or(0, |i| i + 1);
            let label = word(&self.text[at + 1..end]);
            if self.text[line_start..at].trim().is_empty() && label != "bb0" {
                starts.push((label, at));
            }
        }
        let ends: Vec<usize> = starts.iter().skip(1).map(|&(_, at)| at).chain([end]).collect();
        let mut reached = vec![false; starts.len()];
        let mut open = vec![0];
        while let Some(block) = open.pop() {
            if std::mem::replace(&mut reached[block], true) {
                continue;
            }
            let branches = self.text[starts[block].1..ends[block]].lines().filter_map(|line| Some(&line[line.find("cf.")?..]));
            let targets = branches.flat_map(|branch| branch.match_indices('^').map(|(at, _)| word(&branch[at + 1..])));
            open.extend(targets.filter_map(|target| starts.iter().position(|&(label, _)| label == target)));
        }
        let labels = starts.iter().zip(&reached).filter(|(_, reached)| **reached).map(|(&(label, _), _)| label.to_owned());
        let left_out = starts.iter().zip(ends).zip(&reached).filter(|(_, reached)| !**reached);
        (labels.collect(), left_out.map(|((&(_, start), end), _)| (start, end)).collect())
    }

    fn top_blocks(&mut self) -> Result<Vec<Block>> {
        // Labels are numbered as they appear as definitions, so that the entry comes first and
        // the others keep their order.
        let (labels, left_out) = self.reached();
        self.blocks = labels.iter().enumerate().map(|(i, label)| (label.clone(), BlockId(i as u32))).collect();

        let mut blocks = Vec::new();
        loop {
            let mut args = Vec::new();
            self.skip();
            while let Some(&end) = left_out.get(&self.at) {
                self.at = end;
                self.skip();
            }
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
                self.inst(&mut insts)?;
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
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '-'))).unwrap_or(rest.len());
        if end == 0 {
            return self.error("expected the name of a value");
        }
        self.at += end;
        Ok(&rest[..end])
    }

    fn define(&mut self, key: &str, name: &str, ty: Type) -> Value {
        let numbered = name.chars().all(|c| c.is_ascii_digit());
        self.values.push(ValueData { ty, name: if numbered { None } else { Some(Arc::from(name)) }, hints: Vec::new() });
        let value = Value(self.values.len() as u32 - 1);
        self.insert(key, Named::Value(value));
        value
    }

    /// Defines what a name of such a type is made of.
    fn define_kind(&mut self, key: &str, name: &str, kind: &Kind) -> Vec<Value> {
        let parts: Vec<Value> = kind.parts().into_iter().map(|ty| self.define(key, name, ty)).collect();
        self.insert(key, kind.of(&parts));
        parts
    }

    /// Lets a name of the innermost region stand for something.
    fn insert(&mut self, key: &str, named: Named) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(key.to_owned(), named);
        }
    }

    /// `%name: type`.
    fn definition(&mut self) -> Result<(Value, String)> {
        let name = self.value_name()?;
        self.expect(":")?;
        let ty = self.ty()?;
        Ok((self.define(name, name, ty), name.to_owned()))
    }

    /// `%a: type, %b: type` up to a closing token.
    fn typed_list(&mut self, close: &str) -> Result<Vec<Value>> {
        let mut list = Vec::new();
        while !self.eat(close) {
            if !list.is_empty() {
                self.expect(",")?;
            }
            let name = self.value_name()?;
            self.expect(":")?;
            let kind = self.kind()?;
            list.extend(self.define_kind(name, name, &kind));
            self.skip_location()?;
        }
        Ok(list)
    }

    fn operand(&mut self) -> Result<Value> {
        match self.named()? {
            Named::Value(value) => Ok(value),
            Named::Region(_) => self.error("a tensor pointer or descriptor cannot stand here"),
        }
    }

    fn named(&mut self) -> Result<Named> {
        self.skip();
        let start = self.at;
        let name = self.value_name()?;
        let mut key = name.to_owned();
        if self.rest().starts_with('#') {
            self.at += 1;
            key = format!("{name}#{}", self.int()?);
        }
        match self.scopes.iter().rev().find_map(|scope| scope.get(&key)) {
            Some(named) => Ok(named.clone()),
            None if self.poison.contains(&key) => {
                let span = self.span_from(start);
                let what = format!("`%{key}` is `ub.poison`, and something uses it");
                Err(Box::new(Diagnostic::new(&codes::KERNEL_UNSUPPORTED, what).at(self.file, span)))
            }
            None => {
                self.at = start;
                self.error(format!("`%{key}` is not defined here"))
            }
        }
    }

    /// Operands of a list, a tensor pointer's parts one by one.
    fn operands(&mut self) -> Result<Vec<Value>> {
        let mut list = Vec::new();
        loop {
            match self.named()? {
                Named::Value(value) => list.push(value),
                Named::Region(region) => list.extend(region.parts()),
            }
            let comma = self.at;
            if !self.eat(",") {
                return Ok(list);
            }
            if !self.peek("%") {
                self.at = comma;
                return Ok(list);
            }
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

    /// Reads an operation; a call gives the instructions of what it calls.
    fn inst(&mut self, insts: &mut Vec<Inst>) -> Result<()> {
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
        match op {
            "tt.call" => return self.call(names, start, insts),
            // Triton leaves these behind where nothing uses them.
            "ub.poison" => {
                self.skip_attributes()?;
                self.expect(":")?;
                self.ty()?;
                self.poison.extend(names.into_iter().map(|name| name.name.to_owned()));
                return self.skip_location();
            }
            // Launches follow each other here: no earlier grid is waited for, no later one let in.
            "tt.grid_dependency_wait" | "tt.grid_dependency_launch_dependents" => return self.skip_location(),
            // What a kernel prints changes nothing in memory.
            "tt.print" => {
                self.string()?;
                self.skip_attributes()?;
                if self.eat(":") {
                    self.operands()?;
                    self.expect(":")?;
                    self.types()?;
                }
                return self.skip_location();
            }
            // Signs are no part of a type here, so that some of these change nothing.
            "arith.bitcast" | "tt.bitcast" => {
                if let Some(value) = self.unchanged()? {
                    let kind = Kind::Plain(self.values[value.0 as usize].ty.clone());
                    return self.alias(names, &[value], &[kind]);
                }
            }
            _ => {
                let single: Vec<&str> = names.iter().filter(|name| name.count.is_none()).map(|name| name.name).collect();
                if self.region_operation(op, &single, start, insts)? {
                    return Ok(());
                }
            }
        }
        self.noted = hints::Noted::default();
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
        let kinds = self.carried.take().unwrap_or_else(|| types.into_iter().map(Kind::Plain).collect());
        let mut kinds = kinds.iter();
        let mut results: SmallVec<[Value; 1]> = SmallVec::new();
        for ResultName { name, count } in names {
            for i in 0..count.unwrap_or(1) {
                let Some(kind) = kinds.next() else { return self.error(format!("`{op}` has fewer results")) };
                let key = if count.is_some() { format!("{name}#{i}") } else { name.to_owned() };
                results.extend(self.define_kind(&key, name, kind));
            }
        }
        if kinds.next().is_some() {
            return self.error(format!("`{op}` has more results"));
        }
        if let Some(&Value(first)) = results.first() {
            self.values[first as usize].hints = std::mem::take(&mut self.noted.hints);
        }
        insts.push(Inst { kind, results, span: self.span_from(start) });
        Ok(())
    }

    /// `%value : type to type` or `%value : type -> type` of one type; else nothing is read.
    fn unchanged(&mut self) -> Result<Option<Value>> {
        let start = self.at;
        let value = self.operand()?;
        self.skip_attributes()?;
        self.expect(":")?;
        let from = self.ty()?;
        if !self.eat("->") {
            self.expect("to")?;
        }
        if from == self.ty()? {
            self.skip_location()?;
            return Ok(Some(value));
        }
        self.at = start;
        Ok(None)
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
            self.inst(&mut insts)?;
        }
        self.expect("}")?;
        self.scopes.pop();
        self.depth -= 1;
        Ok(Region { args, insts, yields })
    }

    /// `^bb0(%a: type, …):`; a block without arguments needs no label.
    fn region_label(&mut self) -> Result<Vec<Value>> {
        if !self.peek("^") {
            return Ok(Vec::new());
        }
        self.label()?;
        let args = if self.eat("(") { self.typed_list(")")? } else { Vec::new() };
        self.expect(":")?;
        Ok(args)
    }
}

/// The letters and digits that a text begins with.
fn word(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len())]
}

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
            [K001] a call of `f`, which the text does not define --> k.ttir:2:3
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
            [K006] float arithmetic on i32 and i32 --> k.ttir:2:3
            [K006] the result is tensor<4xi64> instead of tensor<4xi32> --> k.ttir:2:3
            [K006] a store of i32 as f32 --> k.ttir:3:3
            [K006] a ExtS of i32 to i16 --> k.ttir:2:3
            [K006] an if on something other than an i1 --> k.ttir:2:3
            [K006] a branch passes 1 values to a block that takes 0 --> k.ttir:1:1
            [K006] `a` is used where its definition does not reach --> k.ttir:8:3
            [K006] a reduction of tensor<8xi32> along 1 --> k.ttir:3:3
            [K006] a region yields 2 values instead of 1 --> k.ttir:2:3
        "#]]
        .assert_eq(&all);
    }
}
