//! What templates give, on every target: static rules find nothing that a device or its compiler does not take.

use std::sync::Arc;

use super::*;
use crate::diag::Severity;
use crate::diag::render::render;
use crate::template::check::{self, Probe};
use crate::{emit, lint, select};

/// The kernel files of a probe, as a suite has them.
fn emitted(probe: &Probe, library: &Library, target: &Target) -> Vec<String> {
    let clusters = vec![probe.cluster.clone()];
    let imported = Arc::new(probe.graph.clone());
    let planned = select::plan("probe", imported, &probe.graph, clusters, library, target, BindOptions::default());
    let planned = planned.unwrap_or_else(|e| panic!("{} on {}: {e:?}", probe.name, target.name));
    assert!(planned.missing.is_empty(), "{} on {}: {:?}", probe.name, target.name, planned.missing);
    planned.plan.kernels.iter().map(|kernel| emit::launch_module(kernel)).collect()
}

#[test]
fn every_template_is_taken_by_every_target() {
    let library = Library::embedded().unwrap();
    let mut linted = 0;
    for template in library.templates() {
        let own = Library::only(template);
        for probe in check::probes(template).unwrap().iter().filter(|probe| probe.moved.is_none()) {
            for target in Target::all() {
                for text in emitted(probe, &own, target) {
                    let module = parse_module(&SourceFile::new(format!("{}.py", template.name), text)).unwrap();
                    let request = lint::Request { target: Some(target), ..lint::Request::default() };
                    let found = lint::lint(&module, &request).into_iter().map(|finding| finding.diagnostic);
                    let told: Vec<String> = found
                        .filter(|diagnostic| diagnostic.severity != Severity::Advice)
                        .map(|diagnostic| render(&diagnostic, false))
                        .collect();
                    assert!(told.is_empty(), "{} on {}:\n{}", probe.name, target.name, told.join("\n"));
                    linted += 1;
                }
            }
        }
    }
    assert!(linted > 500, "{linted} kernels");
}
