//! The anchor probe: a template's problems bound, emitted, read back, emulated and compared.
//!
//! `template::check` makes the problems; each goes the way of a model of one cluster, so a wrong
//! coordinate, mask or stride at any anchor shows as a value that is not the reference's. Where the
//! reference is exact in fp32 on integers (all operators but those with functions that round) the
//! comparison is bit for bit. Real numbers are not tried: beside coordinates of many thousands they
//! say nothing.
//!
//! Does not catch: an anchor that is right on the manifest's shapes and wrong on others.

use std::sync::Arc;

use crate::conform::execute::Executor;
use crate::conform::kernel::structure;
use crate::conform::subject::Subject;
use crate::conform::verdict::Verdict;
use crate::diag::Result;
use crate::emit::{self, EmitOptions};
use crate::emulate;
use crate::select;
use crate::target::Target;
use crate::template::check::{Probe, probes};
use crate::template::{BindOptions, Library, Template};

/// Each problem's name with its verdict. `library` must hold the template.
///
/// # Errors
/// T001 when the manifest's `probe:` is incomplete.
pub fn probe(template: &Arc<Template>, library: &Library, target: &Target) -> Result<Vec<(String, Verdict)>> {
    let mut verdicts = Vec::new();
    for probe in probes(template)? {
        let verdict = judge(&probe, library, target).unwrap_or_else(|diagnostic| Verdict::fault(*diagnostic));
        verdicts.push((probe.name, verdict));
    }
    Ok(verdicts)
}

fn judge(probe: &Probe, library: &Library, target: &Target) -> Result<Verdict> {
    let clusters = vec![probe.cluster.clone()];
    let graph = Arc::new(probe.graph.clone());
    let mut planned = select::plan("probe", graph.clone(), &graph, clusters, library, target, BindOptions::default())?;
    if let Some((_, diagnostic)) = planned.missing.pop() {
        return Err(diagnostic);
    }
    let files =
        emit::suite(&planned.plan, &EmitOptions { seed: 0, always_seeded: false, settings: Vec::new(), missing: Vec::new() })?;
    let subject = Subject::read(&probe.name, &files)?;
    let executor = Executor::new(&subject.modules, emulate::Options::default());
    let mut verdicts: Vec<Verdict> = subject.launches.iter().map(|launch| structure(&subject, &executor, launch)).collect();
    Ok(verdicts.pop().unwrap_or_else(Verdict::not_verified))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conform::verdict::Word;
    use crate::diag::render::render;

    #[test]
    fn every_anchor_of_every_template_holds() {
        let library = Library::embedded().unwrap();
        let mut wrong = Vec::new();
        for target in ["sm_90", "ascend910b4"] {
            let target = Target::find(target).unwrap();
            for template in library.templates() {
                for probe in probes(template).unwrap() {
                    let verdict = judge(&probe, &library, target).unwrap_or_else(|d| Verdict::fault(*d));
                    let bitwise = verdict.error.as_ref().is_some_and(|e| e.tolerance == 0.0);
                    if verdict.word != Word::Verified || (probe.exact && !bitwise) {
                        let why: Vec<String> = verdict.diagnostics.iter().map(|d| render(d, false)).collect();
                        let word = verdict.word.as_str();
                        wrong.push(format!("{}, {}: {word}, {:?}\n{}", target.name, probe.name, verdict.error, why.join("\n")));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{} probes\n{}", wrong.len(), wrong.join("\n\n"));
    }

    /// The verdicts that are not "verified" of a template whose kernel was changed.
    fn changed(name: &str, from: &str, to: &str) -> Vec<String> {
        let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("operator_templates").join(name);
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join(name);
        std::fs::create_dir(&copy).unwrap();
        for file in ["kernel.py", "template.yaml", "schedule.yaml"] {
            let text = std::fs::read_to_string(source.join(file)).unwrap();
            assert!(file != "kernel.py" || text.contains(from), "{from}");
            std::fs::write(copy.join(file), text.replace(from, to)).unwrap();
        }
        let library = Library::embedded().unwrap().with_folder(folder.path()).unwrap();
        let template = library.find(name).unwrap().clone();
        let verdicts = probe(&template, &library, Target::find("sm_90").unwrap()).unwrap();
        let bad = verdicts.into_iter().filter(|(_, verdict)| verdict.word != Word::Verified);
        bad.map(|(name, verdict)| format!("{name}: {}", verdict.diagnostics[0].code.id)).collect()
    }

    #[test]
    fn a_wrong_anchor_is_found() {
        // A coordinate of another axis, at the output and at an input.
        let found = changed("conv2d_resnet", "p=p[:, None] if", "p=q[:, None] if");
        assert!(found.iter().any(|f| f.contains("epilogue: C003")), "{found:?}");
        let found = changed("conv2d_resnet", "c=cx[None, :] if", "c=c[None, :] if");
        assert!(found.iter().any(|f| f.contains("prologue of X: C003")), "{found:?}");
        // A mask that is missing: the inserted load leaves its operand.
        let found = changed("matmul", "n=n[None, :] if n[None, :] < N", "n=n[None, :]");
        assert!(found.iter().any(|f| f.contains("A001")), "{found:?}");
    }
}
