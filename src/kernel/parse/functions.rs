//! Private functions: a `tt.call` becomes the instructions of what it calls.
//!
//! The callee's text is read again at each call, with its parameters standing for the arguments, so that
//! every call has values of its own. A callee of several blocks (early returns are the only source of them)
//! becomes nested `scf.if`: each arm goes on to its own return, and a block that two arms reach is read
//! twice.
//!
//! Not read: callees with loops between blocks, recursion, and what unfolds to more than [`MAX_UNFOLDED`] calls
//! and blocks.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::region::Kind;
use super::{MAX_DEPTH, Parser, ResultName};
use crate::diag::{Diagnostic, Result, codes};
use crate::kernel::ir::{Inst, InstKind, Region, Type, Value};
use crate::source::Span;

/// Calls inside calls beyond this are refused.
const MAX_CALLS: usize = 64;

/// Calls and blocks of callees that one kernel unfolds to; far above what any has, and far below what exhausts
/// memory.
const MAX_UNFOLDED: usize = 1 << 16;

const PRIVATE: &str = "tt.func private @";

/// Where each block of a function stands, by label.
type Labels<'t> = HashMap<&'t str, usize>;

/// Where the parameter lists of private functions begin, by name.
pub(super) fn private_functions(text: &str) -> HashMap<&str, usize> {
    let mut found = HashMap::new();
    for (at, _) in text.match_indices(PRIVATE) {
        let name_at = at + PRIVATE.len();
        // A name with brackets in it is quoted.
        let quoted = text[name_at..].strip_prefix('"').and_then(|rest| rest.find('"')).map(|end| end + 2);
        let Some(length) = quoted.or_else(|| text[name_at..].find('(')) else { continue };
        found.insert(text[name_at..name_at + length].trim_matches('"'), name_at + length);
    }
    found
}

impl<'t> Parser<'t> {
    /// A symbol behind `@`, quoted or not.
    fn symbol(&mut self) -> Result<&'t str> {
        self.expect("@")?;
        let rest = self.rest();
        let (name, length) = match rest.strip_prefix('"') {
            Some(quoted) => match quoted.find('"') {
                Some(end) => (&quoted[..end], end + 2),
                None => return self.error("a quoted name without its end"),
            },
            None => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '-')));
                let end = end.unwrap_or(rest.len());
                (&rest[..end], end)
            }
        };
        self.at += length;
        Ok(name)
    }

    /// `@name(arguments) : (types) -> types` behind `tt.call`; its results get `names`.
    pub(super) fn call(&mut self, names: Vec<ResultName<'t>>, start: usize, insts: &mut Vec<Inst>) -> Result<()> {
        let name = self.symbol()?;
        self.expect("(")?;
        let arguments = if self.peek("%") { self.operands()? } else { Vec::new() };
        self.expect(")")?;
        self.skip_attributes()?;
        self.expect(":")?;
        self.type_list()?;
        self.expect("->")?;
        let kinds = self.kind_list()?;
        self.skip_location()?;
        let span = self.span_from(start);
        let refused =
            |parser: &Self, what: String| Err(Box::new(Diagnostic::new(&codes::KERNEL_UNSUPPORTED, what).at(parser.file, span)));
        let Some(&function) = self.functions.get(name) else {
            return refused(self, format!("a call of `{name}`, which the text does not define"));
        };
        if self.calls == MAX_CALLS {
            return refused(self, format!("calls nested more than {MAX_CALLS} deep"));
        }
        self.unfold(span)?;
        let back = std::mem::replace(&mut self.at, function);
        let scopes = std::mem::replace(&mut self.scopes, vec![HashMap::new()]);
        self.calls += 1;
        let (body, results) = self.callee(&arguments)?;
        self.calls -= 1;
        self.scopes = scopes;
        self.at = back;
        insts.extend(body);
        self.alias(names, &results, &kinds)
    }

    /// Reads a function from its parameter list on.
    fn callee(&mut self, arguments: &[Value]) -> Result<(Vec<Inst>, Vec<Value>)> {
        self.expect("(")?;
        let mut given = arguments.iter().copied();
        while !self.eat(")") {
            self.take(&mut given)?;
            if self.peek("{") {
                self.skip_balanced('{', '}')?;
            }
            self.skip_location()?;
            self.eat(",");
        }
        let types = if self.eat("->") { self.type_list()? } else { Vec::new() };
        if self.eat("attributes") {
            self.skip();
            self.skip_balanced('{', '}')?;
        }
        self.expect("{")?;
        let labels = self.labels();
        self.until_return(&labels, &mut Vec::new(), &types)
    }

    /// Bytes from here, inside a function's body, to the brace that ends it.
    pub(super) fn function_length(&self) -> usize {
        let (mut depth, mut quoted) = (1usize, false);
        let mut bytes = self.text.bytes().enumerate().skip(self.at);
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'\\' if quoted => drop(bytes.next()),
                b'"' => quoted = !quoted,
                b'{' if !quoted => depth += 1,
                b'}' if !quoted => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at - self.at;
            }
        }
        self.text.len() - self.at
    }

    /// Steps over a function, from its symbol on.
    pub(super) fn skip_function(&mut self) -> Result<()> {
        self.symbol()?;
        self.skip_balanced('(', ')')?;
        if self.eat("->") {
            self.type_list()?;
        }
        if self.eat("attributes") {
            self.skip();
            self.skip_balanced('{', '}')?;
        }
        self.expect("{")?;
        self.at += self.function_length();
        self.expect("}")?;
        self.skip_location()
    }

    /// Labels of the function whose body begins here. Blocks of regions have no other label than `^bb0`, which no
    /// branch names.
    fn labels(&self) -> Labels<'t> {
        let body = &self.text[self.at..self.at + self.function_length()];
        let first = |at: &usize| body[..*at].rfind('\n').is_some_and(|line| body[line..*at].trim().is_empty());
        let places = body.match_indices('^').map(|(at, _)| at).filter(first);
        places.map(|at| (super::word(&body[at + 1..]), self.at + at)).collect()
    }

    /// Instructions from here to the function's return, and what it returns.
    fn until_return(&mut self, labels: &Labels<'t>, path: &mut Vec<&'t str>, types: &[Type]) -> Result<(Vec<Inst>, Vec<Value>)> {
        let mut insts = Vec::new();
        let passed = path.len();
        loop {
            self.skip();
            let start = self.at;
            if self.eat("tt.return") {
                let values = if self.peek("%") { self.operands()? } else { Vec::new() };
                if values.iter().map(|value| &self.values[value.0 as usize].ty).ne(types) {
                    return self.error("a function returns what its type says");
                }
                path.truncate(passed);
                return Ok((insts, values));
            }
            if self.eat("cf.br") {
                let target = self.jump()?;
                self.enter(target, labels, path)?;
            } else if self.eat("cf.cond_br") {
                let condition = self.operand()?;
                self.expect(",")?;
                let then = self.jump()?;
                self.expect(",")?;
                let otherwise = self.jump()?;
                let span = self.span_from(start);
                if self.depth == MAX_DEPTH {
                    return self.error(format!("blocks nested more than {MAX_DEPTH} deep"));
                }
                let mut arm = |target| -> Result<Region> {
                    let passed = path.len();
                    self.depth += 1;
                    self.scopes.push(HashMap::new());
                    self.enter(target, labels, path)?;
                    let (insts, yields) = self.until_return(labels, path, types)?;
                    self.scopes.pop();
                    self.depth -= 1;
                    path.truncate(passed);
                    Ok(Region { args: Vec::new(), insts, yields })
                };
                let (then, otherwise) = (arm(then)?, arm(otherwise)?);
                let results: SmallVec<[Value; 1]> = types.iter().map(|ty| self.fresh(ty.clone())).collect();
                let values = results.to_vec();
                insts.push(Inst { kind: InstKind::If { condition, then, otherwise }, results, span });
                path.truncate(passed);
                return Ok((insts, values));
            } else {
                self.inst(&mut insts)?;
            }
        }
    }

    /// Counts a call or a block.
    fn unfold(&mut self, span: Span) -> Result<()> {
        self.unfolded += 1;
        if self.unfolded <= MAX_UNFOLDED {
            return Ok(());
        }
        let what = format!("calls that unfold to more than {MAX_UNFOLDED} calls and blocks");
        Err(Box::new(Diagnostic::new(&codes::KERNEL_UNSUPPORTED, what).at(self.file, span)))
    }

    /// `^label(values : types)`.
    fn jump(&mut self) -> Result<(&'t str, Vec<Value>)> {
        let label = self.label()?;
        let mut values = Vec::new();
        if self.eat("(") {
            values = self.operands()?;
            self.expect(":")?;
            self.types()?;
            self.expect(")")?;
        }
        Ok((label, values))
    }

    /// Goes on at a block, whose arguments stand for what is handed over.
    fn enter(&mut self, (label, values): (&'t str, Vec<Value>), labels: &Labels<'t>, path: &mut Vec<&'t str>) -> Result<()> {
        let Some(&at) = labels.get(label) else { return self.error(format!("no block `^{label}`")) };
        if path.contains(&label) {
            let what = format!("a loop over the blocks of a private function, at `^{label}`");
            return Err(Box::new(Diagnostic::new(&codes::KERNEL_UNSUPPORTED, what).at(self.file, Span::new(at, at + 1))));
        }
        self.unfold(Span::new(at, at + 1))?;
        path.push(label);
        self.at = at;
        self.label()?;
        let mut given = values.into_iter();
        if self.eat("(") {
            while !self.eat(")") {
                self.take(&mut given)?;
                self.skip_location()?;
                self.eat(",");
            }
        }
        self.expect(":")
    }

    /// A value without a name.
    fn fresh(&mut self, ty: Type) -> Value {
        self.values.push(crate::kernel::ir::ValueData { ty, name: None, hints: Vec::new() });
        Value(self.values.len() as u32 - 1)
    }

    /// `%name: type`, which stands for values that exist.
    fn take(&mut self, given: &mut impl Iterator<Item = Value>) -> Result<()> {
        let name = self.value_name()?;
        self.expect(":")?;
        let kind = self.kind()?;
        let types = kind.parts();
        let parts: Vec<Value> = given.take(types.len()).collect();
        if parts.iter().map(|part| &self.values[part.0 as usize].ty).ne(&types) {
            return self.error(format!("`%{name}` stands for something of another type"));
        }
        self.insert(name, kind.of(&parts));
        Ok(())
    }

    /// Lets the names on the left stand for values that exist.
    pub(super) fn alias(&mut self, names: Vec<ResultName<'t>>, values: &[Value], kinds: &[Kind]) -> Result<()> {
        let (mut rest, mut kinds) = (values, kinds.iter());
        for ResultName { name, count } in names {
            for i in 0..count.unwrap_or(1) {
                let Some(kind) = kinds.next() else { return self.error("the call has fewer results") };
                let Some((parts, others)) = rest.split_at_checked(kind.parts().len()) else {
                    return self.error("the call has other results than its type says");
                };
                rest = others;
                let key = if count.is_some() { format!("{name}#{i}") } else { name.to_owned() };
                self.insert(&key, kind.of(parts));
            }
        }
        match kinds.next() {
            Some(_) => self.error("the call has more results"),
            None => Ok(()),
        }
    }
}
