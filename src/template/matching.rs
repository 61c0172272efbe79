//! Which template computes an operator: by `implements`, label, body, ranks and `when`.

use std::sync::Arc;

use super::bound::Layout;
use super::environment::Env;
use super::library::{Library, Template};
use super::manifest::Implements;
use super::problem::Problem;
use super::step::scalar;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::graph::op::Op;
use crate::graph::{Cluster, Graph, NodeId, ValueId};
use crate::target::Target;

/// The first template that fits: those of one label before general ones, else in library order.
pub fn choose(
    graph: &Graph,
    cluster: &Cluster,
    layout_of: &dyn Fn(ValueId) -> Layout,
    library: &Library,
    target: &Target,
) -> Result<Problem> {
    let op = &graph.node(cluster.anchor).op;
    if let Some(implements) = Implements::of(op) {
        for labelled in [true, false] {
            for template in library.templates().iter().filter(|t| t.manifest.label.is_some() == labelled) {
                if template.manifest.implements != implements || !serves(template, graph, cluster)? {
                    continue;
                }
                let Some(problem) = Problem::new(template, graph, cluster, layout_of)? else { continue };
                let fits = match &template.manifest.when {
                    Some(when) => when.truth(&Env::of(&problem, graph, cluster, target))?,
                    None => true,
                };
                if fits {
                    return Ok(problem);
                }
            }
        }
    }
    let node = graph.node(cluster.anchor);
    let shapes: Vec<String> =
        node.inputs.iter().flatten().map(|&v| format!("{} {}", graph.dtype(v), crate::shape::display(graph.shape(v)))).collect();
    let name = node.sources.first().map_or_else(|| format!("#{}", cluster.anchor.index()), |s| s.node.clone());
    Err(Box::new(
        Diagnostic::new(&codes::TEMPLATE_NONE, format!("no template serves `{}` of {}", op.name(), shapes.join(", ")))
            .at_node(graph.file.clone(), name)
            .help("add one with --templates DIR; operator_templates/README.md says how"),
    ))
}

/// The template that [`bind`](super::bind()) takes for an operator alone, on dense operands: what
/// fusion asks before there are layouts.
pub fn serving(graph: &Graph, anchor: NodeId, library: &Library, target: &Target) -> Result<Arc<Template>> {
    let dense = |value: ValueId| Layout::contiguous(graph.shape(value));
    Ok(choose(graph, &Cluster::of(anchor), &dense, library, target)?.template)
}

/// Whether a template's label and body are the operator's.
fn serves(template: &Template, graph: &Graph, cluster: &Cluster) -> Result<bool> {
    let manifest = &template.manifest;
    let Some(label) = &manifest.label else { return Ok(true) };
    let node = graph.node(cluster.anchor);
    let Op::Map(map) = &node.op else { return Ok(false) };
    if map.label != *label || map.reads.len() != manifest.inputs().len() {
        return Ok(false);
    }
    let dtypes: Option<Vec<DType>> =
        map.reads.iter().map(|r| node.inputs.get(r.input).copied().flatten().map(|v| graph.dtype(v))).collect();
    let Some(dtypes) = dtypes else { return Ok(false) };
    let names: Vec<(&str, DType)> = manifest.inputs().iter().map(|o| o.name.as_str()).zip(dtypes).collect();
    let wanted = map.body.to_string();
    Ok(manifest.body.is_empty()
        || manifest.body.iter().any(|body| scalar(body, &names).is_ok_and(|expr| expr.to_string() == wanted)))
}
