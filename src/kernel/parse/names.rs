//! Names of values: where they are defined, and what they stand for.

use std::sync::Arc;

use super::region::Kind;
use super::{Named, Parser, ResultName};
use crate::diag::{Diagnostic, Result, codes};
use crate::kernel::ir::{Type, Value, ValueData};

impl<'t> Parser<'t> {
    /// `%name`, without the `%`.
    pub(super) fn value_name(&mut self) -> Result<&'t str> {
        self.expect("%")?;
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '-'))).unwrap_or(rest.len());
        if end == 0 {
            return self.error("expected the name of a value");
        }
        self.at += end;
        Ok(&rest[..end])
    }

    pub(super) fn define(&mut self, key: &str, name: &str, ty: Type) -> Value {
        let numbered = name.chars().all(|c| c.is_ascii_digit());
        self.values.push(ValueData { ty, name: if numbered { None } else { Some(Arc::from(name)) }, hints: Vec::new() });
        let value = Value(self.values.len() as u32 - 1);
        self.insert(key, Named::Value(value));
        value
    }

    /// Defines what a name of such a type is made of.
    pub(super) fn define_kind(&mut self, key: &str, name: &str, kind: &Kind) -> Vec<Value> {
        let parts: Vec<Value> = kind.parts().into_iter().map(|ty| self.define(key, name, ty)).collect();
        self.insert(key, kind.of(&parts));
        parts
    }

    /// Lets a name of the innermost region stand for something.
    pub(super) fn insert(&mut self, key: &str, named: Named) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(key.to_owned(), named);
        }
    }

    /// `%name: type`.
    pub(super) fn definition(&mut self) -> Result<(Value, String)> {
        let name = self.value_name()?;
        self.expect(":")?;
        let ty = self.ty()?;
        Ok((self.define(name, name, ty), name.to_owned()))
    }

    /// `%a: type, %b: type` up to a closing token.
    pub(super) fn typed_list(&mut self, close: &str) -> Result<Vec<Value>> {
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

    pub(super) fn operand(&mut self) -> Result<Value> {
        match self.named()? {
            Named::Value(value) => Ok(value),
            Named::Region(_) => self.error("a tensor pointer or descriptor cannot stand here"),
        }
    }

    pub(super) fn named(&mut self) -> Result<Named> {
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
    pub(super) fn operands(&mut self) -> Result<Vec<Value>> {
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

    pub(super) fn result_names(&mut self) -> Result<Vec<ResultName<'t>>> {
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
}
