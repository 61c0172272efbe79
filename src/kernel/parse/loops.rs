//! Operations with regions: reductions and loops.

use smallvec::SmallVec;

use super::region::Kind;
use super::{Named, Parser};
use crate::diag::Result;
use crate::kernel::ir::{InstKind, Type, Value};

impl<'t> Parser<'t> {
    pub(super) fn reduce(&mut self) -> Result<(InstKind, Vec<Type>)> {
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
    pub(super) fn carried(&mut self) -> Result<(Vec<&'t str>, Vec<Value>)> {
        let (mut names, mut init) = (Vec::new(), Vec::new());
        self.expect("(")?;
        while !self.eat(")") {
            if !names.is_empty() {
                self.expect(",")?;
            }
            names.push(self.value_name()?);
            self.expect("=")?;
            match self.named()? {
                Named::Value(value) => init.push(value),
                Named::Region(region) => init.extend(region.parts()),
            }
        }
        Ok((names, init))
    }

    pub(super) fn for_loop(&mut self) -> Result<(InstKind, Vec<Type>)> {
        let counter = self.value_name()?;
        self.expect("=")?;
        let lower = self.operand()?;
        self.expect("to")?;
        let upper = self.operand()?;
        self.expect("step")?;
        let step = self.operand()?;
        let (mut names, mut init, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
        if self.eat("iter_args") {
            (names, init) = self.carried()?;
            self.expect("->")?;
            kinds = self.kind_list()?;
        }
        self.expect(":")?;
        let ty = self.ty()?;
        self.expect("{")?;
        if names.len() != kinds.len() {
            return self.error("a type for each carried value");
        }
        let body = self.region(
            |parser| {
                let mut args = vec![parser.define(counter, counter, ty)];
                args.extend(names.into_iter().zip(&kinds).flat_map(|(name, kind)| parser.define_kind(name, name, kind)));
                Ok(args)
            },
            "scf.yield",
        )?;
        self.skip_attributes()?;
        Ok((InstKind::For { lower, upper, step, init, body }, self.carry(kinds)))
    }

    pub(super) fn while_loop(&mut self) -> Result<(InstKind, Vec<Type>)> {
        // MLIR leaves an empty list out.
        let (names, init) = if self.peek("(") { self.carried()? } else { (Vec::new(), Vec::new()) };
        self.expect(":")?;
        let from = self.kind_list()?;
        self.expect("->")?;
        let kinds = self.kind_list()?;
        self.expect("{")?;
        let before = self.region(
            |parser| Ok(names.into_iter().zip(&from).flat_map(|(name, kind)| parser.define_kind(name, name, kind)).collect()),
            "scf.condition",
        )?;
        self.expect("do")?;
        self.expect("{")?;
        let after = self.region(Self::region_label, "scf.yield")?;
        self.skip_attributes()?;
        Ok((InstKind::While { init, before, after }, self.carry(kinds)))
    }

    /// Types of the parts of what an instruction gives, which [`Parser::inst`] groups again.
    pub(super) fn carry(&mut self, kinds: Vec<Kind>) -> Vec<Type> {
        let types = kinds.iter().flat_map(Kind::parts).collect();
        self.carried = Some(kinds);
        types
    }
}
