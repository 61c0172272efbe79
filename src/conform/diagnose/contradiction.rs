//! Lines that contradict others of their file, whatever was seen: arguments and names in another's place
//! ([`super::names`]), indices that are taken apart inconsistently ([`super::decode`]), work that programs
//! share wrongly ([`super::programs`]).
//!
//! They are looked for only once something is wrong: alone they prove nothing, since names are free.
//!
//! Not caught: lines that are wrong alike in the whole file, and a mistake in a number or operator that no other
//! line repeats.

use std::collections::BTreeMap;

use super::roles::misplaced;
use super::varying::{Varying, functions};
use super::{decode, flow, names, programs};
use crate::source::Span;
use crate::syntax::ast::Module;
use crate::syntax::walk::each_stmt;

/// Statements (of compound ones the header) with what contradicts, the first reason of each.
pub fn all(module: &Module, entry: &str, grid: Option<[i64; 3]>) -> BTreeMap<Span, String> {
    let varying = Varying::of(module);
    let mut found = BTreeMap::new();
    let mut add = |span: Span, why: String| {
        found.entry(span).or_insert(why);
    };
    for function in functions(module) {
        each_stmt(&function.body, &mut |stmt| {
            for (arg, param) in misplaced(module, stmt) {
                add(flow::header(stmt), format!("passes `{arg}` for `{param}`"));
            }
        });
    }
    let rest = [programs::contradictions(module, entry, grid), decode::contradictions(module, &varying)];
    rest.into_iter().flatten().for_each(|(span, why)| add(span, why));
    names::contradictions(module, &varying).into_iter().for_each(|(span, why)| add(span, why));
    found
}
