//! Names that contradict each other: a coordinate with another axis's stride, size or attribute, an
//! argument in another parameter's place.
//!
//! Kernels are written with one letter an axis: `h` runs below `H`, is multiplied by `x_stride_h` and made from
//! `STRIDE_H` and `PAD_H`. A line that mixes two letters which both have their own is wrong, or named
//! badly. A name is only held to an axis when its own stride, size or attribute is there too, so that other
//! habits of naming are passed over.

use std::collections::BTreeSet;

use super::decode::{base, owner};
use super::flow::called;
use super::varying::{Varying, functions};
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, FunctionDef, Module, StmtKind};
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

/// Statements whose names contradict each other, with how.
pub fn contradictions(module: &Module, varying: &Varying) -> Vec<(Span, String)> {
    let mut found = Vec::new();
    for function in functions(module) {
        let scope = Scope::of(function, varying);
        each_stmt(&function.body, &mut |stmt| {
            let span = super::flow::header(stmt);
            if let StmtKind::Assign { targets, value } = &stmt.kind
                && let Some(target) = targets.first().and_then(Expr::as_name)
            {
                found.extend(scope.foreign_attribute(target, value).map(|why| (span, why)));
            }
            for expr in own_exprs(stmt) {
                each_expr(expr, &mut |e| {
                    found.extend(scope.foreign_stride(e).or_else(|| scope.foreign_size(e)).map(|why| (span, why)));
                });
            }
        });
    }
    found
}

/// The names of one function.
struct Scope<'m> {
    /// Coordinates: local names that vary.
    coordinates: BTreeSet<&'m str>,
    /// All names that it reads.
    names: BTreeSet<&'m str>,
    params: BTreeSet<&'m str>,
}

impl<'m> Scope<'m> {
    fn of(function: &'m FunctionDef, varying: &Varying) -> Scope<'m> {
        let params = function.params.iter().map(|p| p.name.as_str()).collect();
        let mut names = BTreeSet::new();
        each_stmt(&function.body, &mut |stmt| {
            for expr in own_exprs(stmt) {
                each_expr(expr, &mut |e| names.extend(e.as_name()));
            }
        });
        let coordinates = names.iter().copied().filter(|name| varying.name(&function.name, name)).collect();
        Scope { coordinates, names, params }
    }

    fn is_coordinate(&self, name: &str) -> bool {
        self.coordinates.contains(name)
    }

    /// `w * x_stride_h`, where there is `x_stride_w`.
    fn foreign_stride(&self, expr: &Expr) -> Option<String> {
        let ExprKind::Binary(BinaryOp::Mul, index, stride) = &expr.kind else { return None };
        let stride = stride.as_name()?;
        let (operand, axis) = stride.split_once("_stride_")?;
        let name = base(index)?;
        let own = format!("{operand}_stride_{name}");
        let foreign = name != axis && self.is_coordinate(axis) && self.is_coordinate(name) && self.params.contains(own.as_str());
        foreign.then(|| format!("multiplies `{name}` by `{stride}`"))
    }

    /// `w < H`.
    fn foreign_size(&self, expr: &Expr) -> Option<String> {
        let ExprKind::Compare { left, rest } = &expr.kind else { return None };
        let [(_, right)] = rest.as_slice() else { return None };
        let (name, size) = (base(left)?, right.as_name()?);
        let axis = size.to_ascii_lowercase();
        let own = name.to_ascii_uppercase();
        let foreign = axis != size && axis != name && self.is_coordinate(&axis) && self.is_coordinate(name);
        (foreign && self.names.contains(own.as_str())).then(|| format!("compares `{name}` with `{size}`"))
    }

    /// `h = p * STRIDE_W`.
    fn foreign_attribute(&self, target: &str, value: &Expr) -> Option<String> {
        if matches!(&value.kind, ExprKind::Call { func, .. } if called(func) == "load") {
            return None;
        }
        let mut found = None;
        // An index that is taken apart is made of all the sizes below it.
        let mut apart: Vec<Span> = Vec::new();
        each_expr(value, &mut |e| {
            if matches!(e.kind, ExprKind::Binary(BinaryOp::FloorDiv | BinaryOp::Mod, ..)) {
                apart.push(e.span);
            }
            let inside = apart.iter().any(|a| a.start <= e.span.start && e.span.end <= a.end);
            let Some(name) = e.as_name().filter(|name| !inside && self.params.contains(name)) else { return };
            let Some((stem, _)) = name.rsplit_once('_') else { return };
            let axis = owner(name);
            let own = format!("{stem}_{}", target.to_ascii_uppercase());
            let upper = name.chars().all(|c| !c.is_ascii_lowercase());
            if upper && axis != target && self.is_coordinate(&axis) && self.params.contains(own.as_str()) {
                found.get_or_insert_with(|| format!("makes `{target}` from `{name}`"));
            }
        });
        found
    }
}
