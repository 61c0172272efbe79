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
mod flow;
mod functions;
mod hints;
mod loops;
mod names;
mod ops;
mod region;
mod tables;
mod types;
mod wide;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use smallvec::SmallVec;

use super::ir::{BlockId, Inst, Kernel, Param, Region, Value, ValueData};
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
        let wraps = wide::low_halves(&blocks);
        Ok(Kernel {
            name: Arc::from(name),
            params,
            values: std::mem::take(&mut self.values),
            blocks,
            wraps,
            source: self.file.clone(),
        })
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
mod tests;
