//! Masks that are computed and not used (A025): a block of comparisons bound to a name that nothing reads, in a kernel
//! that has a load or store of the same shape without a mask.
//!
//! Read from the kernel alone. Misses: masks that are used somewhere else; masks without a name.

use std::collections::HashSet;

use crate::diag::{Diagnostic, Place, codes};
use crate::kernel::ir::{Elem, Inst, InstKind, Kernel, Value};
use crate::kernel::walk;
use crate::source::Span;

pub fn unused(kernel: &Kernel) -> Vec<Diagnostic> {
    let mut used = HashSet::new();
    let mut masks: Vec<(Value, Span)> = Vec::new();
    let mut bare: Vec<(Value, Span)> = Vec::new();
    for block in &kernel.blocks {
        walk::terminator_operands(&block.terminator, |v| {
            used.insert(v);
        });
        walk::each_inst(&block.insts, &mut |inst: &Inst| {
            used.extend(walk::operands(&inst.kind));
            walk::regions(&inst.kind).iter().for_each(|region| used.extend(&region.yields));
            if let &[result] = inst.results.as_slice() {
                let ty = kernel.ty(result);
                let compares = matches!(inst.kind, InstKind::CompareInt(..) | InstKind::Int(..));
                if ty.elem == Elem::I1 && !ty.is_scalar() && compares && kernel.value_name(result).is_some() {
                    masks.push((result, inst.span));
                }
            }
            match &inst.kind {
                InstKind::Load { ptr, mask: None, other: _ } | InstKind::Store { ptr, value: _, mask: None } => {
                    bare.push((*ptr, inst.span));
                }
                _ => {}
            }
        });
    }
    let mut told = HashSet::new();
    let mut found = Vec::new();
    for (mask, span) in masks.into_iter().filter(|(mask, _)| !used.contains(mask)) {
        let shape = &kernel.ty(mask).shape;
        let Some((_, access)) = bare.iter().find(|(ptr, _)| kernel.ty(*ptr).shape == *shape) else { continue };
        if !told.insert(span.start) {
            continue;
        }
        let name = kernel.value_name(mask).unwrap_or("a mask");
        found.push(
            Diagnostic::new(&codes::UNUSED_MASK, format!("`{name}` is computed, and nothing uses it"))
                .at(&kernel.source, span)
                .related(
                    Place::Text { file: kernel.source.clone(), span: *access },
                    "an access of the same shape, without a mask",
                )
                .help("pass it (`mask=`), or take it out"),
        );
    }
    found
}
