//! Results of a node under the names that the program has for them.

use std::collections::HashSet;

use crate::import::build::{Failure, Site};
use crate::import::torch_export::call::{Call, Out, Outs};
use crate::import::torch_export::scope::Scope;
use crate::import::torch_export::types::Types;
use crate::shape::display;

/// Gives the results their names, and writes where the operator does.
pub fn bind(outs: Outs, call: &mut Call, scope: &mut Scope, names: &[&str], used: &HashSet<&str>) -> Result<(), Failure> {
    let Outs { outs, writes } = outs;
    let in_place = call.schema.parameters.first().filter(|p| p.written && p.name == "self");
    if outs.len() < names.len() {
        return Err(Failure::unsupported(format!("{} results, {} are offered", names.len(), outs.len())));
    }
    if in_place.is_some()
        && let (Some(Out::Value(new)), Ok(target)) = (outs.first(), call.tensor_arg("self"))
    {
        let (old, made) = (call.ty(&target.operand), call.ty(new));
        if old != made {
            return Err(Failure::shapes(format!(
                "the result, {} {}, does not fit `self`, {} {}",
                made.dtype,
                display(&made.shape),
                old.dtype,
                display(&old.shape)
            )));
        }
        let new = match names.first() {
            Some(name) => call.site.named(new.clone(), name),
            None => new.clone(),
        };
        scope.writable(&target.name)?;
        scope.write(&target.name, &mut call.site, new.clone())?;
        if let Some(name) = names.first() {
            scope.view(name, &target.name, Vec::new(), new);
        }
        return Ok(());
    }
    // All of it or nothing: a write that fails must not leave one behind that is taken back.
    writes.iter().try_for_each(|(name, _)| scope.writable(name))?;
    for (out, &name) in outs.into_iter().zip(names) {
        match out {
            Out::Value(operand) => {
                let operand = call.site.named(operand, name);
                scope.define(name, operand);
            }
            Out::View { operand, of, steps } => {
                let operand = call.site.named(operand, name);
                scope.view(name, &of, steps, operand);
            }
            Out::Number(value) => scope.define_number(name, value),
            Out::Absent(what) if used.contains(name) => return Err(Failure::unsupported(what)),
            Out::Absent(_) => {}
        }
    }
    for (name, operand) in writes {
        scope.write(&name, &mut call.site, operand)?;
    }
    Ok(())
}

/// Every result must have the type that the program declares.
pub fn check(site: &mut Site, scope: &mut Scope, types: &Types, names: &[&str]) -> Result<(), Failure> {
    for name in names {
        let Ok(operand) = scope.read(name, site) else { continue };
        types.compare(name, &site.ty(&operand))?;
    }
    Ok(())
}
