//! Parameter and argument lists after binding: what is added, what goes, and each entry's final order.

use super::anchors::{Anchor, Site};
use super::bind::Work;
use super::bound::{ArgumentValue, HostInt};
use super::edit::without;
use super::format::name_lines;
use super::problem::Operand;
use super::rewrite::Rewriter;

/// A parameter of a written function.
#[derive(Clone, Debug)]
pub struct FinalParam {
    pub name: String,
    pub constexpr: bool,
}

/// Lists after rewriting.
pub struct Lists {
    /// Parameters of each function.
    pub params: Vec<(String, Vec<FinalParam>)>,
    /// Values of the parameters that binding added; pointers are not among them.
    pub added: Vec<(String, ArgumentValue)>,
}

impl Rewriter<'_> {
    /// Parameter and argument lists: what is added stands at the anchors, what is unused goes.
    pub(super) fn lists(&mut self, anchors: &[&Anchor], work: &Work) -> Lists {
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        let axes = self.writer.problem.axes.iter().map(|a| a.name.clone());
        let own = self.writer.problem.operands.iter().map(Operand::stem);
        groups.extend(axes.chain(own).map(|name| (name, Vec::new())));
        for extra in work.extras() {
            groups.push((extra.stem.clone(), vec![format!("{}_ptr", extra.stem)]));
        }
        for added in &self.writer.added {
            // An axis and an operand may share a name (matmul's b and B): sizes stand with the axis, the first.
            let sizes = self.writer.part_sizes.values().any(|n| *n == added.name);
            let group = match sizes {
                true => groups.iter_mut().find(|g| g.0 == added.group),
                false => groups.iter_mut().rfind(|g| g.0 == added.group),
            };
            if let Some(group) = group {
                group.1.push(added.name.clone());
            }
        }
        let sizes = self.writer.problem.axes.len();
        groups[..sizes].iter_mut().for_each(|g| g.1.sort());
        let lines: Vec<Vec<String>> = groups.into_iter().map(|g| g.1).collect();
        let dropped: Vec<String> = self
            .functions
            .iter()
            .flat_map(|f| f.params.iter().map(|p| p.name.clone()))
            .filter(|name| self.rewritten.iter().any(|stem| name.starts_with(&format!("{stem}_stride_"))))
            .filter(|name| !self.writer.used_strides.contains(name))
            .collect();
        for anchor in anchors.iter().filter(|a| matches!(a.site, Site::Params | Site::Args)) {
            let line = self.slice(anchor.lines);
            let indent = line.len() - line.trim_start().len();
            self.edits.replace(anchor.lines, name_lines(indent, &lines));
            for name in &dropped {
                if let Some(span) = without(self.kernel.file.text(), anchor.owner, name) {
                    self.edits.replace(span, "");
                }
            }
        }
        let params = self
            .functions
            .iter()
            .map(|f| {
                let at = anchors
                    .iter()
                    .find(|a| matches!(a.site, Site::Params) && f.span.start <= a.lines.start && a.lines.end <= f.span.end)
                    .map(|a| a.lines.end);
                let mut list: Vec<FinalParam> = Vec::new();
                let mut inserted = false;
                let insert = |list: &mut Vec<FinalParam>| {
                    list.extend(lines.iter().flatten().map(|name| FinalParam { name: name.clone(), constexpr: false }));
                };
                for param in &f.params {
                    if !inserted && at.is_some_and(|at| param.span.start >= at) {
                        insert(&mut list);
                        inserted = true;
                    }
                    if !dropped.contains(&param.name) {
                        list.push(FinalParam { name: param.name.clone(), constexpr: param.constexpr });
                    }
                }
                if !inserted && at.is_some() {
                    insert(&mut list);
                }
                (f.name.clone(), list)
            })
            .collect();
        let int = |value: &HostInt| ArgumentValue::Int(value.clone());
        let added = self.writer.added.iter().map(|a| (a.name.clone(), int(&a.value))).collect();
        Lists { params, added }
    }
}
