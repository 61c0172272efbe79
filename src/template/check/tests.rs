//! Every template has probes, and each of them binds.

use super::*;
use crate::target::Target;
use crate::template::{BindOptions, Layout, Library, bind};

#[test]
fn every_probe_of_every_template_binds() {
    let library = Library::embedded().unwrap();
    let mut count = 0;
    for template in library.templates() {
        for probe in probes(template).unwrap() {
            let layout = |v: ValueId| Layout::contiguous(probe.graph.shape(v));
            for target in ["sm_90", "ascend910b4"] {
                let target = Target::find(target).unwrap();
                let bound = bind(&probe.graph, &probe.cluster, &layout, &library, target, BindOptions::default());
                let bound = bound.unwrap_or_else(|e| panic!("{}: {e}", probe.name));
                assert_eq!(bound.kernel.template, template.name, "{}", probe.name);
            }
            count += 1;
        }
    }
    assert!(count > 60, "{count} probes");
}
